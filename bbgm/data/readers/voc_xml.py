"""The XML files of Pascal VOC with keypoints."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from bbgm.base.reading.foreign import describe, joined
from bbgm.data.images.pictures import Box


def read_keypoints(path: Path) -> tuple[Box, tuple[str, ...], np.ndarray]:
    """One annotation of keypoints.

    Returns:
        ``visible_bounds`` as (left, top, right, bottom), and names (K,) and positions (K, 2) of the keypoints, all in
        px of the original image.

    Raises:
        ValueError: not XML, no bounds, no area, text instead of a number, or two keypoints with the same name.
    """
    root = read_xml(path)
    bounds = root.find("visible_bounds")
    if bounds is None:
        raise ValueError(
            f"{path} has no visible_bounds: it is not an annotation of keypoints, or damaged; copy it again"
        )
    faults: list[str] = []
    left, top, width, height = _numbers(bounds, ("xmin", "ymin", "width", "height"), faults)
    if width <= 0 or height <= 0:
        faults.append(f"visible_bounds are {width} x {height} px, which has no area: correct it")
    found = list(root.iterfind("keypoints/keypoint"))
    names = tuple(point.get("name", "") for point in found)
    for name, count in Counter(names).items():
        if not name or count > 1:
            faults.append(f"has {count} keypoints named {name!r}: names must be unique; correct it")
    points = [_numbers(point, ("x", "y"), faults) for point in found]
    if faults:
        raise ValueError(f"{path}: {joined(faults)}")
    return (left, top, left + width, top + height), names, np.array(points, dtype=np.float64).reshape(-1, 2)


def _numbers(element: ElementTree.Element, attributes: Sequence[str], faults: list[str]) -> list[float]:
    """The values of attributes; NaN, and a fault, where they are not finite numbers."""
    values = []
    for attribute in attributes:
        text = element.get(attribute)
        try:
            value = float(text or "")
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            what = f"{element.tag} {element.get('name', '')}".strip()
            faults.append(f"{attribute} of {what} is {text!r}, must be a finite number: correct it")
            value = np.nan
        values.append(value)
    return values


def read_xml(path: Path) -> ElementTree.Element:
    """The root of an XML file.

    Raises:
        ValueError: it is not one, or it declares a document type, whose entities could grow without bounds or name
            other files; VOC has none.
    """
    try:
        parser = ElementTree.XMLParser(target=_Plain())
        with path.open("rb") as file:
            root: ElementTree.Element = ElementTree.parse(file, parser).getroot()
        return root
    except (ElementTree.ParseError, UnicodeDecodeError, LookupError, ValueError) as error:
        raise ValueError(describe(path, f"is not an XML file ({error}): it is damaged, copy it again")) from error


class _Plain(ElementTree.TreeBuilder):
    """Refuses a document type before anything that it declares is used."""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise ValueError(f"it declares the document type {name!r}: remove the line with <!DOCTYPE")
