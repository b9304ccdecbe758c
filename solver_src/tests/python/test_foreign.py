"""Arrays of other libraries, and problems that the memory does not hold."""

import re
import subprocess
import sys
from typing import Any

import bbgm_solver as gm
import numpy as np
import pytest

NO_COSTS = np.zeros((0, 0))


def tensor(**options: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.zeros(2, 2, **{k: getattr(torch, v) if k == "dtype" else v for k, v in options.items()})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"requires_grad": True},
            r"needs a gradient, which numpy cannot read: give unary\.detach\(\) \(the solver passes",
        ),
        ({"dtype": "bfloat16"}, r"has the type torch\.bfloat16, which numpy cannot read: give unary\.float\(\)$"),
        ({"device": "meta"}, r"is on the device meta, which numpy cannot read: give unary\.cpu\(\)$"),
        (
            {"device": "meta", "dtype": "bfloat16", "requires_grad": True},
            r"needs a gradient and is on the device meta and .*give unary\.detach\(\)\.cpu\(\)\.float\(\) ",
        ),
    ],
)
def test_tensors_that_numpy_cannot_read(options: dict[str, Any], message: str) -> None:
    unary = tensor(**options)
    with pytest.raises(TypeError, match=f"^unary is a tensor that {message}"):
        gm.Problem(unary, [], [], NO_COSTS)
    with pytest.raises(TypeError, match=r"^quadratic is a tensor that "):
        gm.Problem(np.zeros((2, 2)), [[0, 1], [1, 0]], [[0, 1], [1, 0]], unary)


@pytest.mark.parametrize("options", [{"requires_grad": True}, {"dtype": "bfloat16"}])
def test_the_remedy_works(options: dict[str, Any]) -> None:
    unary = tensor(**options)
    with pytest.raises(TypeError) as error:
        gm.Problem(unary, [], [], NO_COSTS)
    call = str(error.value).split("give ")[1].split(" ")[0]
    assert gm.Problem(eval(call, {"unary": unary}), [], [], NO_COSTS).n_assignments == 4


def test_a_tensor_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    with pytest.raises(TypeError, match=r"is on the device cuda:0, which numpy cannot read: give unary\.cpu\(\)$"):
        gm.Problem(torch.zeros(2, 2, device="cuda"), [], [], NO_COSTS)


def test_other_tensors_and_lists() -> None:
    assert gm.Problem(tensor(), [], [], NO_COSTS).n_assignments == 4
    with pytest.raises(TypeError, match=r"unary is not an array \(.*inhomogeneous"):
        gm.Problem([[1, 2], [3]], [], [], NO_COSTS)


LIMITED = """
import resource
import numpy as np, bbgm_solver as gm
def limit(more):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))
n = {n}
ring = np.array([(i, (i + step) % n) for i in range(n) for step in range(1, {degree} + 1)])
rng = np.random.default_rng(0)
costs = rng.normal(size=(len(ring), len(ring)))
unary = rng.normal(size=(n, n))
"""
SOLVE = """
problem = gm.Problem(unary, ring, ring, costs)
limit(150_000_000)
try:
    {call}
except MemoryError as error:
    print(error)
"""
MAKE = """
limit(100_000_000)
try:
    gm.Problem(unary, ring, ring, costs)
except MemoryError as error:
    print(error)
"""


def said(code: str) -> str:
    if not sys.platform.startswith("linux"):
        pytest.skip("limits on memory are those of Linux")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ended.stdout


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("gm.solve(problem)", r"method 'best' needs about 336 MB for its tables, 'dual' about 168 MB"),
        ("gm.solve_batch([problem] * 2, threads=2)", r"method 'best' needs about 336 MB"),
        ("gm.trace(problem, 'dual')", r"method 'dual' needs about 168 MB for its tables"),
    ],
)
def test_a_solve_that_needs_more_memory_than_there_is(call: str, what: str) -> None:
    message = said(LIMITED.format(n=100, degree=20) + SOLVE.format(call=call))
    assert message.startswith("a problem of 100 x 100 nodes with 10000 assignments and ")
    assert re.search(what + r".* are free: forbid unlikely matches", message), message


def test_a_problem_that_needs_more_memory_than_there_is() -> None:
    message = said(LIMITED.format(n=60, degree=25) + MAKE)
    assert message.startswith(
        "a problem of 60 x 60 nodes with 1500 x 1500 edges is too large for the memory: it needs about 216 MB, "
    )
