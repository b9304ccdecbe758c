"""Pictures for the browser, and the picture that stands for a widget where no kernel runs."""

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STATIC = Path(__file__).parent / "static"
"""The widgets' programs and style sheets for the browser."""
LARGEST = 1200
"""Pictures are sent with this many px on their longer side at most."""
QUALITY = 90


def shown(name: str, pixels: np.ndarray) -> dict[str, Any]:
    """A picture (H, W, 3) uint8 as the browser takes it: its size in px, and its data as JPEG, smaller if large."""
    return {"name": name, "width": pixels.shape[1], "height": pixels.shape[0], "data": jpeg(pixels)}


def jpeg(pixels: np.ndarray) -> bytes:
    """Pixels (H, W, 3) uint8 as JPEG, smaller if large."""
    image = Image.fromarray(pixels)
    image.thumbnail((LARGEST, LARGEST))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()


def program(*names: str) -> str:
    """Modules of `STATIC` as the one text that the browser gets; those that the last one uses come before it."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)


def as_png(figure: "Figure") -> tuple[bytes, str]:
    """A figure of `bbgm.plotting` as a notebook shows it, and its alternative text."""
    data, metadata = figure._repr_png_()  # type: ignore[attr-defined]
    return data, metadata.get("alt", "")


def with_picture(bundle: Any, picture: tuple[bytes, str] | None, text: str) -> Any:
    """What a cell shows: a widget, and for viewers without widgets a picture and a text.

    Args:
        bundle: of the widget, from its base class.
        picture: see `as_png`; None: there is none.
        text: what text-only viewers and the notebook's file have.
    """
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    data = {**data, "text/plain": text}
    if picture is not None:
        png, alt = picture
        data["image/png"] = base64.b64encode(png).decode()
        metadata = {**metadata, "image/png": {"alt": alt}}
    return data, metadata
