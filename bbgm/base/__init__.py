"""Infrastructure: folders, atomic writes, locks, progress bars, the machine, reproducible kernels.

Imports nothing else from `bbgm`; every other folder may import it.
"""
