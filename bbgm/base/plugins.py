"""Plugins: the user's own modules, which register further parts (`bbgm.config.parts`).

``plugins: [my_module, folder/other.py]`` in ``config/config.yaml`` names them. ``BBGM_PLUGINS`` replaces that list; the
command line's ``--plugin`` and the workflow set it. A name is the path of a file, or that of a module, which may also
be in the project's folder.
"""

import os
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from bbgm.base.paths import project_root
from bbgm.base.reading.yaml_files import parse_yaml

VARIABLE = "BBGM_PLUGINS"
_loaded: set[str] = set()
_failed: dict[str, str] = {}


def plugin_names() -> list[str]:
    """The chosen plugins: those in ``BBGM_PLUGINS``, else those that ``config/config.yaml`` lists.

    Raises:
        ValueError: the file does not hold a list of names.
    """
    if VARIABLE in os.environ:
        return [name for name in os.environ[VARIABLE].split(os.pathsep) if name]
    try:
        file = project_root() / "config" / "config.yaml"
        return _listed(file, file.stat().st_mtime_ns)
    except OSError:  # no project here
        return []


@cache
def _listed(file: Path, _version: int) -> list[str]:
    """The plugins that a file lists; read once as long as it does not change."""
    try:
        content = parse_yaml(file.read_bytes())
    except ValueError:  # the reader of the file reports what is wrong with it
        return []
    return check_names(content.get("plugins") if isinstance(content, dict) else None)


def check_names(names: object) -> list[str]:
    """A list of names, or an empty one for None.

    Raises:
        ValueError: it is something else.
    """
    names = [] if names is None else names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"config.yaml: plugins is {names!r}, expected a list of modules or files")
    return list(names)


def choose_plugins(names: list[str]) -> None:
    """Load these from now on, here and in every process that this one starts; files relative to the working folder.

    Raises:
        ValueError: a path holds the character that separates paths in variables.
    """
    chosen = [str(Path(name).expanduser().resolve()) if name.endswith(".py") else name for name in names]
    if wrong := next((name for name in chosen if os.pathsep in name), None):
        raise ValueError(f"plugin {wrong!r} has a {os.pathsep!r} in its path: move the file to a folder without one")
    os.environ[VARIABLE] = os.pathsep.join(chosen)


def load_plugins() -> None:
    """Import the chosen plugins that are not imported yet.

    Raises:
        ValueError: one of them does not exist or fails.
    """
    for name in plugin_names():
        if name in _failed:  # it may have registered some of its parts: a second attempt would complain of those
            raise ValueError(_failed[name])
        if name not in _loaded:
            _loaded.add(name)  # before the import, because a plugin uses the registries too
            try:
                _load(name)
            except (Exception, SystemExit) as error:
                _failed[name] = (
                    f"plugin {name!r} cannot be loaded ({type(error).__name__}: {error}): correct it, or remove it "
                    f"from 'plugins' in config/config.yaml, {VARIABLE} or --plugin"
                )
                raise ValueError(_failed[name]) from error


def _load(name: str) -> None:
    root = _root()
    if not name.endswith(".py"):
        if str(root) not in sys.path:
            sys.path.append(str(root))
        import_module(name)
        return
    path = Path(name).expanduser()
    path = path if path.is_absolute() else root / path
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    key = f"bbgm_plugin_{path.stem}"
    spec = spec_from_file_location(key, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[key] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[key]
        raise


def _root() -> Path:
    try:
        return project_root()
    except FileNotFoundError:
        return Path.cwd()
