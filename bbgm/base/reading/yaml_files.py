"""YAML files that hold one mapping."""

from pathlib import Path
from typing import Any

import yaml

from bbgm.base.reading.foreign import without_companions
from bbgm.base.reading.untrusted import repeated

LONGEST, MOST_VALUES, DEEPEST = 2**18, 100_000, 50
"""Bytes of a file; values that it may have with its aliases written out, and levels of them. Configurations have some
thousand bytes and eight levels."""
_TOO_DEEP = f"its values are nested more than {DEEPEST} levels deep"


class _Loader(yaml.SafeLoader):
    """Refuses a key that occurs twice, where YAML's readers silently take the last one, and what is nested too deep.

    PyYAML's time grows with the square of the depth.
    """

    level = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.level += 1
        if self.level > DEEPEST:
            raise ValueError(_TOO_DEEP)
        node = super().compose_node(parent, index)
        self.level -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        if twice := repeated(key.value for key, _ in node.value if isinstance(key.value, str)):
            raise yaml.constructor.ConstructorError(None, None, f"key {twice[0]!r} occurs twice", node.start_mark)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        ValueError: the file does not exist (the error lists its neighbours), is not YAML, holds no mapping, or more
            than a configuration can: aliases of aliases make billions of values of a few lines.
    """
    if not path.is_file():
        known = [file.stem for file in without_companions(path.parent.glob("*.yaml"))]
        raise ValueError(f"no configuration {path}: {path.stem!r} is not one of {known}")
    try:
        content = parse_yaml(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} is not valid YAML: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a mapping of keys to values, not a {type(content).__name__}")
    return content


def parse_yaml(content: bytes) -> Any:
    """The content of a YAML text, plain values only.

    Raises:
        ValueError: it is not valid, or beyond the limits.
    """
    if len(content) > LONGEST:
        raise ValueError(f"it has {len(content)} bytes, more than the {LONGEST} of the largest configuration")
    try:
        loader = _Loader(content.decode("utf-8-sig"))
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _measure(node, {}, 1)  # before the values are made, because merge keys write them out
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except Exception as error:  # besides its own errors PyYAML raises about ten types, for dates and tags among others
        raise ValueError(str(error) or type(error).__name__) from error


def _measure(node: yaml.Node, known: dict[yaml.Node, int], level: int) -> int:
    """How many values a node has with aliases written out."""
    if known.get(node) == 0:
        raise ValueError("an alias stands for something that contains it")
    if level > DEEPEST:
        raise ValueError(_TOO_DEEP)
    if node in known or not isinstance(node, yaml.CollectionNode):
        return known.get(node, 1)
    known[node] = 0
    parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
    count = 1 + sum(_measure(part, known, level + 1) for part in parts)
    if count > MOST_VALUES:
        raise ValueError(f"with its aliases written out it has more than {MOST_VALUES} values")
    known[node] = count
    return count
