"""An object with keypoints, as the file of a custom data set describes it (see `bbgm.data.readers.folder`)."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bbgm.data.images.pictures import Box

T = TypeVar("T")


def _nothing(value: Any) -> Any:
    """None for what stands for nothing in JSON files: null, "", {}, [], and a list of null or NaN."""
    if isinstance(value, list) and all(one is None or one != one for one in value):
        return None
    return None if value in ({}, "") else value


Optional = Annotated[T | None, BeforeValidator(_nothing)]
"""A value, or None where the file has null or something empty."""


class AnnotatedObject(BaseModel):
    """One entry of ``images``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    file: str = Field(min_length=1)
    cls: str = Field(alias="class", pattern=r"^[^/]+$")
    keypoints: Annotated[
        dict[Annotated[str, Field(min_length=1)], tuple[float, float]], BeforeValidator(lambda value: value or {})
    ]
    box: Optional[Box] = None
    size: Optional[tuple[int, int]] = None
    split: Optional[Literal["train", "test"]] = None


class Annotations(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(extra="forbid")

    images: list[AnnotatedObject]
