"""What programs of others take from the user's account, and what they get if the account does not fit.

1. Snakemake, Jupyter, IPython and matplotlib write to folders below the home folder. Where they cannot, e.g. in a
   container whose home is read-only, they get folders below the cache, or temporary ones.
2. Jupyter looks for a kernel by its name, in ``JUPYTER_PATH`` first. Every Python calls its kernel ``python3``, so a
   notebook may be run by another Python, without this project. The kernel of this Python is put first.

``python -m bbgm.base.account MODULE ...`` runs a module of this Python with both, as ``python -m MODULE ...`` would.
"""

import atexit
import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

from bbgm.base.paths import cache_root

FOLDERS = {
    "XDG_CACHE_HOME": ".cache",
    "MPLCONFIGDIR": ".config/matplotlib",
    "IPYTHONDIR": ".ipython",
    "JUPYTER_CONFIG_DIR": ".jupyter",
    "JUPYTER_DATA_DIR": ".local/share/jupyter",
}
"""Variables that move the folders which programs write to, and where below the home folder these are without them."""


def provide_folders() -> None:
    """Set the variables in `FOLDERS` whose folder cannot be written to, for this process and those that it starts."""
    home = Path(os.path.expanduser("~"))
    wanted = {name: Path(os.environ.get(name) or home / below) for name, below in FOLDERS.items()}
    refused = [name for name, folder in wanted.items() if not _writable(folder, home)]
    if refused:
        instead = _replacement()
        os.environ |= {name: str(instead / FOLDERS[name]) for name in refused}


def _writable(folder: Path, home: Path) -> bool:
    """Whether files can be made in a folder, which is made for them if its home is there."""
    if folder.is_relative_to(home) and not os.path.isdir(home):
        return False
    there = next(parent for parent in (folder, *folder.absolute().parents) if os.path.exists(parent))
    return os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK)


def _replacement() -> Path:
    """A folder of this user below the cache; a temporary one if the cache cannot be written to, or is unknown."""
    try:
        folder = cache_root() / f"home-{os.getuid()}"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except (OSError, ValueError):  # a command that needs the cache reports it
        pass
    temporary = tempfile.mkdtemp(prefix="bbgm-home-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def put_own_kernel_first() -> None:
    """Let Jupyter find the kernel of this Python first, in this process and those that it starts."""
    own = str(Path(sys.prefix) / "share" / "jupyter")
    others = [path for path in os.environ.get("JUPYTER_PATH", "").split(os.pathsep) if path and path != own]
    os.environ["JUPYTER_PATH"] = os.pathsep.join([own, *others])


def put_own_programs_first() -> None:
    """Let processes that this one starts find the programs of this Python first, also if it is not activated."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


if __name__ == "__main__":
    provide_folders()
    put_own_kernel_first()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
