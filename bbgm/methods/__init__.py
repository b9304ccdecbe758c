"""Matching methods: what they share (base class, losses, batches, spline convolution), and one module or folder each.

May import `bbgm.matching`, `bbgm.scoring` and everything below them.
"""
