"""Programs of the checkout that are no part of a package."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def load_script(name: str) -> Any:
    """The module of a file, e.g. ``workflow/scripts/pages.py``.

    Its folder is not searched for other modules: `papermill.py` there would hide the package.
    """
    spec = spec_from_file_location(f"script_{Path(name).stem}", ROOT / name)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
