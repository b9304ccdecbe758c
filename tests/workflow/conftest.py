"""A checkout to run Snakemake in."""

from pathlib import Path

import pytest

from tests.support.checkout import copy_checkout


@pytest.fixture(scope="module")
def checkout(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the workflow's files without any result."""
    folder = tmp_path_factory.mktemp("checkout")
    copy_checkout(project, folder)
    return folder
