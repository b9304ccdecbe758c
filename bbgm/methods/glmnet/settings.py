"""Settings of GLMNet; nothing here needs torch."""

from typing import ClassVar

from pydantic import Field

from bbgm.config import Model
from bbgm.config.models import Positive
from bbgm.methods.soft.settings import EmbeddingRun


class GLMNetConfig(Model):
    """The embeddings of `bbgm.methods.glmnet.network`, and its further loss."""

    width: Positive = Field(2048, description="D, of the embeddings")
    smoothing: float = Field(0.5, ge=0, le=1, description="gamma of the first layer, the weight of the neighbours")
    sharpening: float = Field(0.75, ge=0, description="gamma of the last layer")
    constraint: float = Field(0.1, ge=0, description="lambda, the weight of the constraint loss")


class GLMNetRun(EmbeddingRun):
    """A run of GLMNet."""

    matcher: ClassVar[str] = "bbgm.methods.glmnet.network:GLMNet"
    architecture: ClassVar[tuple[str, ...]] = (*EmbeddingRun.architecture, "glmnet")

    glmnet: GLMNetConfig = GLMNetConfig()
