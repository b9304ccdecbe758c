"""The spline convolution (SplineCNN): ours, and torch_geometric's with the same parameters."""
