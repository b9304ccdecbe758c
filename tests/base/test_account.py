"""Programs of others without a home folder to write to, and with kernels of other Pythons."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from bbgm.base.account import FOLDERS, provide_folders, put_own_kernel_first


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The home folder, which is not there yet; no variable names another folder."""
    for name in (*FOLDERS, "JUPYTER_PATH"):
        monkeypatch.setenv(name, "")  # restored after the test, whatever is set in it
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


def found() -> dict[str, str]:
    return {name: os.environ[name] for name in FOLDERS if name in os.environ}


def test_nothing_changes_with_a_home_folder(home: Path) -> None:
    home.mkdir()
    provide_folders()
    assert found() == {}
    assert list(home.iterdir()) == []


def test_without_a_home_folder_they_are_below_the_cache(home: Path, tmp_path: Path) -> None:
    instead = tmp_path / "cache" / f"home-{os.getuid()}"
    provide_folders()
    assert found() == {name: str(instead / below) for name, below in FOLDERS.items()}
    assert not home.exists()
    provide_folders()  # in a process that this one starts
    assert found() == {name: str(instead / below) for name, below in FOLDERS.items()}


def test_only_what_cannot_be_written_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home.mkdir()
    (home / ".config").write_text("a file, where a folder is expected")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "mine"))
    provide_folders()
    instead = tmp_path / "cache" / f"home-{os.getuid()}" / FOLDERS["MPLCONFIGDIR"]
    assert found() == {"MPLCONFIGDIR": str(instead), "IPYTHONDIR": str(tmp_path / "mine")}


def test_without_a_cache_they_are_temporary(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    provide_folders()
    places = {Path(found()[name]).relative_to(tmp_path).parts[0] for name in FOLDERS}
    assert len(places) == 1
    assert places.pop().startswith("bbgm-home-")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_home_folder_that_may_only_be_read(home: Path) -> None:
    home.mkdir(mode=0o500)
    provide_folders()
    assert found().keys() == FOLDERS.keys()


@pytest.fixture
def other_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A kernel of the name python3 that does not run, where Jupyter looks first and where it looks second."""
    folder = tmp_path / "other"
    (folder / "kernels" / "python3").mkdir(parents=True)
    kernel = {"argv": ["/bin/false", "{connection_file}"], "display_name": "Python 3", "language": "python"}
    (folder / "kernels" / "python3" / "kernel.json").write_text(json.dumps(kernel))
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(folder))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    return folder


def test_the_own_kernel_comes_first(other_kernel: Path) -> None:
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == "/bin/false"
    put_own_kernel_first()
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] in ("python", sys.executable)
    expected = os.pathsep.join([str(Path(sys.prefix) / "share" / "jupyter"), str(other_kernel)])
    put_own_kernel_first()
    assert os.environ["JUPYTER_PATH"] == expected


def test_the_tests_of_notebooks_take_the_own_kernel(other_kernel: Path) -> None:
    assert NbvalKernelspecManager().get_kernel_spec(CURRENT_ENV_KERNEL_NAME).argv[0] == sys.executable


def test_a_module_is_run_as_by_python(other_kernel: Path) -> None:
    """Jupyter, asked by its own command where it looks for kernels."""
    command = [sys.executable, "-m", "bbgm.base.account", "jupyter_core", "--paths", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(done.stdout)["data"][0] == str(Path(sys.prefix) / "share" / "jupyter")
