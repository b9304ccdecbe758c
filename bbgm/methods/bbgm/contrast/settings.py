"""Settings of the losses beside the solver's; nothing here needs torch."""

from typing import Literal

from pydantic import Field, field_validator

from bbgm.config import TERMS, Model
from bbgm.config.models import Count


class TeacherConfig(Model):
    """A slow copy of the network, whose opinion softens the targets (`bbgm.methods.bbgm.contrast.teacher`)."""

    momentum: float = Field(0.995, ge=0, le=1, description="how much of it stays at each iteration")
    alpha: float = Field(0.4, ge=0, le=1, description="its share in the targets")
    warm_up: Count = Field(300, description="iterations in which its share grows from 0 to alpha")


class ContrastConfig(Model):
    """What is added to the loss of the solver, or replaces it with ``solver.weight: 0``."""

    terms: dict[str, float] = Field(
        default_factory=dict, description="weight of each; 0 leaves it out; empty: the solver's loss alone"
    )
    similarity: Literal["costs", "cosine"] = Field(
        "costs", description="of keypoints, for info_nce: minus the solver's vertex costs, or the angle of features"
    )
    negatives: Literal["batch", "pair"] = Field(
        "batch", description="what a keypoint is told from: keypoints of the other image, of all pairs or of its own"
    )
    same: Literal["negative", "masked", "positive"] = Field(
        "negative", description="what the same keypoint (see names) in another pair counts as"
    )
    names: Literal["class", "shared"] = Field(
        "class", description="which keypoints are the same: of one name in one class, or of one name in any class"
    )
    temperature: float = Field(0.07, ge=0.01, le=1, description="at the start; it is learned")
    teacher: TeacherConfig | None = Field(None, description="None: there is none")

    @field_validator("terms")
    @classmethod
    def _terms_exist(cls, terms: dict[str, float]) -> dict[str, float]:
        for name, weight in terms.items():
            TERMS.check(name)
            if weight < 0:
                raise ValueError(f"contrast.terms.{name} is {weight}: weights are not negative; 0 leaves a term out")
        return {name: weight for name, weight in terms.items() if weight}
