"""``bbgm bench step``: where the time of a training step goes, and how far it is from that of its matrix products.

The steps are those of a run (`bbgm.runs.fit.train_step`), on its data, from its first parameters. Some are timed as
they are; some more are watched by torch's profiler, which tells how their time is divided. The floor is the time that
the floating point operations of the step's products and convolutions take in a large product of plain matrices, on the
same machine and the same number of threads, timed between the steps so that both see the same load.
"""

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.flop_counter import FlopCounterMode

from bbgm.base import machine
from bbgm.base.memory import keep_freed_memory
from bbgm.base.reproducible import reproducible
from bbgm.config import RunConfig
from bbgm.data import open_dataset
from bbgm.methods.base import make_matcher
from bbgm.runs.checks.divergence import Watched
from bbgm.runs.fit import make_optimiser, train_step

WARM_UP, WATCHED = 3, 5
"""Steps before those that are timed, which also read the features of images; steps in the profiler."""
PRODUCT = 2048
"""Side of the matrices whose product is the floor's measure."""
STEP = "training step"
PARTS = {
    "_SplineAggregationBackward": "spline convolution, backward",
    "_SplineAggregation": "spline convolution, forward",
    "_LayerBackward": "solver, backward",
    "_Layer": "solver, forward",
    "Optimizer.step#": "optimiser",
    "aten::_foreach_norm": "check of the gradients",
    "aten::convolution_backward": "convolutions, backward",
    "aten::convolution": "convolutions, forward",
    "aten::group_norm": "normalisation of maps",
    "aten::native_group_norm_backward": "normalisation of maps",
    "aten::batch_norm": "normalisation of maps",
    "aten::native_batch_norm_backward": "normalisation of maps",
    "aten::mm": "other products of matrices",
    "aten::addmm": "other products of matrices",
    "aten::bmm": "other products of matrices",
}
"""Parts of a step by what the profiler calls their outermost operation (how its name begins)."""
OTHER, PYTHON = "other operations of tensors", "Python: pairs, graphs, plans, calls"
SYNCHRONISING = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")


@dataclass(frozen=True)
class StepReport:
    """What was measured.

    Attributes:
        device: of torch, with the number of threads.
        pairs: of a batch.
        ms, cpu_ms: median of the steps, wall clock and processor time.
        gflop: floating point operations of the products and convolutions of a step, 10^9.
        floor_ms: what they take as a plain product of matrices: of processor time on a CPU, which other work on the
            machine hardly changes; of wall clock on a GPU.
        parts: share of the time of a step by part, largest first; sum 1.
        synchronisations: of a step, how often the CPU waits for the GPU; None on the CPU.
        operations: the profiler's table.
    """

    device: str
    pairs: int
    ms: float
    cpu_ms: float
    gflop: float
    floor_ms: float
    parts: dict[str, float]
    synchronisations: float | None
    operations: str

    @property
    def ratio(self) -> float:
        """Time of a step over the floor, measured in the same way."""
        return (self.cpu_ms if self.synchronisations is None else self.ms) / self.floor_ms

    def lines(self) -> list[str]:
        """The report as text."""
        found = [
            f"{self.device}, batches of {self.pairs} pairs",
            f"step      {self.ms:9.1f} ms  ({self.cpu_ms:.1f} ms of processor time)",
            f"floor     {self.floor_ms:9.1f} ms  ({self.gflop:.2f} GFLOP as plain products of matrices)",
            f"ratio     {self.ratio:9.2f}",
        ]
        if self.synchronisations is not None:
            found.append(f"waits     {self.synchronisations:9.1f} per step, of the CPU for the GPU")
        return found + [f"{100 * share:8.1f} %  {part}" for part, share in self.parts.items()]


def bench_step(config: RunConfig, steps: int = 30) -> StepReport:
    """Time training steps of a run; nothing is written but cached features.

    Args:
        config: of the run.
        steps: how many are timed.

    Raises:
        ValueError: no step is to be timed, the run trains nothing, or there is no such device (``BBGM_DEVICE``).
    """
    if steps < 1:
        raise ValueError(f"{steps} steps are to be timed: time one at least")
    if config.optimiser.epochs == 0 or config.optimiser.iterations_per_epoch == 0:
        raise ValueError(f"{config.title} trains nothing at the budget {config.budget}: choose another method")
    device = machine.device()
    keep_freed_memory()
    with reproducible(config.threads):
        dataset = open_dataset(config.data, config.protocol)
        matcher = make_matcher(config).to(device)
        matcher.prepare(dataset)
        optimiser, watched = make_optimiser(matcher, config), Watched(matcher)
        matcher.train()
        counter = iter(range(WARM_UP + steps + WATCHED + 1))

        def step() -> None:
            train_step(watched, optimiser, dataset, config, 0, next(counter))

        for _ in range(WARM_UP):
            step()
        with FlopCounterMode(display=False) as flops:
            step()
        gflop = flops.get_total_flops() / 1e9
        multiply = _plain_product(device)
        times = [(*_timed(step, device), *_timed(multiply, device)) for _ in range(steps)]
        seen = _watch(step, device)
    events = seen.events()  # type: ignore[no-untyped-call]
    on_gpu = device.startswith("cuda")
    wall, cpu, product_wall, product_cpu = (statistics.median(column) for column in zip(*times, strict=True))
    rate = 2 * PRODUCT**3 / 1e9 / (product_wall if on_gpu else product_cpu)
    return StepReport(
        device=f"{device}, {config.threads} thread{'s' * (config.threads > 1)}",
        pairs=config.optimiser.batch_size,
        ms=1e3 * wall,
        cpu_ms=1e3 * cpu,
        gflop=gflop,
        floor_ms=1e3 * gflop / rate,
        parts=_parts(events),
        synchronisations=_synchronisations(events) if on_gpu else None,
        operations=seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=30),
    )


def _plain_product(device: str) -> Callable[[], Any]:
    one, other = (torch.ones(PRODUCT, PRODUCT, device=device) for _ in range(2))
    result = torch.empty_like(one)
    return lambda: torch.mm(one, other, out=result)


def _timed(run: Callable[[], Any], device: str) -> tuple[float, float]:
    """Wall clock and processor time, s, until the device has finished."""
    start, cpu = time.perf_counter(), time.process_time()
    run()
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return time.perf_counter() - start, time.process_time() - cpu


def _watch(step: Callable[[], None], device: str) -> profile:
    """Some steps in the profiler."""
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * device.startswith("cuda")
    with profile(activities=activities, acc_events=True) as seen:
        for _ in range(WATCHED):
            with record_function(STEP):
                step()
    return seen


def _parts(events: Iterable[Any]) -> dict[str, float]:
    """The share of each part, from the profiler's events on the CPU: an event's own time belongs to the outermost event
    around it, or itself, that is in `PARTS`.
    """
    times: dict[str, float] = {}
    for event in events:
        chain = [event]
        while (above := chain[-1].cpu_parent) is not None:
            chain.append(above)
        if chain[-1].name != STEP:
            continue
        named = (part for one in reversed(chain) for name, part in PARTS.items() if one.name.startswith(name))
        part = next(named, PYTHON if event.name == STEP else OTHER)
        times[part] = times.get(part, 0.0) + event.self_cpu_time_total
    whole = sum(times.values())
    return {part: times[part] / whole for part in sorted(times, key=lambda part: -times[part])}


def _synchronisations(events: Iterable[Any]) -> float:
    """How often a step waits for the GPU; also a copy to memory that is not pinned does."""
    return sum(event.name in SYNCHRONISING for event in events) / WATCHED
