"""Parts of one kind by name, such as backbones: what a configuration can choose from."""

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from pydantic import AfterValidator

from bbgm.base.plugins import load_plugins

T = TypeVar("T")
NAME = re.compile("[a-z0-9_]+")


class Registry(Generic[T]):
    """Parts of one kind by name, including those of the user's plugins, which are loaded on first use.

    Args:
        kind: what the parts are, for messages.
        key: the configuration key that names one.
        base: the class whose subclasses the parts are, or "module:attribute"; None: they are functions.
        parts: by name the part itself, or "module:attribute", which is imported when the part is first asked for. So
            a configuration can be checked without importing torch.
    """

    def __init__(self, kind: str, key: str, base: Any = None, parts: Mapping[str, "T | str"] | None = None) -> None:
        self.kind, self.key, self._base = kind, key, base
        self._parts: dict[str, T | str] = dict(parts or {})

    def add(self, name: str, part: "T | str") -> None:
        """Register a part.

        Raises:
            ValueError: the name is taken, or is not one of lower-case letters, digits and underscores.
        """
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(
                f"{self.kind} {name!r} cannot be registered: use lower-case letters, digits and underscores"
            )
        if self._parts.get(name, part) != part:
            raise ValueError(
                f"{self.kind} {name!r} is registered already, as {self._parts[name]!r}: choose another name"
            )
        self._parts[name] = part

    def names(self) -> tuple[str, ...]:
        """All names, in the order of registration."""
        load_plugins()
        return tuple(self._parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __getitem__(self, name: str) -> T:
        """The part of this name.

        Raises:
            ValueError: there is none, and the message lists the names; or what was registered cannot be imported or is
                of another kind.
        """
        self.check(name)
        given = self._parts[name]
        try:
            part = resolve(given)
            base = resolve(self._base)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"{self.kind} {name!r} is registered as {given!r}, which fails: {error}") from error
        if base is None and not callable(part):
            raise ValueError(f"{self.kind} {name!r} is registered as {given!r}: register a function")
        if base is not None and not (isinstance(part, type) and issubclass(part, base)):
            raise ValueError(f"{self.kind} {name!r} is registered as {given!r}: register a subclass of {base.__name__}")
        self._parts[name] = part
        return part

    def check(self, name: Any) -> str:
        """The name, if it is registered.

        Raises:
            ValueError: it is not; the message lists the names.
        """
        if not isinstance(name, str) or name not in self.names():
            raise ValueError(f"{self.kind} {name!r} is not one of {list(self.names())} ({self.key})")
        return name


def resolve(part: T | str) -> T:
    """The part itself, imported if it is given as "module:attribute"."""
    if not isinstance(part, str):
        return part
    module, _, attribute = part.partition(":")
    return cast(T, getattr(import_module(module), attribute))


def name_in(registry: Registry[Any]) -> Callable[[str], str]:
    """A validator for a configuration key that names a part: ``Annotated[str, name_in(BACKBONES)]``."""

    def check(name: str) -> str:
        if name not in registry:
            raise ValueError(f"not one of {list(registry.names())}")
        return name

    return cast(Callable[[str], str], AfterValidator(check))
