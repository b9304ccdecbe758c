"""An object with keypoints, as the file of a custom data set describes it (see `bbgm.data.readers.folder`)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from bbgm.data.images.crops import Box


class AnnotatedObject(BaseModel):
    """One entry of ``images``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    file: str = Field(min_length=1)
    cls: str = Field(alias="class", pattern=r"^[^/]+$")
    keypoints: dict[Annotated[str, Field(min_length=1)], tuple[float, float]]
    box: Box | None = None
    size: tuple[int, int] | None = None
    split: Literal["train", "test"] | None = None


class Annotations(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(extra="forbid")

    images: list[AnnotatedObject]
