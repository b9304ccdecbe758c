"""The same numbers on every run on one kind of processor, whatever the user's settings of torch are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.utils.deterministic


@contextmanager
def reproducible(threads: int) -> Iterator[None]:
    """A fixed number of threads and deterministic kernels, since float sums depend on both; undone at the end.

    Which of the deterministic kernels is taken still depends on the processor, as ``config/README.md`` says.
    """
    memory: Any = torch.utils.deterministic  # a module whose setting has no annotation
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode(), memory.fill_uninitialized_memory
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # torch requires it on a GPU
    with torch.random.fork_rng(devices=[]):
        torch.set_num_threads(threads)
        # As torch.use_deterministic_algorithms, which would load torch's compiler first: a second.
        torch.set_deterministic_debug_mode("warn" if torch.cuda.is_available() else "error")
        # Torch would fill each new tensor with NaN, to show those that are read before they are written; none is.
        memory.fill_uninitialized_memory = False
        try:
            yield
        finally:
            torch.set_num_threads(before[0])
            torch.set_deterministic_debug_mode(before[1])
            memory.fill_uninitialized_memory = before[2]


def seed_generators(seed: int) -> None:
    """Seed torch's global generators, of the CPU and of the GPUs that are in use, as `torch.manual_seed` does.

    Where there is no GPU, that function notes for later which line has called it, which takes longer than all the rest.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
