"""Visual features (paper Sec. 3.5): backbones, their weights, the features of frozen backbones on disk.

May import `bbgm.data`, `bbgm.config` and `bbgm.base`.
"""
