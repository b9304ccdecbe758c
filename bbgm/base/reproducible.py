"""The same numbers on every run on one kind of processor, whatever the user's settings of torch are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def reproducible(threads: int) -> Iterator[None]:
    """A fixed number of threads and deterministic kernels, since float sums depend on both; undone at the end.

    Which of the deterministic kernels is taken still depends on the processor, as ``config/README.md`` says.
    """
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # torch requires it on a GPU
    with torch.random.fork_rng(devices=[]):
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
        try:
            yield
        finally:
            torch.set_num_threads(before[0])
            torch.use_deterministic_algorithms(before[1])
