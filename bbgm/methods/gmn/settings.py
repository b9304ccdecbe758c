"""Settings of GMN and GMN-PL; nothing here needs torch."""

from typing import ClassVar

from pydantic import Field

from bbgm.config.models import Positive
from bbgm.methods.soft.settings import GraphName, SoftConfig, SoftRun


class GMNConfig(SoftConfig):
    """Graph Matching Network (`bbgm.methods.gmn.network`); its loss makes it GMN (offset) or GMN-PL (permutation)."""

    graph2: GraphName = Field("full", description="edges of the target's keypoints")
    temperature: float = Field(0.005, gt=0, description="of the Sinkhorn normalisation, in units of the eigenvector")
    power_iterations: Positive = Field(25, description="towards the leading eigenvector of the affinities")
    rescale: bool = Field(
        False,
        description="multiply the eigenvector, whose entries are about 1 / sqrt(n1 n2), by sqrt(n1 n2): the "
        "temperature then has the same effect on graphs of all sizes",
    )


class GMNRun(SoftRun):
    """A run of GMN or GMN-PL."""

    matcher: ClassVar[str] = "bbgm.methods.gmn.network:GMN"
    gives_costs: ClassVar[bool] = True

    soft: GMNConfig = GMNConfig()
