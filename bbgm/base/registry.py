"""Parts of one kind by name, such as backbones: what a configuration can choose from."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from pydantic import AfterValidator

from bbgm.base.plugins import load_plugins

T = TypeVar("T")


class Registry(Generic[T]):
    """Parts of one kind by name, including those of the user's plugins, which are loaded on first use.

    Args:
        kind: what the parts are, for messages.
        key: the configuration key that names one.
        parts: by name the part itself, or "module:attribute", which is imported when the part is first asked for. So
            a configuration can be checked without importing torch.
    """

    def __init__(self, kind: str, key: str, parts: Mapping[str, "T | str"] | None = None) -> None:
        self.kind, self.key = kind, key
        self._parts: dict[str, T | str] = dict(parts or {})

    def add(self, name: str, part: "T | str") -> None:
        """Register a part.

        Raises:
            ValueError: the name is taken.
        """
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
            ValueError: there is none; the message lists the names.
        """
        self.check(name)
        part = self._parts[name] = resolve(self._parts[name])
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
