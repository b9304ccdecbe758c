"""Settings of NGM; nothing here needs torch."""

from typing import ClassVar

from pydantic import Field

from bbgm.config import Model
from bbgm.config.models import Positive
from bbgm.methods.soft.settings import GraphName, SoftConfig, SoftRun


class NGMSoftConfig(SoftConfig):
    """The soft assignment of NGM: in each layer, and at the end."""

    graph2: GraphName = Field("full", description="edges of the target's keypoints")


class NGMConfig(Model):
    """Neural Graph Matching Network (`bbgm.methods.ngm.network`)."""

    layers: Positive = 3
    channels: Positive = Field(16, description="of the embeddings of matches, and of pairs of edges")
    edge_embedding: bool = Field(False, description="also embed pairs of edges: NGM with edge embedding")


class NGMRun(SoftRun):
    """A run of NGM."""

    matcher: ClassVar[str] = "bbgm.methods.ngm.network:NGM"
    architecture: ClassVar[tuple[str, ...]] = (*SoftRun.architecture, "ngm")

    soft: NGMSoftConfig = NGMSoftConfig()
    ngm: NGMConfig = NGMConfig()
