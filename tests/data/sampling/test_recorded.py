"""The test pairs are the same for any number of worker processes and on every platform."""

import hashlib
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from bbgm.config import ProtocolConfig, make_data
from bbgm.data import Dataset, sample_training_batch
from bbgm.data import test_pairs as draw_test_pairs

DATA = make_data(dataset="willow", source="original", hidden_keypoints=0.25)


def protocol(name: str) -> ProtocolConfig:
    return ProtocolConfig.model_validate({"filter": name, "test_pairs_per_class": 50})


def drawn(dataset: Dataset, name: str, cls: str) -> list[list[object]]:
    pairs = draw_test_pairs(dataset, protocol(name), cls)
    return [[pair.source.image_id, pair.target.image_id, pair.kept1.tolist(), pair.kept2.tolist()] for pair in pairs]


def work(share: list[tuple[str, str]]) -> list[list[list[object]]]:
    """What one worker does: it reads the real Willow itself, and draws after other pairs have been drawn."""
    dataset = DATA.open(ProtocolConfig())
    sample_training_batch(dataset, ProtocolConfig(), 0, 0, 0, 8)
    return [drawn(dataset, name, cls) for name, cls in share]


@pytest.mark.usefixtures("willow_folder")
def test_the_same_pairs_of_the_real_willow_for_1_2_and_4_workers() -> None:
    dataset = DATA.open(ProtocolConfig())
    tasks = [(name, cls) for name in ("intersection", "inclusion", "unfiltered") for cls in dataset.classes]
    expected = {task: drawn(dataset, *task) for task in tasks}
    assert len({json.dumps(pairs) for pairs in expected.values()}) == len(tasks)
    for n_workers in (1, 2, 4):
        shares = [tasks[first::n_workers] for first in range(n_workers)]
        with ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn")) as pool:
            for share, found in zip(shares, pool.map(work, shares), strict=True):
                assert found == [expected[task] for task in share]


GOLDEN = {
    "intersection": "60ccc433a41c0bb8",
    "inclusion": "d9bc5dbf4d55045e",
    "unfiltered": "82ec3b65a07d6d00",
}


@pytest.mark.usefixtures("willow_folder")
@pytest.mark.parametrize("name", GOLDEN)
def test_the_pairs_of_the_real_willow_are_those_of_every_other_machine(name: str) -> None:
    """Should a release of numpy draw others, this fails: runs before and after it would then not be comparable."""
    dataset = DATA.open(ProtocolConfig())
    pairs = {cls: drawn(dataset, name, cls) for cls in dataset.classes}
    assert hashlib.sha256(json.dumps(pairs).encode()).hexdigest()[:16] == GOLDEN[name]
