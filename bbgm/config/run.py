"""The configuration of one run: its parts together, its hash, its folder, and what is said of a wrong one."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, get_args

import yaml
from pydantic import Field, ValidationError, model_validator

from bbgm.config.models import (
    BudgetName,
    DataConfig,
    DGMCConfig,
    Model,
    NetworkConfig,
    OptimiserConfig,
    ProtocolConfig,
    Seed,
    SolverConfig,
)


class ParentConfig(Model):
    """The run that another one starts from (Willow's Pt and Pt+Wt start from a network trained on Pascal VOC)."""

    run: "RunConfig"
    optimiser_state: bool = Field(
        True, description="go on with its Adam state and its last learning rates too, as the authors' code does"
    )


class RunConfig(Model):
    """Everything that a run's numbers depend on, and how its row is called."""

    method: str = Field(pattern=r"^[a-z0-9_]+$")
    title: str
    model: Literal["bbgm", "dgmc"] = Field("bbgm", description="kind of network; settings of the others do not matter")
    budget: BudgetName
    seed: Seed
    setting: str = Field("Pt=no;Wt=yes", description="what distinguishes rows of one title, as in `bbgm.published`")
    threads: int = Field(2, gt=0, le=1024, description="torch threads: fixed, because they change float sums")
    data: DataConfig = DataConfig()
    protocol: ProtocolConfig = ProtocolConfig()
    network: NetworkConfig = NetworkConfig()
    solver: SolverConfig = SolverConfig()
    dgmc: DGMCConfig = DGMCConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    parent: ParentConfig | None = Field(None, description="the run whose network is the start; None: from scratch")
    keep_optimiser: bool = Field(False, description="keep optimiser.pt beside the model, for runs that go on from it")

    @model_validator(mode="after")
    def _parent_fits(self) -> Self:
        if self.parent is None:
            return self
        run = self.parent.run
        if run.model != self.model:
            raise ValueError(
                f"the parent {run.method} is a {run.model} network, not {self.model}: it cannot be its start"
            )
        if run.network != self.network:
            ours, theirs = self.network.model_dump(), run.network.model_dump()
            key = next(key for key in ours if ours[key] != theirs[key])
            raise ValueError(
                f"the parent {run.method} has another network: its network.{key} is {theirs[key]!r}, here it is "
                f"{ours[key]!r}; make them equal"
            )
        if self.model == "dgmc" and run.dgmc != self.dgmc:
            raise ValueError(f"the parent {run.method} has other settings of dgmc: make them equal")
        if self.parent.optimiser_state and not run.keep_optimiser:
            raise ValueError(
                f"the parent {run.method} does not keep its optimiser state: set keep_optimiser: true in its "
                "experiment, or parent.optimiser_state: false here"
            )
        return self

    @model_validator(mode="after")
    def _sinkhorn_has_unary_costs(self) -> Self:
        if self.solver.layer == "sinkhorn" and self.network.quadratic:
            raise ValueError("solver.layer: sinkhorn knows unary costs only: set network.quadratic: false")
        return self

    @model_validator(mode="after")
    def _sets_have_partial_matchings(self) -> Self:
        if self.protocol.test_sets_per_class and self.model != "bbgm":
            raise ValueError(f"sets of images need costs, which {self.model} has not: set test_sets_per_class: 0")
        if self.protocol.test_sets_per_class and self.solver.full:
            raise ValueError(
                "protocol.test_sets_per_class asks for sets of images, whose matchings leave keypoints out, and "
                "solver.full for matchings that leave none: set test_sets_per_class: 0"
            )
        return self

    @model_validator(mode="after")
    def _filter_fits_the_data_set(self) -> Self:
        if self.data.dataset == "spair" and self.protocol.filter != "intersection":
            raise ValueError(
                f"spair lists the common keypoints of its pairs and no others, which leaves filter "
                f"{self.protocol.filter!r} nothing to do: set protocol.filter: intersection"
            )
        return self

    def hash(self) -> str:
        """First 16 hex digits of the SHA-256 of all that can change a number: everything but the titles."""
        content = self.model_dump(mode="json", by_alias=True, exclude={"title"})
        if self.parent:
            content["parent"]["run"] = self.parent.run.hash()
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def to_yaml(self) -> str:
        """The whole configuration, defaults included."""
        return yaml.safe_dump(self.model_dump(mode="json", by_alias=True), sort_keys=False)

    def settings(self) -> dict[str, Any]:
        """All settings with dotted names such as ``network.backbone``, without those of the parent."""
        return flatten(self.model_dump(mode="json", by_alias=True, exclude={"parent"}))

    @property
    def folder(self) -> Path:
        """Folder of the run below the results root: ``<budget>/<dataset>/<filter>/<method>/seed<k>``."""
        return Path(self.budget, self.data.dataset, self.protocol.filter, self.method, f"seed{self.seed}")


def flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat


def make_run(content: Mapping[str, Any], origin: str = "configuration") -> RunConfig:
    """Validate a mapping.

    Raises:
        ValueError: one line for each wrong key, with its path, its value and what is allowed.
    """
    try:
        return RunConfig.model_validate(content)
    except ValidationError as error:
        lines = []
        for item in error.errors():
            name = ".".join(str(part) for part in item["loc"]) or "run"
            if item["type"] == "extra_forbidden":
                lines.append(f"  {name}: no such key; the keys here are {_keys(item['loc'][:-1])}")
            else:
                given = "" if item["type"] == "missing" or not item["loc"] else f" (given: {item['input']!r})"
                lines.append(f"  {name}: {item['msg']}{given}")
        raise ValueError(f"{origin} is not valid:\n" + "\n".join(lines)) from error


def _keys(place: Sequence[int | str]) -> list[str]:
    """Names of the keys of a part of the configuration."""
    model: Any = RunConfig
    for part in place:
        annotation = model.model_fields[part].annotation
        model = next((one for one in get_args(annotation) if one is not type(None)), annotation)
    return [field.alias or name for name, field in model.model_fields.items()]
