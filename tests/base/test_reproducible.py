"""Deterministic kernels, and random numbers, without what takes torch long."""

import subprocess
import sys

import torch

from bbgm.base.reproducible import reproducible, seed_generators


def test_settings_are_put_back() -> None:
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    with reproducible(threads=1):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.get_num_threads() == 1
        # Torch would fill it with NaN otherwise, at each call.
        assert not torch.utils.deterministic.fill_uninitialized_memory
    assert (torch.get_num_threads(), torch.get_deterministic_debug_mode()) == before
    assert torch.utils.deterministic.fill_uninitialized_memory


def test_the_same_numbers_as_with_the_seed_of_torch() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        expected = torch.rand(3)
        seed_generators(7)
        assert torch.equal(torch.rand(3), expected)


def test_torch_compiler_is_not_loaded() -> None:
    """It takes a second, in each notebook that evaluates a network."""
    code = (
        "import sys\nfrom bbgm.base.reproducible import reproducible\n"
        "with reproducible(1): pass\nprint('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
