"""Rendered data sets for keypoint matching, in the on-disk formats of Willow ObjectClass, Pascal VOC and SPair-71k.

The images show random 3-D objects of five classes (car, duck, face, motorbike, wine bottle). Shape, viewpoint, paint,
light, background and the things in front of the object differ from image to image. The same seed gives the same bytes.

`make_tree` and `make_trees` write data sets, `render_photo` gives one photograph with its keypoints.

The modules build on each other in this order: ``rendering`` (meshes, paint, light, camera, pictures), ``objects`` (the
five classes), ``pictures`` (an object or a photograph), ``formats`` (one writer for each format), ``trees`` (whole
trees, made once).
"""

from bbgm_demo.files import WriteError
from bbgm_demo.formats import FORMATS, Format
from bbgm_demo.parallel import in_parallel
from bbgm_demo.pictures import CLASSES, SeenObject, render_photo
from bbgm_demo.trees import MANIFEST, make_tree, make_trees, manifest, renderer_version

__all__ = [
    "CLASSES",
    "FORMATS",
    "MANIFEST",
    "Format",
    "SeenObject",
    "WriteError",
    "in_parallel",
    "make_tree",
    "make_trees",
    "manifest",
    "render_photo",
    "renderer_version",
]
