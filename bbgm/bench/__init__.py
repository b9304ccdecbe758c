"""Benchmarks: the solver on folders of instances and beside other solvers, its speed, the spline convolution, and a
training step.

May import everything but `bbgm.cli` and `bbgm.plotting`.
"""
