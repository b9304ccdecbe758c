"""Infrastructure: folders, whole-or-absent files, locks, progress bars, the machine, reproducible kernels.

Imports nothing else of `bbgm`; everything may import it.
"""
