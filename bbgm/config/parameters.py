"""The parameters of a notebook, checked before anything is computed with them.

papermill writes the parameters that it is given into a cell of their own. It only warns of a name that the notebook
does not have, and it takes ``-p seed 1.0`` for a float.
"""

import ast
import difflib
from collections.abc import Mapping
from typing import Any

INJECTED = "# Parameters"
"""How the cell begins that papermill adds."""


def check_parameters(namespace: Mapping[str, Any]) -> None:
    """Check names and types of the parameters that a notebook was given; call it with ``globals()``.

    The notebook has one cell of parameters, each written as ``name: type = value``.

    Args:
        namespace: of the notebook. ``In`` has the cells that were executed.

    Raises:
        ValueError: a name that is not a parameter, or a value of another type.
    """
    from pydantic import TypeAdapter, ValidationError

    types = dict(namespace.get("__annotations__", {}))
    faults = []
    for name in _injected(namespace.get("In", ())):
        if name not in types:
            near = difflib.get_close_matches(name, types, 1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            faults.append(f"the notebook has no parameter {name!r}, but {', '.join(types)}{hint}")
    for name, expected in types.items():
        try:
            TypeAdapter(expected).validate_python(namespace[name], strict=True)
        except ValidationError:
            kind = expected.__name__ if isinstance(expected, type) else str(expected)
            faults.append(f"parameter {name} is {namespace[name]!r}, which is not of type {kind}")
    if faults:
        raise ValueError("; ".join(faults))


def _injected(cells: Any) -> list[str]:
    """Names that the last cell of papermill's sets."""
    sources = [source for source in cells if source.startswith(INJECTED)]
    if not sources:
        return []
    assigned = [node for node in ast.parse(sources[-1]).body if isinstance(node, ast.Assign)]
    return [target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)]
