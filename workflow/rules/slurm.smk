"""Jobs on a cluster whose controller is slow to answer (profiles/slurm).

Before each look at its jobs, version 2.8.0 of Snakemake's executor asks for MinJobAge. If there is no answer within ten
seconds, it takes sacct in place of squeue; if that fails too, as without accounting, it forgets its jobs and waits
forever. Here both questions are repeated until they are answered.
"""

import asyncio
import functools
import sys
import time

PAUSE = 5  # s
ATTEMPTS = 60  # then squeue is not what this cluster answers, and sacct is used


def ask_until_answered(slurm):
    """Replace the questions of the executor, a module."""
    ask_age, ask_jobs = slurm.get_min_job_age, slurm.query_job_status

    @functools.cache
    def get_min_job_age():
        for _ in range(ATTEMPTS):
            if (age := ask_age()) is not None:
                return age
            time.sleep(PAUSE)
        return None

    async def query_job_status(command, logger):
        while (answer := await ask_jobs(command, logger)) == (None, None):
            logger.warning(f"no answer to {command.split()[0]!r}: asking again in {PAUSE} s")
            await asyncio.sleep(PAUSE)
        return answer

    slurm.get_min_job_age, slurm.query_job_status = get_min_job_age, query_job_status


if workflow.is_main_process and "snakemake_executor_plugin_slurm" in sys.modules:
    ask_until_answered(sys.modules["snakemake_executor_plugin_slurm"])
