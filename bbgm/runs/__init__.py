"""Runs: training, evaluation, checkpoints, the folder of a run, and what a budget costs.

May import `bbgm.methods`, `bbgm.scoring` and everything below them.
"""
