"""The model card: what a model is, what it has seen, how good it is, and what it is not for."""

from bbgm.config import RunConfig
from bbgm.models.file import ModelInfo


def model_card(info: ModelInfo, config: RunConfig) -> str:
    """The card as Markdown, from what the header of the file says."""
    parts = [
        f"# {info.name}",
        f"{config.title}: matches the keypoints of two pictures of the same kind of object. Made by `bbgm train "
        f"--method {config.method} --budget {config.budget} --dataset {config.data.dataset} "
        f"--filter {config.protocol.filter} --seed {config.seed}`.",
        "```python\nimport bbgm\n\n"
        f'match = bbgm.match("a.jpg", points1, "b.jpg", points2, model="{info.name}.safetensors")\n```',
        "## Data",
        _data(info),
        "## Scores",
        _scores(info),
        _stored(info),
        "## Network",
        _network(info, config),
        "## Limits",
        _limits(info),
        "## Licence and provenance",
        _provenance(info),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _data(info: ModelInfo) -> str:
    data = info.data
    text = f"Trained on {data['title']}: {', '.join(data['classes'])}. {data['pairs_seen']} training pairs"
    text += f", keypoint filter {data['filter']}."
    for name, licence in data["licences"].items():
        text += f" Licence of {name}: {licence}."
    return text


def _scores(info: ModelInfo) -> str:
    lines = ["| class | accuracy (%) | F1 (%) | test pairs |", "|---|---|---|---|"]
    for cls, scores in info.scores["per_class"].items():
        lines.append(f"| {cls} | {100 * scores['accuracy']:.1f} | {100 * scores['f1']:.1f} | {scores['n_pairs']} |")
    mean = info.scores["mean"]
    lines.append(f"| mean | {100 * mean['accuracy']:.1f} | {100 * mean['f1']:.1f} | {info.scores['n_pairs']} |")
    return "On the test pairs of the same data:\n\n" + "\n".join(lines)


def _stored(info: ModelInfo) -> str:
    stored = info.scores["stored"]
    text = f"Parameters are stored in {stored['precision']} precision and used in single precision."
    if "pairs" not in stored:
        return text + " Its effect on the scores was not measured."
    return (
        f"{text} With the stored parameters the accuracy is {100 * stored['accuracy']:.2f} %, that of the run was "
        f"{100 * stored['accuracy_of_run']:.2f} %; {stored['keypoints_matched_differently']} of {stored['keypoints']} "
        f"keypoints are matched differently, in {stored['pairs_matched_differently']} of {stored['pairs']} pairs."
    )


def _network(info: ModelInfo, config: RunConfig) -> str:
    if config.visual is None:
        return f"Method `{config.model}`, without a backbone."
    text = f"Method `{config.model}`, backbone `{config.visual.backbone}`"
    if info.backbone is None:
        return f"{text}, which is part of this file. It started from the weights `{config.visual.weights}`."
    return (
        f"{text}, frozen, which is not part of this file: it is read from the weights `{info.backbone['weights']}` "
        f"(BBGM_WEIGHTS). SHA-256 of its tensors: `{info.backbone['sha256']}`."
    )


def _limits(info: ModelInfo) -> str:
    if info.data["rendered"]:
        return (
            "This model has seen rendered toys only, never a photograph. It is for trying things out: expect mistakes "
            "on photographs, more of them the less an object and its keypoints resemble those of the toys."
        )
    return "It was trained on the classes above; expect less of other kinds of objects."


def _provenance(info: ModelInfo) -> str:
    source = info.provenance
    made = ", ".join(f"{key} {source[key]}" for key in ("commit", "finished") if source.get(key))
    versions = ", ".join(f"{name} {version}" for name, version in source.get("versions", {}).items())
    return f"Licence: {info.licence}.\n\nTrained: {made or 'unknown'}; {versions or 'versions unknown'}."
