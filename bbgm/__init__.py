"""BB-GM: deep graph matching with a blackbox-differentiated solver (Rolinek et al., ECCV 2020)."""

import os

__version__ = "0.1.0"

# Large memory pages for torch's large tensors: the backward pass of the spline convolutions (100 MB of gradients each)
# then takes half the time or less. Torch reads this variable when it is imported.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
