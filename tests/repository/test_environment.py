"""One set of packages: requirements.txt, environment.yml, pyproject.toml and the Makefile agree."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONDA_NAMES = {"pytorch": "torch"}
"""conda-forge's name of a package where it differs from the one in requirements.txt."""
CONDA_ONLY = {"python", "pip", "setuptools", "cxx-compiler", "doctest"}
"""What requirements.txt cannot name: interpreter, compiler, a C++ header."""

OUR_OWN = {"bbgm-solver", "bbgm-demo"}
"""Installed from this checkout."""

REFERENCES = {"torch-spline-conv": "SPLINE_VERSION", "pygmtools": "PYGMTOOLS_VERSION"}
"""What only tests compare with, and the Makefile's variable of its version; installed where that is possible."""


def pinned(lines: list[str]) -> dict[str, str]:
    """Names and versions of ``name==version`` lines (conda: one equals sign)."""
    pins: dict[str, str] = {}
    for line in lines:
        name, version = re.fullmatch(r"([\w.-]+)={1,2}([\w.]+)", line).groups()  # type: ignore[union-attr]
        pins[canonicalize_name(CONDA_NAMES.get(name, name))] = version
    return pins


def requirements(project: Path) -> dict[str, str]:
    lines = (line.strip() for line in (project / "requirements.txt").read_text().splitlines())
    return pinned([line for line in lines if line and not line.startswith("#")])


def conda(project: Path) -> dict[str, str]:
    dependencies = yaml.safe_load((project / "environment.yml").read_text())["dependencies"]
    plain = [item for item in dependencies if isinstance(item, str) and item.split("=")[0] not in CONDA_ONLY]
    pip = next(item["pip"] for item in dependencies if isinstance(item, dict))
    return pinned(plain + pip)


def project_table(project: Path) -> dict[str, object]:
    return tomllib.loads((project / "pyproject.toml").read_text())["project"]  # type: ignore[no-any-return]


def test_conda_environment_is_requirements_and_the_references_of_tests(project: Path) -> None:
    everything = conda(project)
    for reference in REFERENCES:
        assert everything.pop(reference)
    assert everything == requirements(project)


def test_the_renderer_is_optional_and_its_own_distribution(project: Path) -> None:
    """`pip install .` goes without it; the Makefile and environment.yml install it."""
    table = project_table(project)
    assert table["optional-dependencies"]["demo"] == ["bbgm-demo"]  # type: ignore[index]
    assert not {"bbgm-demo", "threadpoolctl"} & {Requirement(line).name for line in table["dependencies"]}  # type: ignore[attr-defined]
    for name in ("Makefile", "environment.yml"):
        assert "--editable ./demo_src" in (project / name).read_text(), name


def test_pins_satisfy_the_declared_bounds(project: Path) -> None:
    pins = conda(project)
    for folder in (project, project / "demo_src"):
        table = project_table(folder)
        extras = [line for lines in table["optional-dependencies"].values() for line in lines]  # type: ignore[attr-defined]
        for line in [*table["dependencies"], *extras]:  # type: ignore[misc]
            requirement = Requirement(line)
            if requirement.name not in OUR_OWN:
                assert pins[canonicalize_name(requirement.name)] in requirement.specifier, line


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
