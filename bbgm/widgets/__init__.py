"""Widgets of the notebooks: pictures and figures that can be touched, in JupyterLab.

Built on anywidget: each is a Python class and an ES module in ``static/``, sent to the browser with the notebook, so
that nothing is downloaded. Exported notebooks show a picture instead. May import `bbgm.photos` and everything below it.
"""

from bbgm.widgets.editor import MatchingEditor
from bbgm.widgets.frames import Frames
from bbgm.widgets.matchings import Gallery, gallery
from bbgm.widgets.pair import points_in_file

__all__ = ["Frames", "Gallery", "MatchingEditor", "gallery", "points_in_file"]
