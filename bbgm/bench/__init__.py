"""Benchmarks: the solver on folders of instances, and the spline convolution.

May import everything but `bbgm.cli` and `bbgm.plotting`.
"""
