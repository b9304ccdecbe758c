"""Benchmarks: the solver on folders of instances and beside other solvers, its speed, and the spline convolution.

May import everything but `bbgm.cli` and `bbgm.plotting`.
"""
