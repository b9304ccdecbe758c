"""The parameters of a notebook, checked before anything is computed with them.

:func:`check_parameters` looks at their names and types, and at values that are known in advance; :func:`choose` is for
those that depend on the data, such as the number of a class.

papermill writes the parameters that it is given into a cell of their own. It only warns of a name that the notebook
does not have, and it takes ``-p seed 1.0`` for a float.
"""

import ast
import difflib
from collections.abc import Container, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

INJECTED = "# Parameters"
"""How the cell begins that papermill adds."""


def check_parameters(namespace: Mapping[str, Any], **allowed: Container[Any]) -> None:
    """Check names, types and values of the parameters that a notebook was given; call it with ``globals()``.

    The notebook has one cell of parameters, each written as ``name: type = value``.

    Args:
        namespace: of the notebook. ``In`` has the cells that were executed.
        allowed: by the name of a parameter, the values that it can have, e.g. ``size=range(3, 17)``.

    Raises:
        ValueError: a name that is not a parameter, a value of another type, or one that is not allowed.
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
        else:
            if name in allowed and namespace[name] not in allowed[name]:
                faults.append(f"parameter {name} is {namespace[name]!r}: give {_described(allowed[name])}")
    if faults:
        raise ValueError("; ".join(faults))


def choose(choices: Sequence[T], **parameter: Any) -> T:
    """The choice that a parameter names: by its position, if it is an integer, or as such.

    Args:
        choices: what there is.
        parameter: one, as ``name=value``.

    Raises:
        ValueError: there is no such choice.
    """
    ((name, value),) = parameter.items()
    if isinstance(value, int):
        if 0 <= value < len(choices):
            return choices[value]
        allowed = f"0 to {len(choices) - 1}"
        if not isinstance(choices, range):
            allowed += f" ({', '.join(f'{k} = {choice}' for k, choice in enumerate(choices))})"
    else:
        if value in choices:
            return choices[choices.index(value)]
        allowed = _described(choices)
    raise ValueError(f"parameter {name} is {value!r}: give {allowed}")


def _described(allowed: Any) -> str:
    return f"{allowed[0]} to {allowed[-1]}" if isinstance(allowed, range) else f"one of {', '.join(map(str, allowed))}"


def _injected(cells: Any) -> list[str]:
    """Names that the last cell of papermill's sets."""
    sources = [source for source in cells if source.startswith(INJECTED)]
    if not sources:
        return []
    assigned = [node for node in ast.parse(sources[-1]).body if isinstance(node, ast.Assign)]
    return [target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)]
