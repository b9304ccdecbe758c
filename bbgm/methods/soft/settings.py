"""Settings of the methods with a soft assignment; nothing here needs torch."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from bbgm.base.registry import name_in
from bbgm.config import SOFT_LOSSES, BackboneConfig, Model, RunConfig
from bbgm.config.models import Positive

GraphName = Literal["delaunay", "full"]


class SoftConfig(Model):
    """From scores to a soft assignment, its loss, and matchings at test."""

    graph1: GraphName = Field("delaunay", description="edges of the source's keypoints")
    graph2: GraphName = Field("delaunay", description="edges of the target's keypoints")
    temperature: float = Field(0.05, gt=0, description="of the Sinkhorn normalisation, in units of the scores")
    iterations: Positive = Field(10, description="of one normalisation of rows and one of columns")
    loss: Annotated[str, name_in(SOFT_LOSSES)] = "permutation"
    rounding: Literal["lap", "solver"] = Field(
        "lap",
        description="at test: the linear assignment of the soft matches, or the solver on the quadratic costs of the "
        "methods that have them",
    )


class SoftRun(RunConfig):
    """A run of a method with a soft assignment: base of their settings."""

    architecture: ClassVar[tuple[str, ...]] = ("network", "soft")

    network: BackboneConfig = BackboneConfig()
    soft: SoftConfig = SoftConfig()

    @property
    def visual(self) -> BackboneConfig:
        """See `RunConfig.visual`."""
        return self.network

    @model_validator(mode="after")
    def _loss_fits_the_filter(self) -> Self:
        if self.soft.loss == "offset" and self.protocol.filter == "unfiltered":
            raise ValueError(
                "soft.loss: offset needs a partner of every source keypoint, which the filter 'unfiltered' does not "
                "give: set protocol.filter: intersection or inclusion, or soft.loss: permutation"
            )
        return self

    @model_validator(mode="after")
    def _solver_has_costs(self) -> Self:
        if self.soft.rounding == "solver" and not self.gives_costs:
            raise ValueError(f"soft.rounding: solver needs costs, which {self.model} does not have: set rounding: lap")
        return self


class EmbeddingRun(SoftRun):
    """A run of a method that embeds nodes across both graphs of a pair (`bbgm.methods.soft.embedding`)."""

    @model_validator(mode="after")
    def _graphs_are_alike(self) -> Self:
        if self.soft.graph1 != self.soft.graph2:
            raise ValueError(
                f"soft.graph1 is {self.soft.graph1!r} and soft.graph2 {self.soft.graph2!r}, but {self.model} computes "
                "the first layer once for each image, whichever side it is on: make them equal"
            )
        return self
