"""The pipeline's papermill: which Python runs a notebook, signals, killed kernels and parents, ports in use.

Each test starts real kernels.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

SCRIPT = Path(__file__).parents[2] / "workflow/scripts/papermill.py"
PID = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid()))"
CELL = "import sys\nimport matplotlib.pyplot\nimport bbgm_solver\nsys.executable"
WAIT = f"{PID}; time.sleep(100)"
STOPPABLE = f"from bbgm.base.stopping import terminable\nwith terminable(): {PID}; time.sleep(100)"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts papermill on a notebook of one cell, in a folder of its own with its own folder of temporary files."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, program: tuple[str, ...] = (str(SCRIPT),), **variables: str) -> "subprocess.Popen[str]":
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        nbformat.write(notebook, tmp_path / "in.ipynb")
        (tmp_path / "tmp").mkdir(exist_ok=True)
        command = [sys.executable, *program, "in.ipynb", "out.ipynb", "--kernel", "python3", "--no-progress-bar"]
        process = subprocess.Popen(
            [*command, "--log-output"],
            cwd=tmp_path,
            env={
                **os.environ,
                "TMPDIR": str(tmp_path / "tmp"),
                "JUPYTER_RUNTIME_DIR": str(tmp_path / "run"),
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _kernel(folder: Path) -> int:
    """The process id that the notebook's cell has written."""
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        time.sleep(0.02)
    return int((folder / "pid").read_text())


def _ends(pid: int) -> bool:
    """Whether a process ends within a minute."""
    until = time.time() + 60
    while time.time() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text():
            return True
        time.sleep(0.02)
    return False


def _leftovers(folder: Path) -> list[str]:
    return [path.name for name in ("tmp", "run") for path in (folder / name).glob("*")]


@pytest.mark.slow
def test_a_signal_is_passed_on_and_named_by_the_status(start: Start, tmp_path: Path) -> None:
    for signum, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        process = start(STOPPABLE)
        kernel = _kernel(tmp_path)
        process.send_signal(signum)
        output = process.communicate()[0]
        assert process.returncode == status, output
        assert "papermill: stopped; a run resumes where it was" in output
        assert _ends(kernel)
        assert _leftovers(tmp_path) == []
        (tmp_path / "pid").unlink()


@pytest.mark.slow
def test_a_kernel_that_sigterm_reaches_first_gives_the_same_status(start: Start, tmp_path: Path) -> None:
    process = start(STOPPABLE)
    os.kill(_kernel(tmp_path), signal.SIGTERM)
    output = process.communicate()[0]
    assert process.returncode == 143, output
    assert "papermill: stopped by SIGTERM" in output


@pytest.mark.slow
def test_a_killed_kernel_is_explained(start: Start, tmp_path: Path) -> None:
    process = start(WAIT)
    os.kill(_kernel(tmp_path), signal.SIGKILL)
    output = process.communicate()[0]
    assert process.returncode == 138, output
    assert "the kernel was killed (SIGKILL), most likely because the memory ran out (this machine has" in output
    assert "snakemake --cores 1" in output
    assert _leftovers(tmp_path) == []


@pytest.mark.slow
def test_the_kernel_ends_with_papermill_and_papermill_with_snakemake(start: Start, tmp_path: Path) -> None:
    killed = start(WAIT)
    kernel = _kernel(tmp_path)
    killed.kill()
    assert _ends(kernel)
    assert len(_leftovers(tmp_path)) == 1
    (tmp_path / "pid").unlink()
    old = time.time() - 60
    os.utime(next((tmp_path / "tmp").iterdir()), (old, old))

    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as workflow:
        process = start(WAIT, BBGM_WORKS_FOR=str(workflow.pid))
        kernel = _kernel(tmp_path)
        workflow.kill()
        assert process.wait(60) == 1
        assert _ends(kernel)
    assert _leftovers(tmp_path) == []  # nor is what the killed one left


COLLISION = """
import importlib.util, socket, sys
spec = importlib.util.spec_from_file_location("job", {script!r})
job = importlib.util.module_from_spec(spec)
spec.loader.exec_module(job)
taken = socket.socket()
taken.bind(("127.0.0.1", 0))
taken.listen()
starts = []

class Colliding(job.Kernel):
    async def start_kernel(self, **settings):
        starts.append(1)
        if len(starts) <= {collisions}:
            self.cache_ports, self.shell_port = False, taken.getsockname()[1]
        await super().start_kernel(**settings)

job.has_sockets = lambda folder: False
make_engine = job.make_engine
job.make_engine = lambda own: make_engine(own, Colliding)
status = job.main()
print("starts:", len(starts))
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.parametrize("collisions", [1, 9])
def test_a_kernel_whose_port_is_in_use_is_started_again(start: Start, tmp_path: Path, collisions: int) -> None:
    """On a system without sockets in folders; after some attempts the error is reported."""
    program = COLLISION.format(script=str(SCRIPT), collisions=collisions)
    process = start("print(40 + 2)", program=("-c", program))
    output = process.communicate()[0]
    assert "papermill: another program took the kernel's port; starting it again" in output
    if collisions == 1:
        assert process.returncode == 0, output
        assert "starts: 2" in output
        assert nbformat.read(tmp_path / "out.ipynb", 4).cells[0].outputs[0].text == "42\n"
    else:
        assert process.returncode == 1, output
        assert "Address already in use" in output
    assert _leftovers(tmp_path) == []


@pytest.mark.slow
def test_other_errors_are_not_repeated(start: Start, tmp_path: Path) -> None:
    process = start("open('n', 'a').write('x'); raise ValueError('the reason')")
    output = process.communicate()[0]
    assert process.returncode == 1, output
    assert "ValueError: the reason" in output
    assert (tmp_path / "n").read_text() == "x"
    assert _leftovers(tmp_path) == []


@pytest.mark.slow  # starts a kernel and imports matplotlib: 5 s
def test_this_python_runs_a_notebook_without_a_home_folder(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is called python3; and nothing complains in the notebook."""
    (tmp_path / "kernels" / "python3").mkdir(parents=True)
    kernel = {"argv": ["/bin/false", "{connection_file}"], "display_name": "Python 3", "language": "python"}
    (tmp_path / "kernels" / "python3" / "kernel.json").write_text(json.dumps(kernel))
    for variable in ("JUPYTER_PATH", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    for variable in ("MPLCONFIGDIR", "IPYTHONDIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = v4.new_notebook(cells=[v4.new_code_cell(CELL)], metadata={"kernelspec": kernelspec})
    nbformat.write(notebook, tmp_path / "in.ipynb")
    command = [sys.executable, str(project / "workflow/scripts/papermill.py"), "in.ipynb", "out.ipynb"]
    done = subprocess.run(
        [*command, "--kernel", "python3", "--no-progress-bar"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outputs = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells[0].outputs
    assert [output.output_type for output in outputs] == ["execute_result"], outputs
    assert outputs[0].data["text/plain"] == repr(sys.executable)
    assert not (tmp_path / "home").exists()


def test_a_widget_is_stored_as_its_picture(start: Start, tmp_path: Path) -> None:
    """Neither its state nor a reference to it: a viewer without the kernel would look for its program elsewhere."""
    code = (
        "from bbgm.plotting import new_figure\nfrom bbgm.widgets import Frames\n"
        "Frames([('one', new_figure(1, 1))], title='figure')"
    )
    process = start(code)
    assert process.wait(120) == 0
    notebook = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    (output,) = notebook.cells[0].outputs
    assert sorted(output.data) == ["image/png", "text/plain"]
    assert "widgets" not in notebook.metadata
