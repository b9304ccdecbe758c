"""Settings of CIE; nothing here needs torch."""

from typing import ClassVar, Literal

from pydantic import Field

from bbgm.config import Model
from bbgm.config.models import Positive
from bbgm.methods.soft.settings import EmbeddingRun


class CIEConfig(Model):
    """The embeddings of `bbgm.methods.cie.network`; CIE-H and CIE-P differ in ``soft.loss``."""

    width: Positive = Field(2048, description="D, of the embeddings")
    edges: Literal["cie1", "cie2"] = Field(
        "cie1", description="update of an edge: from the edge alone (CIE1), or also from its ends (CIE2)"
    )
    edge_feature: Literal["exponential", "inverse", "constant"] = Field(
        "exponential", description="of an edge of d px: exp(-d / 256), or 256 / d (at most 256), or 1 for all edges"
    )


class CIERun(EmbeddingRun):
    """A run of CIE."""

    matcher: ClassVar[str] = "bbgm.methods.cie.network:CIE"
    architecture: ClassVar[tuple[str, ...]] = (*EmbeddingRun.architecture, "cie")

    cie: CIEConfig = CIEConfig()
