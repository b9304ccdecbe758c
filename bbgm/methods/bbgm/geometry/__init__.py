"""Where keypoints are: refinement by the graph, features of positions and their pre-training, keypoints that move."""
