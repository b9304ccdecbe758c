"""Settings of the methods with a soft assignment; nothing here needs torch."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

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
