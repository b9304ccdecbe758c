"""What can be configured, part by part: frozen models, strict about unknown keys and values out of range."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bbgm.base.reading.untrusted import repeated
from bbgm.base.registry import name_in
from bbgm.config.parts import BACKBONES

Positive = Annotated[int, Field(gt=0, lt=2**31)]
Count = Annotated[int, Field(ge=0, lt=2**31)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


FilterName = Literal["intersection", "inclusion", "unfiltered"]
FILTER_NAMES: tuple[str, ...] = get_args(FilterName)


class Model(BaseModel):
    """Frozen, and strict about unknown keys; numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataConfig(Model):
    """Which data set, and how it is read: the settings that all data sets have.

    Each adds its own in a subclass, registered in `bbgm.config.parts.DATASETS`, with the facts that other modules
    need.

    Attributes:
        class_names: the classes of the original data, in the order in which they are read.
        columns: the name of each class in the paper's tables, in their order; empty: the same as the classes.
        demo: whether the rendered demo data have its format.
        other_sources: further values of ``source``, for data of the same format from elsewhere.
        filters: the keypoint filters that make sense for it.
        setting: what distinguishes rows of one method in the published tables.
        downloads: what must be downloaded for it (`bbgm.data.fetch.sources`).
        images, listed_pairs: (download, pattern): where `sources.toml` says how many images (of VOC: objects), and how
            many test pairs, the data set has; None if it does not say.
        most_keypoints: of an image.
    """

    class_names: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[Mapping[str, str]] = {}
    demo: ClassVar[bool] = False
    other_sources: ClassVar[tuple[str, ...]] = ()
    filters: ClassVar[tuple[str, ...]] = FILTER_NAMES
    setting: ClassVar[str] = "filter={filter}"
    downloads: ClassVar[tuple[str, ...]] = ()
    images: ClassVar[tuple[str, str] | None] = None
    listed_pairs: ClassVar[tuple[str, str] | None] = None
    most_keypoints: ClassVar[int] = 0

    dataset: str = Field("willow", description="Willow ObjectClass, Pascal VOC with Berkeley keypoints, SPair-71k, ...")
    source: str = Field("demo", description="demo: rendered objects; original: the real data set; or other_sources")
    classes: tuple[str, ...] = Field((), description="classes to use; empty: all that the data set has")
    demo_images_per_class: Positive = 40
    demo_seed: Seed = 0

    @model_validator(mode="after")
    def _classes_differ(self) -> Self:
        if twice := repeated(self.classes):
            raise ValueError(f"data.classes names {twice[0]!r} twice: name each class once")
        return self

    @model_validator(mode="after")
    def _demo_data_exist(self) -> Self:
        if self.source == "demo" and not self.demo:
            raise ValueError(f"{self.dataset} has no demo data: set data.source: original")
        if self.source not in (sources := ("demo", "original", *self.other_sources)):
            raise ValueError(f"data.source is {self.source!r}: set it to one of {list(sources)}")
        return self

    def open(self, protocol: "ProtocolConfig") -> Any:
        """Read the data set and divide it: a `bbgm.data.Dataset`. The images are not decoded here."""
        raise NotImplementedError(f"data set {self.dataset!r} has no reader: define open() in its class")

    def used_classes(self) -> tuple[str, ...]:
        """Names of the classes that a run uses, of the original data."""
        return self.classes or self.class_names

    @classmethod
    def table_columns(cls) -> dict[str, str]:
        """For each class its name in the paper's tables, in their order."""
        return dict(cls.columns) or {name: name for name in cls.class_names}

    def missing(self) -> list[str]:
        """What is missing besides the downloads, one line each."""
        return []


class ViewsConfig(Model):
    """Views of training images (`bbgm.data.images.views`); each draw is uniform up to these numbers, either way."""

    count: Count = Field(0, description="of each training image, beside the image itself; 0: none")
    rotation: float = Field(45.0, ge=0, le=180, description="degrees")
    scale: float = Field(0.3, ge=0, le=2, description="of the logarithm of the size")
    stretch: float = Field(0.15, ge=0, le=2, description="of the logarithm of the width; the height gets its inverse")
    translation: float = Field(16.0, ge=0, le=256, description="px of 256")
    mirror: bool = Field(
        False, description="every second view is mirrored, from the first on; left and right change names"
    )


class ProtocolConfig(Model):
    """Split, pairs and keypoint filter (paper Sec. 4). VOC, SPair and some folders come with a split.

    Attributes:
        training_only: what changes the training pairs only: methods that differ in it have the same test pairs.
    """

    training_only: ClassVar[tuple[str, ...]] = ("wrong_labels", "views")

    filter: FilterName = "intersection"
    train_per_class: Positive = 20
    split: Literal["sorted", "seeded"] = Field(
        "sorted", description="first train_per_class file names of a class, or a shuffle of them by split_seed"
    )
    split_seed: Seed = 0
    min_keypoints: Positive = Field(
        2, description="pairs with fewer common keypoints are drawn again; the other filters want one in each image"
    )
    test_pairs_per_class: Count = Field(1000, description="0: all that the data set lists (SPair)")
    test_sets_per_class: Count = Field(
        0, description="sets of images that are also matched jointly (BB-GM-Multi), for the filter 'unfiltered' only"
    )
    set_size: int = Field(5, ge=2, lt=2**31, description="images of a set")
    wrong_labels: float = Field(
        0.0, ge=0, le=1, description="share of the true matches of training pairs that are wrong; test pairs are right"
    )
    views: ViewsConfig = ViewsConfig()
    test_seed: Seed = Field(123, description="draws the same test pairs and sets in every run")

    @model_validator(mode="after")
    def _sets_are_unfiltered(self) -> Self:
        if self.test_sets_per_class and self.filter != "unfiltered":
            raise ValueError(
                "test_sets_per_class is for the filter 'unfiltered': leave it at 0, or set filter: unfiltered"
            )
        return self


class BackboneConfig(Model):
    """The network that images pass through first, for methods that use images."""

    backbone: Annotated[str, name_in(BACKBONES)] = "vgg16_bn"
    weights: str = Field(
        "imagenet",
        description="'imagenet', 'demo' (its substitute for small, part of this package), 'random', or the name of a "
        ".safetensors file below BBGM_WEIGHTS",
    )
    freeze_backbone: bool = Field(False, description="no update, batch norm evaluates, features cached on disk")


class OptimiserConfig(Model):
    """Adam, or what other methods' papers use, with a step schedule (paper Sec. 4, 'Hyperparameters') or another."""

    kind: Literal["adam", "sgd"] = Field("adam", description="sgd: with Nesterov's momentum of 0.9")

    epochs: Count = 2
    iterations_per_epoch: Positive = 100
    batch_size: Positive = 8
    learning_rate: float = Field(2e-3, gt=0)
    backbone_factor: float = Field(0.01, ge=0, description="learning rate of the backbone relative to the rest")
    milestones: tuple[Count, ...] = Field((1,), description="epochs after which decay multiplies the learning rate")
    decay: float = Field(0.5, gt=0, le=1)
    schedule: Literal["steps", "cosine"] = Field(
        "steps", description="of the learning rate: decay at each milestone, or half a cosine down to 0"
    )
    warm_up: Count = Field(0, description="iterations at the start in which the learning rate grows from 0")

    @property
    def pairs(self) -> int:
        """How many pairs are trained with, repetitions counted."""
        return self.epochs * self.iterations_per_epoch * self.batch_size
