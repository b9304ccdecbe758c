"""Files for publishing: the descriptions of this software agree, containers install the lock, badges are true."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

README_BEFORE_SOLVER = 60
"""Lines that a reader may have to scroll through before the section about the solver."""


def read_json(project: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((project / name).read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def citation(project: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((project / "CITATION.cff").read_text(encoding="utf-8"))
    return content


def test_zenodo_says_what_the_citation_says(project: Path, citation: dict[str, Any]) -> None:
    zenodo = read_json(project, ".zenodo.json")
    assert [zenodo[key] for key in ("title", "version", "license")] == [
        citation[key] for key in ("title", "version", "license")
    ]
    assert [one["name"] for one in zenodo["creators"]] == [one["name"] for one in citation["authors"]]
    assert zenodo["keywords"] == citation["keywords"]
    paper = citation["preferred-citation"]
    (reference,) = zenodo["references"]
    assert paper["title"] in reference
    assert str(paper["year"]) in reference
    assert all(author["family-names"] in reference for author in paper["authors"])


def test_codemeta_says_what_the_citation_says(project: Path, citation: dict[str, Any]) -> None:
    codemeta = read_json(project, "codemeta.json")
    assert (codemeta["@context"], codemeta["@type"]) == ("https://w3id.org/codemeta/3.0", "SoftwareSourceCode")
    assert (codemeta["name"], codemeta["version"]) == (citation["title"], citation["version"])
    assert codemeta["license"].rsplit("/", 1)[1] == citation["license"]
    assert [one["name"] for one in codemeta["author"]] == [one["name"] for one in citation["authors"]]
    assert codemeta["keywords"] == citation["keywords"]
    paper, printed = codemeta["referencePublication"], citation["preferred-citation"]
    assert (paper["name"], paper["datePublished"]) == (printed["title"], str(printed["year"]))
    assert [(one["givenName"], one["familyName"]) for one in paper["author"]] == [
        (one["given-names"], one["family-names"]) for one in printed["authors"]
    ]
    assert paper["isPartOf"]["name"] == printed["conference"]["name"]
    for key in ("softwareRequirements", "readme"):
        assert (project / codemeta[key]).is_file()


def test_the_package_has_their_version_and_description(project: Path) -> None:
    package = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    codemeta = read_json(project, "codemeta.json")
    assert (codemeta["version"], codemeta["description"]) == (package["version"], package["description"])
    assert package["license"] == "MIT"
    assert package["description"] in read_json(project, ".zenodo.json")["description"]


def supported(project: Path) -> list[str]:
    """The Pythons that the tests run with."""
    tests = yaml.safe_load((project / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    pythons: list[str] = tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    return pythons


@pytest.mark.parametrize("name", ["python", "licence"])
def test_badges_are_true(project: Path, citation: dict[str, Any], name: str) -> None:
    said = {"python": ["Python", ", ".join(supported(project))], "licence": ["licence", citation["license"]]}[name]
    root = ElementTree.parse(project / "docs" / "badges" / f"{name}.svg").getroot()
    assert [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")] == said
    assert root.get("aria-label") == ": ".join(said)


def test_badges_of_workflows_name_workflows(project: Path) -> None:
    text = (project / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\.\./\.\./actions/workflows/([\w.]+)", text)
    assert named
    assert [name for name in named if not (project / ".github/workflows" / name).is_file()] == []


def test_the_readme_comes_to_the_point(project: Path) -> None:
    lines = (project / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines.index("## Only the solver") <= README_BEFORE_SOLVER


def test_containers_and_binder_install_the_lock(project: Path) -> None:
    docker = (project / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes --requirement requirements.lock" in docker
    definition = (project / "apptainer.def").read_text(encoding="utf-8")
    assert re.search(r"^%post\n(?:    .*\n)*    make setup\n", definition, re.MULTILINE)
    base = re.search(r"^FROM (\S+)$", docker, re.MULTILINE)
    assert base
    assert f"From: {base[1]}\n" in definition
    assert base[1].removeprefix("python:").startswith(supported(project)[0])
    binder = project / ".binder"
    (line,) = [line for line in (binder / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert (binder / line.removeprefix("-r ")).resolve() == project / "requirements.lock"
    assert (binder / "runtime.txt").read_text().strip() == f"python-{supported(project)[0]}"


def test_what_the_image_leaves_out_is_what_git_ignores(project: Path) -> None:
    listed = (project / ".dockerignore").read_text().splitlines()
    names = [line for line in listed if line and not line.startswith("#") and "*" not in line]
    for name in (".venv", "results", "cache", "data", "weights", "build"):
        assert name in names
    ignored = subprocess.run(["git", "ls-files", *names], cwd=project, capture_output=True, text=True, check=False)
    assert ignored.stdout == "", "tracked files would be missing in the image"


HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_hadolint_finds_nothing(project: Path) -> None:
    done = subprocess.run([str(HADOLINT), "Dockerfile"], cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_scripts_of_binder_and_apptainer_are_valid(project: Path) -> None:
    definition = (project / "apptainer.def").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^%(\w+)\n((?:    .*\n|\n)*)", definition, re.MULTILINE))
    assert sections.keys() == {"help", "files", "post", "environment", "runscript", "test", "labels"}
    scripts = {"postBuild": (project / ".binder/postBuild").read_text()}
    scripts |= {name: sections[name] for name in ("post", "environment", "runscript", "test")}
    for name, script in scripts.items():
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), name


def test_the_workflow_catalogue_finds_its_layout(project: Path) -> None:
    """What its page on standardised workflows asks for."""
    usage = yaml.safe_load((project / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["mandatory-flags"].keys() == {"desc", "flags"}
    assert usage["report"] is True
    for name in ("README.md", "LICENSE", "Snakefile", "config/README.md", "config/config.yaml", "workflow/rules"):
        assert (project / name).exists(), name
