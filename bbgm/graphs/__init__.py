"""Keypoint graphs: Delaunay triangulation and the relative coordinates of edges (paper Sec. 3.5).

Imports nothing else of `bbgm`.
"""
