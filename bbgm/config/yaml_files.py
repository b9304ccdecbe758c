"""YAML files that hold one mapping."""

from pathlib import Path
from typing import Any

import yaml

from bbgm.base.foreign import without_companions


class _Loader(yaml.SafeLoader):
    """Refuses a key that occurs twice, where YAML's readers silently take the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if twice := [key for key in keys if isinstance(key, str) and keys.count(key) > 1]:
            raise yaml.constructor.ConstructorError(None, None, f"key {twice[0]!r} occurs twice", node.start_mark)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        ValueError: the file does not exist (the error lists its neighbours), is not YAML or holds no mapping.
    """
    if not path.is_file():
        known = [file.stem for file in without_companions(path.parent.glob("*.yaml"))]
        raise ValueError(f"no configuration {path}: {path.stem!r} is not one of {known}")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not valid YAML: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a mapping of keys to values, not a {type(content).__name__}")
    return content
