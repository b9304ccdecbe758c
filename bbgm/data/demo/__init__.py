"""The demo data: rendered counterparts of the three data sets, in their on-disk formats.

Random 3-D objects of five classes (car, duck, face, motorbike, wine bottle): shape, viewpoint, paint, light, background
and things that stand in front differ from image to image. Made in seconds, the same bytes for the same seed.
"""

from bbgm.data.demo.tree import FORMATS, MANIFEST, demo_root, make_all, make_demo, manifest, renderer_version

__all__ = ["FORMATS", "MANIFEST", "demo_root", "make_all", "make_demo", "manifest", "renderer_version"]
