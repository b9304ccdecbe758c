"""A trained model from wherever it is: a model file, the folder of a run, or this package."""

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from bbgm.base import machine
from bbgm.base.reproducible import reproducible
from bbgm.config import RunConfig, make_run
from bbgm.data import open_dataset
from bbgm.features.weights import fingerprint
from bbgm.methods.base import Matcher, VisualMatcher, make_matcher
from bbgm.models.file import ModelInfo, read_model_file
from bbgm.runs.evaluate import Evaluation, evaluate
from bbgm.runs.results import load
from bbgm.runs.train import load_matcher

SHIPPED = Path(__file__).parent / "shipped" / "bbgm-toys.safetensors"
"""The model that comes with this package."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A trained model.

    Attributes:
        name: of the model.
        description: the name, and in brackets what a user should know.
        config: of the run that trained it.
        matcher: the network, in evaluation mode.
    """

    name: str
    description: str
    config: RunConfig
    matcher: Matcher


def load_model(source: str | Path | None = None, solver: str | None = None) -> LoadedModel:
    """Load a trained model.

    Args:
        source: a file of `bbgm model export`, or the folder of a run; None: the model that comes with this package.
        solver: a name in `bbgm.config.SOLVERS` to match pairs with; None: that of the run.

    Raises:
        FileNotFoundError: no such file or folder, or the weights of its backbone are not in ``BBGM_WEIGHTS``.
        ValueError: it is something else, it is damaged, or the backbone has other weights than the model needs.
    """
    path = SHIPPED if source is None else Path(source)
    if path.is_dir():
        record = load(path)
        return LoadedModel(path.name, f"run {path}", record.config, load_matcher(record, solver))
    info, tensors = read_model_file(path)
    config = make_run(info.config, origin=f"the configuration in {path}")
    matcher = _fill(path, config if solver is None else config.with_solver(solver), info, tensors)
    where = "comes with bbgm" if source is None else str(path)
    return LoadedModel(info.name, f"{info.name} ({where}; trained on {info.data['title']})", config, matcher)


def evaluate_model(
    source: str | Path, pairs_per_class: int | None = None, progress: bool = True, solver: str | None = None
) -> Evaluation:
    """Evaluate a model file on the test pairs of the data set that it was trained on.

    Args:
        pairs_per_class: how many to draw; None: as many as in the run, which are the same pairs.
        solver: see `load_model`.

    Raises:
        FileNotFoundError, ValueError: see `load_model`; or the data set is missing or does not fit.
    """
    model = load_model(source, solver)
    protocol = model.config.protocol
    if pairs_per_class is not None:
        protocol = protocol.model_copy(update={"test_pairs_per_class": pairs_per_class})
    dataset = open_dataset(model.config.data, protocol)
    with reproducible(model.config.threads):
        return evaluate(model.matcher, dataset, protocol, progress)


def _fill(path: Path, config: RunConfig, info: ModelInfo, tensors: dict[str, Tensor]) -> Matcher:
    """The network of a model file, with its parameters in single precision."""
    if info.backbone is None:
        matcher = make_matcher(without_weights(config))
    else:
        matcher = _with_backbone(path, config, info.backbone)
    inside = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    outside = {
        name: tensor
        for name, tensor in matcher.state_dict().items()
        if info.backbone is not None and name.startswith("backbone.")
    }
    try:
        matcher.load_state_dict({**outside, **inside})
    except RuntimeError as error:
        raise ValueError(
            f"the tensors in {path} do not fit its configuration ({error}): it was written by another version of bbgm; "
            "export the model again"
        ) from error
    return matcher.to(machine.device()).eval()


def _with_backbone(path: Path, config: RunConfig, backbone: dict[str, str]) -> Matcher:
    needed = (
        f"model {path} needs the weights {backbone['weights']!r} of backbone {backbone['name']} "
        f"(fingerprint {backbone['sha256'][:16]})"
    )
    try:
        matcher = make_matcher(config)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{needed}, which are not here: {error}") from error
    assert isinstance(matcher, VisualMatcher)
    if (found := fingerprint(matcher.backbone)) != backbone["sha256"]:
        raise ValueError(
            f"{needed}, but those in BBGM_WEIGHTS have the fingerprint {found[:16]}: put the file there that the model "
            "was trained with"
        )
    return matcher


def without_weights(config: RunConfig) -> RunConfig:
    """The same network without the weights that its backbone starts from: the model has its own."""
    if config.visual is None:
        return config
    section = next(name for name in type(config).model_fields if getattr(config, name) is config.visual)
    return config.model_copy(update={section: config.visual.model_copy(update={"weights": "random"})})
