"""The cache of a frozen backbone's features."""

import multiprocessing

import numpy as np
import pytest
import torch
from PIL import Image

from bbgm.base.atomic import try_lock
from bbgm.config import BackboneConfig
from bbgm.data.images.keypoints import KeypointImage
from bbgm.features.backbone import Backbone, make_backbone
from bbgm.features.cache import FeatureCache, compute_features


def make_image(folder, name="a", seed=0, keypoints=5):
    rng = np.random.default_rng(seed)
    path = folder / f"{name}.png"
    Image.fromarray(rng.integers(256, size=(60, 80, 3), dtype=np.uint8)).save(path)
    names = tuple(f"k{i}" for i in range(keypoints))
    return KeypointImage(f"Car/{name}", "Car", path, (80, 60), names, rng.uniform(0, 256, (keypoints, 2)))


def make_frozen(seed=0):
    torch.manual_seed(seed)
    return make_backbone(BackboneConfig(backbone="small", weights="random", freeze_backbone=True))


def files(root):
    return sorted(root.rglob("*.safetensors"))


class Refusing(Backbone):
    """A backbone that fails when it is asked to compute."""

    frozen = True

    def __init__(self, other):
        super().__init__()
        self.load = other
        self.node_channels, self.global_channels = other.node_channels, other.global_channels

    def state_dict(self, *arguments, **keywords):
        return self.load.state_dict(*arguments, **keywords)

    def forward(self, images):
        raise AssertionError("the features were to come from the disk")


@pytest.fixture
def image(tmp_path):
    return make_image(tmp_path)


def test_features_come_from_the_disk_the_second_time(tmp_path, image):
    backbone = make_frozen()
    nodes, pooled = FeatureCache(backbone, "small", tmp_path).features(image)
    assert nodes.shape == (5, backbone.node_channels)
    assert pooled.shape == (backbone.global_channels,)
    assert nodes.dtype == pooled.dtype == torch.float32
    with torch.no_grad():
        expected = compute_features(backbone, [image])[0]
    again = FeatureCache(Refusing(backbone), "small", tmp_path).features(image)
    for a, b, c in zip(expected, (nodes, pooled), again, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, c)


def test_key_covers_everything_that_features_depend_on(tmp_path, image):
    def count(image, backbone=None):
        FeatureCache(backbone or make_frozen(), "small", tmp_path).features(image)
        return len(files(tmp_path))

    assert count(image) == 1
    assert count(image) == 1
    moved = KeypointImage(image.image_id, "Car", image.path, image.size, image.names, image.xy + 1)
    assert count(moved) == 2
    assert count(image, make_frozen(seed=1)) == 3
    make_image(tmp_path, seed=0)
    assert count(image) == 3  # written again with the same bytes
    Image.fromarray(np.zeros((60, 80, 3), dtype=np.uint8)).save(image.path)
    assert count(KeypointImage(image.image_id, "Car", image.path, image.size, image.names, image.xy)) == 4


def test_features_of_length_one_and_raw_ones_are_kept_apart(tmp_path, image):
    backbone = make_frozen()
    for unit in (True, False):
        expected = compute_features(backbone, [image], unit)[0]
        for _ in range(2):
            found = FeatureCache(backbone, "small", tmp_path, unit=unit).features(image)
            assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert len(files(tmp_path)) == 2


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "other"])
def test_broken_file_is_computed_again(tmp_path, image, damage):
    backbone = make_frozen()
    expected = FeatureCache(backbone, "small", tmp_path).features(image)
    (path,) = files(tmp_path)
    content: bytes = path.read_bytes()
    if damage == "truncate":
        content = content[: len(content) // 2]
    elif damage == "flip":
        content = content[:-10] + bytes([content[-10] ^ 1]) + content[-9:]
    elif damage == "empty":
        content = b""
    else:
        content = b"not a safetensors file at all"
    path.write_bytes(content)
    found = FeatureCache(backbone, "small", tmp_path).features(image)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    again = FeatureCache(Refusing(backbone), "small", tmp_path).features(image)
    assert all(torch.equal(a, b) for a, b in zip(expected, again, strict=True))


def test_half_written_files_of_killed_processes_go(tmp_path, image):
    backbone = make_frozen()
    FeatureCache(backbone, "small", tmp_path).features(image)
    (whole,) = files(tmp_path)
    old, new = (whole.with_name(f".{name}.part.safetensors") for name in ("old", "new"))
    for file in (old, new):
        file.write_bytes(b"half")
    with new.open("r+b") as writer:
        assert try_lock(writer.fileno())  # somebody is writing it
        FeatureCache(backbone, "small", tmp_path)
    assert whole.exists()
    assert new.exists()
    assert not old.exists()


def test_features_of_an_image_do_not_depend_on_its_company(tmp_path):
    images = [make_image(tmp_path, name, seed) for seed, name in enumerate("abcd")]
    backbone = make_frozen()
    together = FeatureCache(backbone, "small", None).features_of([*images, images[1]])
    alone = [FeatureCache(backbone, "small", None).features(image) for image in [*images, images[1]]]
    for one, two in zip(together, alone, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_memory_is_bounded(tmp_path):
    images = [make_image(tmp_path, name, seed) for seed, name in enumerate("abc")]
    backbone = make_frozen()
    size = sum(part.nbytes for part in compute_features(backbone, images[:1])[0])
    cache = FeatureCache(backbone, "small", tmp_path, memory=2 * size)
    first = cache.features_of(images)
    assert len(cache._held) == 2
    for one, two in zip(first, cache.features_of(images), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def _fill(folder, root, barrier, results):
    torch.set_num_threads(1)
    images = [make_image(folder, name, seed) for seed, name in enumerate("abcdefgh")]
    cache = FeatureCache(make_frozen(), "small", root)
    barrier.wait()
    results.put([nodes.numpy() for nodes, _ in cache.features_of(images)])


def test_two_processes_may_fill_the_cache_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    workers = []
    for k in range(2):
        (tmp_path / str(k)).mkdir()
        workers.append(context.Process(target=_fill, args=(tmp_path / str(k), tmp_path / "cache", barrier, results)))
    for worker in workers:
        worker.start()
    one, two = results.get(timeout=120), results.get(timeout=120)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert len(files(tmp_path / "cache")) == 8
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.name.startswith(".")]
