"""Settings of what looks at where keypoints are, and of what moves them; nothing here needs torch."""

from typing import Literal, Self

from pydantic import Field, model_validator

from bbgm.config import Model
from bbgm.config.models import Count, Positive


class JitterConfig(Model):
    """Random moves of keypoints (`bbgm.methods.bbgm.geometry.jitter`); each draw is uniform up to these numbers."""

    rotation: float = Field(0.0, ge=0, le=180, description="degrees, either way")
    scale: float = Field(0.0, ge=0, le=2, description="of the logarithm of the size")
    stretch: float = Field(0.0, ge=0, le=2, description="of the logarithm of the width; the height gets its inverse")
    shear: float = Field(0.0, ge=0, le=2)
    translation: float = Field(0.0, ge=0, description="px of 256")
    noise: float = Field(0.0, ge=0, description="standard deviation of each coordinate of each keypoint, px of 256")

    @property
    def on(self) -> bool:
        """Whether anything is moved."""
        return self != JitterConfig()


class AdversaryConfig(Model):
    """Training keypoints moved to where the loss is larger (`bbgm.methods.bbgm.geometry.adversary`)."""

    steps: Count = Field(0, description="of the attack, each with a forward and a backward pass; 0: there is none")
    size: float = Field(8.0, ge=0, description="how far each coordinate may move, px of 256")
    weight: float = Field(
        1.0, gt=0, le=1, description="of the loss at the moved keypoints; the rest is the loss where they were"
    )

    @property
    def on(self) -> bool:
        """Whether anything is moved."""
        return self.steps > 0


class PretrainConfig(Model):
    """Training of the encoder of positions before all else (`bbgm.methods.bbgm.geometry.pretraining`)."""

    iterations: Positive = 300
    batch_size: Positive = Field(8, description="pairs of images, whose graphs are copied")
    learning_rate: float = Field(1e-3, gt=0, description="of Adam")
    temperature: float = Field(0.5, gt=0, description="of the cosines; PREGM's tau is its inverse")
    triangles: float = Field(1 / 32, ge=0, description="weight of the decoder of triangles; 0: there is none")
    copies: JitterConfig = Field(
        JitterConfig(rotation=30, scale=0.3, stretch=0.3, shear=0.3, noise=4), description="the random maps"
    )
    freeze: bool = Field(True, description="keep the encoder as it is afterwards, but for its last layer")


class PositionsConfig(Model):
    """Features of where a keypoint is (`bbgm.methods.bbgm.geometry.positions`)."""

    kind: Literal["none", "mlp", "attention"] = Field(
        "none", description="mlp: each keypoint by itself; attention: it also sees the others of its graph"
    )
    coordinates: Literal["frame", "spread", "both"] = Field(
        "spread", description="in the frame, or about the graph's mean and in units of its size"
    )
    visual: bool = Field(False, description="the encoder also sees what keypoints look like, before attention")
    place: Literal["before", "after"] = Field("before", description="added before or after SplineCNN")
    scale: float = Field(0.1, description="factor of these features")
    width: Positive = 128
    blocks: Positive = Field(3, description="of self-attention")
    heads: Positive = 4
    pretrain: PretrainConfig | None = Field(None, description="None: the encoder learns with the rest alone")

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"positions.width is {self.width}: make it a multiple of positions.heads, {self.heads}")
        return self

    @model_validator(mode="after")
    def _there_is_an_encoder(self) -> Self:
        if self.pretrain is not None and self.kind == "none":
            raise ValueError("positions.pretrain needs an encoder: set positions.kind: attention, or mlp")
        if self.pretrain is not None and self.visual:
            raise ValueError("positions.pretrain uses coordinates alone: set positions.visual: false")
        return self


class TransformerConfig(Model):
    """Keypoints that look at each other (`bbgm.methods.bbgm.geometry.transformer`), in place of SplineCNN."""

    layers: Count = Field(0, description="of attention; 0: there is no transformer")
    cross: Count = Field(0, description="how many of them, the last ones, also see the other image's keypoints")
    width: Positive = 256
    heads: Positive = 4
    dropout: float = Field(0.1, ge=0, lt=1)
    feature_dropout: float = Field(0.5, ge=0, lt=1, description="of the visual features that go in")

    @model_validator(mode="after")
    def _layers_and_heads_fit(self) -> Self:
        if self.cross > self.layers:
            raise ValueError(f"transformer.cross is {self.cross} of {self.layers} layers: set cross to layers or less")
        if self.width % self.heads:
            raise ValueError(
                f"transformer.width is {self.width}: make it a multiple of transformer.heads, {self.heads}"
            )
        return self
