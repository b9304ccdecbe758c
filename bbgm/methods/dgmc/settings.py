"""Settings of DGMC; nothing here needs torch."""

from typing import ClassVar, Literal

from pydantic import Field

from bbgm.config import BackboneConfig, Model, RunConfig
from bbgm.config.models import Count, Positive


class DGMCConfig(Model):
    """Deep Graph Matching Consensus (`bbgm.methods.dgmc`), as its authors run it but for the scale of the features."""

    channels: Positive = Field(256, description="of the local features, psi_1")
    consensus_channels: Positive = Field(128, description="of the indicators and of psi_2")
    steps: Count = Field(10, description="L, consensus iterations, in training and at test")
    dropout: float = Field(0.5, ge=0, lt=1, description="of psi_1")
    features: Literal["unit", "raw"] = Field(
        "unit",
        description="visual features of length 1 as in BB-GM, or as they are as in DGMC, which suits torchvision's "
        "weights only: activations of others may be a hundred times as large, and S_0 saturates",
    )
    feature_scale: float = Field(16.0, gt=0, description="times this")
    pseudo: Literal["graph", "frame"] = Field(
        "graph", description="edges' coordinates relative to the graph's largest, or to the image's side as in BB-GM"
    )
    root_init: Literal["channels", "kernel"] = Field(
        "channels", description="first values of SplineConv's root matrices, as `network.root_init` of BB-GM"
    )
    rounding: Literal["argmax", "lap"] = Field(
        "argmax", description="the likeliest target of each source keypoint, as scored by its authors, or a matching"
    )


class DGMCRun(RunConfig):
    """A run of DGMC."""

    matcher: ClassVar[str] = "bbgm.methods.dgmc.network:DGMC"
    architecture: ClassVar[tuple[str, ...]] = ("network", "dgmc")

    network: BackboneConfig = BackboneConfig()
    dgmc: DGMCConfig = DGMCConfig()

    @property
    def visual(self) -> BackboneConfig:
        """See `RunConfig.visual`."""
        return self.network
