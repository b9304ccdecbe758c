"""The promises of SECURITY.md that a look at the code can check; readers and archives have tests of their own."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULES = {
    *("pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "ctypes.util", "telnetlib", "pty"),
    *("xml.dom", "xml.sax", "xml.dom.minidom", "lxml", "xmlrpc"),
}
CALLS = {
    *("eval", "exec", "os.system", "os.popen", "os.execv", "os.startfile", "subprocess.getoutput", "yaml.load"),
    *(
        "yaml.unsafe_load",
        "yaml.full_load",
        "yaml.safe_load",
        "pd.read_pickle",
        "loadmat",
        "scipy.io.loadmat",
        "json.load",
    ),
    *("tempfile.mktemp", "joblib.load", "ElementTree.fromstring", "ElementTree.XML", "Xml.parse", "torch.hub.load"),
    *("torch.hub.load_state_dict_from_url", "np.fromfile", "shutil.unpack_archive", "asyncio.create_subprocess_shell"),
}
METHODS = {"extractall", "get_state_dict"}
ELSEWHERE = {  # each of these calls is in one place, which checks what it is given
    "json.loads": {
        "bbgm/base/reading/untrusted.py",
        "demo_src/bbgm_demo/trees.py",
        "demo_src/bbgm_demo/formats/voc.py",
    },
    "np.load": {"bbgm/data/readers/voc_split.py"},
    "torch.load": {"bbgm/features/weights.py"},
    "ElementTree.parse": {"bbgm/data/readers/voc_xml.py"},
    "Image.open": {"bbgm/data/images/pictures.py", "bbgm/features/pretrain.py"},
    "subprocess.run": {"bbgm/base/machine.py", "workflow/scripts/one_gpu.py"},
    "tarfile.open": {"bbgm/data/fetch/archive.py"},
    "zipfile.ZipFile": {
        *("bbgm/data/fetch/archive.py", "bbgm/scoring/predictions.py", "bbgm/features/weights.py"),
    },
    "import_module": {"bbgm/__init__.py", "bbgm/base/plugins.py", "bbgm/base/registry.py"},
}


def forbidden(tree: ast.AST, file: str) -> Iterator[str]:
    """What a module must not have, one phrase each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"import {name}" for name in names if name in MODULES or name.partition(".")[0] in MODULES)
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        options = {one.arg: ast.unparse(one.value) for one in node.keywords}
        if name in CALLS or name.rpartition(".")[2] in METHODS:
            yield name
        if file not in ELSEWHERE.get(name, {file}):
            yield f"{name} here"
        if options.get("shell", "False") != "False":
            yield f"{name} with a shell"
        if name == "torch.load" and options.get("weights_only") != "True":
            yield "torch.load without weights_only=True"
        if options.get("allow_pickle", "False") != "False" and file not in ELSEWHERE["np.load"]:
            yield f"{name} with pickles"


def sources(project: Path) -> Iterator[tuple[str, str]]:
    for folder in ("bbgm", "demo_src/bbgm_demo", "solver_src/python", "workflow/scripts"):
        for path in sorted((project / folder).rglob("*.py")):
            yield path.relative_to(project).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((project / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                yield f"notebooks/{path.name}", re.sub(r"(?m)^\s*[%!].*$", "pass", "".join(cell["source"]))


def test_no_module_unpickles_runs_a_shell_or_reads_around_the_checks(project: Path) -> None:
    found = [(file, what) for file, text in sources(project) for what in forbidden(ast.parse(text), file)]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "from xml.dom import minidom",
        "np.load(path, allow_pickle=True)",
        "np.load(path)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "subprocess.run(f'rm {name}', shell=True)",
        "os.system(name)",
        "eval(text)",
        "yaml.load(text, Loader)",
        "json.loads(path.read_text())",
        "archive.extractall(folder)",
        "Image.open(path)",
        "ElementTree.parse(path)",
    ],
)
def test_the_scan_finds_what_it_is_for(code: str) -> None:
    assert list(forbidden(ast.parse(code), "bbgm/wrong.py"))


def test_every_place_that_may_is_still_used(project: Path) -> None:
    """An exception that nothing needs would let the next one pass."""
    calls: dict[str, set[str]] = {}
    for file, text in sources(project):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                calls.setdefault(ast.unparse(node.func), set()).add(file)
    assert {
        name: files - calls.get(name, set()) for name, files in ELSEWHERE.items() if files - calls.get(name, set())
    } == {}


def test_the_rules_quote_every_path(project: Path) -> None:
    """Of the placeholders of a shell command only those of checked names, and numbers, may do without."""
    commands = [
        match[1]
        for path in sorted((project / "workflow" / "rules").glob("*.smk"))
        for match in re.finditer(r"shell:\n((?: {8}.*\n?)+)", path.read_text(encoding="utf-8"))
    ]
    assert len(commands) >= 7
    placeholders = {name for command in commands for name in re.findall(r"(?<!\{)\{([^{}]+)\}(?!\})", command)}
    assert {name for name in placeholders if not name.endswith(":q")} <= {
        *("wildcards.dataset", "wildcards.budget", "wildcards.table"),  # constrained to names that exist
    }


def test_jupyterlab_is_on_loopback_with_its_token(project: Path) -> None:
    texts = {
        path.relative_to(project).as_posix(): path.read_text(encoding="utf-8")
        for pattern in (
            "Makefile",
            "*.md",
            "*/*.md",
            ".github/workflows/*.yml",
            ".ci/run",
            "profiles/*/*",
            "environment.yml",
        )
        for path in project.glob(pattern)
        if path.is_file() and not path.is_relative_to(project / ".venv")
    }
    starts = [
        (name, line)
        for name, text in texts.items()
        for line in text.splitlines()
        if re.search(r"jupyter(lab$|lab |[ -](lab|notebook|server)\b)", line)
    ]
    assert {name for name, _ in starts} >= {"Makefile", "docs/troubleshooting.md"}
    assert [start for start in starts if "--ip=127.0.0.1" not in start[1]] == []
    wrong = (
        r"--ip[= ]['\"]?(0\.0\.0\.0|\*|::)|token\s*=\s*(''|\"\"|\s|$)|password\s*=\s*''|disable_check_xsrf|allow_origin"
    )
    assert [name for name, text in texts.items() if re.search(wrong, text)] == []


def test_security_md_says_what_is_checked(project: Path) -> None:
    text = (project / "SECURITY.md").read_text(encoding="utf-8")
    for path in re.findall(r"`(tests/[\w/.]+)`", text):
        assert (project / path).exists(), path
