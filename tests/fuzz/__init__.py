"""Fuzzing of every reader of files that other programs wrote: ``python -m tests.fuzz`` (or ``make fuzz``).

`tests.fuzz.subjects` lists the readers; each has a small file in ``readers/`` that says what a genuine file is and how
it is read. `tests.fuzz.mutate` changes genuine files, `tests.fuzz.check` says what counts as a finding. Inputs that
once were findings are in ``kept/<reader>/``; ``test_kept.py`` reads them all again.
"""
