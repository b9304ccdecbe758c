"""What the paper does not say: complete, and its options are options."""

from typing import Any

import pytest
import yaml

from bbgm.config import make_run
from bbgm.published.unsaid import AS_CODE, load_unsaid, unsaid_table

OPTIONS = sorted({option for frame in load_unsaid().values() for option in frame["option"]} - {""})


def settings(option: str) -> dict[str, Any]:
    """``network.affinity: fixed`` as the mapping that a configuration file has."""
    path, _, value = option.partition(": ")
    content = yaml.safe_load(value)
    for key in reversed(path.split(".")):
        content = {key: content}
    model = "dgmc" if path.startswith("dgmc.") else "bbgm"
    return {"method": "x", "title": "x", "budget": "paper", "seed": 0, "model": model, **content}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_exists_and_is_not_the_default(option: str) -> None:
    content = settings(option)
    data = content.setdefault("data", {})
    section, key = option.partition(":")[0].split(".")
    if section == "data":
        data.update(dataset="voc", source="original")
    plain = {**content, section: {name: value for name, value in content[section].items() if name != key}}
    assert make_run(content) != make_run(plain)


def test_every_entry_says_what_the_code_does_and_none_is_there_twice() -> None:
    topics = load_unsaid()
    assert list(topics) == ["network", "solver", "training", "data", "evaluation", "ablations", "dgmc"]
    for frame in topics.values():
        assert (frame[["what", "code", "here"]] != "").all(axis=None)
        assert frame["what"].is_unique
        unknown = frame["code"].str.startswith("not released")
        assert (frame.loc[unknown, "here"] != AS_CODE).all()


def test_a_topic_is_a_markdown_table_with_one_line_an_entry() -> None:
    for topic, frame in load_unsaid().items():
        lines = unsaid_table(topic).splitlines()
        assert len(lines) == 2 + len(frame)
        assert {line.count("|") for line in lines} == {6}
    with pytest.raises(ValueError, match="'gossip' is not one of"):
        unsaid_table("gossip")
