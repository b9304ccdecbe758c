"""Settings of PCA-GM; nothing here needs torch."""

from typing import ClassVar, Literal

from pydantic import Field

from bbgm.config import Model
from bbgm.config.models import Positive
from bbgm.methods.soft.settings import EmbeddingRun

Neighbours = Literal["mean", "sum", "relu_of_sum"]


class PCAConfig(Model):
    """The embeddings of `bbgm.methods.pca.network`."""

    width: Positive = Field(2048, description="D, of the embeddings")
    neighbours: Neighbours = Field(
        "mean", description="what a layer within a graph takes of them; relu_of_sum: ReLU after the sum, as CIE"
    )
    cross: Literal["none", "once", "repeated"] = Field(
        "once",
        description="cross-graph layer: none (PIA-GM), after the scores of the first layer (PCA-GM), or repeated with "
        "the scores of the last one (IPCA-GM)",
    )
    repetitions: Positive = Field(3, description="how often, if repeated")


class PCARun(EmbeddingRun):
    """A run of PCA-GM, PIA-GM or IPCA-GM."""

    matcher: ClassVar[str] = "bbgm.methods.pca.network:PCA"
    architecture: ClassVar[tuple[str, ...]] = (*EmbeddingRun.architecture, "pca")

    pca: PCAConfig = PCAConfig()
