"""The configuration of one run: what all methods share, its hash and its folder.

A method adds its own sections in a subclass, registered in `bbgm.config.parts.METHODS`. So a configuration holds only
what its numbers depend on: a new setting of one method does not affect the runs of the others.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import yaml
from pydantic import Field, SerializeAsAny, model_validator

from bbgm.config.models import BackboneConfig, DataConfig, Model, OptimiserConfig, ProtocolConfig, Seed

NO_NUMBERS = ("title", "checkpoint_every")
"""Keys that no number of a run depends on."""


class ParentConfig(Model):
    """The run that another one starts from (Willow's Pt and Pt+Wt start from a network trained on Pascal VOC)."""

    run: SerializeAsAny["RunConfig"]
    optimiser_state: bool = Field(
        True, description="also take over its optimiser's state and its last learning rates, as the authors' code does"
    )


class RunConfig(Model):
    """Everything that a run's numbers depend on, and the name of its row.

    Attributes:
        matcher: makes the network, a `bbgm.methods.base.Matcher`, from the configuration: a class, or
            "module:attribute", which is imported when a network is first made.
        architecture: sections of the method that must be the same in a run and its parent.
        gives_costs: whether the method makes costs for a solver, which sets of images need.
    """

    matcher: ClassVar[Any] = None
    architecture: ClassVar[tuple[str, ...]] = ()
    gives_costs: ClassVar[bool] = False

    method: str = Field(pattern=r"^[a-z0-9_]+$")
    title: str
    model: str = Field("bbgm", description="kind of method: a name in bbgm.config.parts.METHODS")
    budget: str = Field(pattern=r"^[a-z0-9_]+$", description="a file of config/budgets")
    seed: Seed
    setting: str = Field("Pt=no;Wt=yes", description="what distinguishes rows of one title, as in `bbgm.published`")
    threads: int = Field(2, gt=0, le=1024, description="torch threads: fixed, because they change float sums")
    data: DataConfig
    protocol: ProtocolConfig = ProtocolConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    parent: ParentConfig | None = Field(None, description="the run whose network is the start; None: from scratch")
    keep_optimiser: bool = Field(False, description="keep optimiser.pt beside the model, for runs that start from it")
    checkpoint_every: int = Field(200, gt=0, description="iterations between checkpoints; one more ends each epoch")

    @property
    def visual(self) -> BackboneConfig | None:
        """The backbone of a method that sees images through one."""
        return None

    @model_validator(mode="after")
    def _parent_fits(self) -> Self:
        if self.parent is None:
            return self
        run = self.parent.run
        if run.model != self.model:
            raise ValueError(
                f"the parent {run.method} is a {run.model} network, not {self.model}: it cannot start from it"
            )
        for section in self.architecture:
            ours, theirs = (getattr(one, section).model_dump(by_alias=True) for one in (self, run))
            if key := next((key for key in ours if ours[key] != theirs[key]), None):
                raise ValueError(
                    f"the parent {run.method} has another network: its {section}.{key} is {theirs[key]!r}, here it is "
                    f"{ours[key]!r}; make them equal"
                )
        if self.parent.optimiser_state and not run.keep_optimiser:
            raise ValueError(
                f"the parent {run.method} does not keep its optimiser state: set keep_optimiser: true in its "
                "experiment, or parent.optimiser_state: false here"
            )
        if self.parent.optimiser_state and run.optimiser.kind != self.optimiser.kind:
            raise ValueError(
                f"the parent {run.method} was trained with {run.optimiser.kind}, whose state {self.optimiser.kind} "
                "cannot use: make optimiser.kind equal, or set parent.optimiser_state: false"
            )
        return self

    @model_validator(mode="after")
    def _sets_have_costs(self) -> Self:
        if self.protocol.test_sets_per_class and not self.gives_costs:
            raise ValueError(f"sets of images need costs, which {self.model} does not have: set test_sets_per_class: 0")
        return self

    @model_validator(mode="after")
    def _filter_fits_the_data_set(self) -> Self:
        if self.protocol.filter not in self.data.filters:
            raise ValueError(
                f"{self.data.dataset} lists the common keypoints of its pairs and no others, so filter "
                f"{self.protocol.filter!r} would have no effect: set protocol.filter: {' or '.join(self.data.filters)}"
            )
        return self

    def with_solver(self, name: str) -> Self:
        """The same run, its pairs matched by another solver of `bbgm.config.SOLVERS`.

        Raises:
            ValueError: the method lets no solver be chosen, or there is none of this name.
        """
        raise ValueError(f"{self.model} has no solver to choose: leave out the solver {name!r}")

    def content(self) -> dict[str, Any]:
        """All settings as plain values, as ``config.yaml`` has them."""
        return self.model_dump(mode="json", by_alias=True)

    def hash(self) -> str:
        """First 16 hex digits of the SHA-256 of all that can change a number: see `hash_of`."""
        return hash_of(self.content())

    def to_yaml(self) -> str:
        """The complete configuration, defaults included."""
        return yaml.safe_dump(self.content(), sort_keys=False)

    def settings(self) -> dict[str, Any]:
        """All settings with dotted names such as ``network.backbone``, without those of the parent."""
        return flatten(self.model_dump(mode="json", by_alias=True, exclude={"parent"}))

    @property
    def folder(self) -> Path:
        """Folder of the run below the results root: ``<budget>/<dataset>/<filter>/<method>/seed<k>``."""
        return Path(self.budget, self.data.dataset, self.protocol.filter, self.method, f"seed{self.seed}")


ParentConfig.model_rebuild()


def hash_of(content: Mapping[str, Any]) -> str:
    """First 16 hex digits of the SHA-256 of a configuration's content, without what changes no number (`NO_NUMBERS`).

    It takes the content as it is, so that the record of a run can be checked against its own ``config.yaml``, whatever
    settings were added later.
    """
    content = {key: value for key, value in content.items() if key not in NO_NUMBERS}
    if content.get("parent"):
        content["parent"] = {**content["parent"], "run": hash_of(content["parent"]["run"])}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, keys joined by dots."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return flat
