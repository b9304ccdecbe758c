"""Several images at a time."""

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits
from tqdm import tqdm

T = TypeVar("T")


def in_parallel(jobs: Iterable[Callable[[], T]], title: str) -> list[T]:
    """The results of jobs, in their order; NumPy and Pillow let several threads work at once.

    On a terminal, a bar on stderr shows the progress. Each job has one thread for its matrix products: with as many
    as there are cores the threads of all jobs would wait for each other, which takes half as long again.
    """
    quiet = sys.stderr is None or not sys.stderr.isatty()
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            bar = tqdm(futures, desc=title, disable=quiet, leave=False, dynamic_ncols=True)
            return [future.result() for future in bar]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
