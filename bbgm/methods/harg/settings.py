"""Settings of HARG-SSVM; nothing here needs torch."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from bbgm.config import BackboneConfig, Model, RunConfig
from bbgm.config.models import Count


class HargConfig(Model):
    """The structured support vector machine of `bbgm.methods.harg.network`."""

    c: float = Field(100.0, gt=0, description="C: weight of the hinge relative to the regulariser")
    components: Count = Field(
        0, description="principal components of the training keypoints' features that are used; 0: the features"
    )
    start: Literal["prototype", "zero"] = Field(
        "prototype", description="start training from the means of the training graphs, or from weights of 0"
    )


class HargRun(RunConfig):
    """A run of HARG-SSVM."""

    matcher: ClassVar[str] = "bbgm.methods.harg.network:HargSSVM"

    network: BackboneConfig = BackboneConfig(freeze_backbone=True)
    harg: HargConfig = HargConfig()

    @property
    def visual(self) -> BackboneConfig:
        """See `RunConfig.visual`."""
        return self.network

    @model_validator(mode="after")
    def _features_are_fixed(self) -> Self:
        if not self.network.freeze_backbone:
            raise ValueError(
                "the model graphs of harg are weights of fixed features: set network.freeze_backbone: true"
            )
        return self

    @model_validator(mode="after")
    def _classes_are_its_own(self) -> Self:
        if self.parent is not None:
            raise ValueError(
                f"harg has a model graph for each class of its own training images, and none to take from the parent "
                f"{self.parent.run.method}: leave parent out"
            )
        return self
