"""Readers of the original on-disk formats: Willow, Pascal VOC, SPair-71k, and a folder of the user's own images.

May import `bbgm.data.images`, `bbgm.data.fetch`, `bbgm.config` and `bbgm.base`.
"""
