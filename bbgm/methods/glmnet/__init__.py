"""GLMNet (Jiang, Sun, Tang, Luo; arXiv 1911.07681): learned graphs, smoothing and sharpening convolutions."""
