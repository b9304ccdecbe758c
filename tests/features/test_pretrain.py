"""The weights "demo": where they are from, that they load, and that they know more than random ones."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from bbgm_demo import CLASSES, render_photo
from safetensors import safe_open
from scipy.optimize import linear_sum_assignment

from bbgm.cli import main
from bbgm.config import BackboneConfig
from bbgm.features.backbone import Backbone, keypoint_features, make_backbone, normalise
from bbgm.features.pretrain import STREAM, Photo, eighth, plain, pretrain, side_of, write_weights
from bbgm.features.weights import demo_file

SMALL = BackboneConfig(backbone="small", weights="demo")


def test_the_file_says_how_it_was_made() -> None:
    path = demo_file("small")
    assert path.stat().st_size < 1_000_000
    with safe_open(path, framework="pt") as file:
        about = json.loads(file.metadata()["provenance"])
        assert all(file.get_tensor(key).dtype == torch.float16 for key in file.keys())  # noqa: SIM118
    assert {"made by", "photos", "steps", "seed", "renderer", "torch"} <= about.keys()
    with pytest.raises(ValueError, match=r"no weights 'demo' for backbone 'vgg16' \(only for \['small'\]\)"):
        make_backbone(BackboneConfig(backbone="vgg16", weights="demo"))


def scenes() -> list[tuple[str, np.ndarray, dict[str, np.ndarray]]]:
    """Three photographs of each class from seeds of no training: class, crop, keypoints in it."""
    found = []
    for number, cls in enumerate(CLASSES):
        for k in range(3):
            pixels, (seen,) = render_photo([cls], np.random.default_rng([9, number, k]), 30.0 * k)
            image = torch.from_numpy(pixels).permute(2, 0, 1)[None].float()
            size = np.array([pixels.shape[1], pixels.shape[0]])
            crop = torch.nn.functional.interpolate(image, (256, 256), mode="bilinear", antialias=True)
            points = {n: np.array(at) * 256 / size for n, at in seen.landmarks.items() if at is not None}
            found.append((cls, crop[0].permute(1, 2, 0).round().to(torch.uint8).numpy(), points))
    return found


@torch.no_grad()
def matched(backbone: Backbone, examples: list[tuple[str, np.ndarray, dict[str, np.ndarray]]]) -> float:
    """Share of the keypoints that two photographs of a class show which the most similar features match rightly."""
    right = total = 0
    for cls in CLASSES:
        described = []
        for _, crop, points in (one for one in examples if one[0] == cls):
            maps, _ = backbone(normalise(torch.from_numpy(crop)[None]))
            xy = torch.tensor(np.array(list(points.values())), dtype=torch.float32)
            features = keypoint_features(maps, torch.zeros(len(xy), dtype=torch.int64), xy)
            described.append(dict(zip(points, torch.nn.functional.normalize(features, dim=1), strict=True)))
        for first, second in combinations(described, 2):
            common = sorted(first.keys() & second.keys())
            x, y = (torch.stack([one[name] for name in common]) for one in (first, second))
            rows, columns = linear_sum_assignment(-(x @ y.T).numpy())
            right, total = right + int((rows == columns).sum()), total + len(common)
    return right / total


def test_better_than_random_weights_on_unseen_photographs() -> None:
    torch.manual_seed(0)
    random = make_backbone(BackboneConfig(backbone="small", weights="random")).eval()
    examples = scenes()
    assert matched(make_backbone(SMALL).eval(), examples) > matched(random, examples) + 0.2


def test_training_is_reproducible_and_leaves_torchs_generator(tmp_path: Path) -> None:
    torch.manual_seed(4)
    expected = torch.rand(1)
    torch.manual_seed(4)
    first, second = (pretrain(1, 2, seed) for seed in (1, 1))
    assert torch.rand(1) == expected
    for (name, a), b in zip(first.state_dict().items(), second.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    write_weights(tmp_path / "a.safetensors", first, photos=1)
    write_weights(tmp_path / "b.safetensors", second, photos=1)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_the_command_writes_weights_with_their_provenance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.safetensors"
    assert main(["pretrain-backbone", str(file), "--photos", "1", "--steps", "1"]) == 0
    assert capsys.readouterr().out.strip() == str(file)
    with safe_open(file, framework="pt") as stored:
        assert json.loads(stored.metadata()["provenance"])["photos"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["."], "it is not a file; give the name of a file"),
        (["there/below.safetensors"], "cannot write there/below.safetensors"),
        (["new.safetensors", "--photos", "0"], "--photos is 0, expected 1 or more"),
        (["new.safetensors", "--steps", "0"], "--steps is 0, expected 1 or more"),
        (["new.safetensors", "--seed", "-1"], "--seed is -1, expected 0 or more"),
        (["new.safetensors", "--seed", str(2**63)], f"--seed is {2**63}, expected less than 2^63"),
    ],
)
def test_what_cannot_be_done_is_told_before_the_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    work = ["--steps", str(10**9)]  # it would never end
    assert main(["pretrain-backbone", *work, *options]) == 2
    assert message in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["there"]


def test_a_mirror_swaps_left_and_right() -> None:
    """In a mirror the left wheel is a right one, and a car that faces right faces left."""
    assert plain("L_HeadLight") == plain("R_HeadLight") == "HeadLight"
    assert plain("Label_Top") == "Label_Top"
    assert [side_of(n, False) for n in ("Nose", "L_Eye", "Right_Eye")] == [0, 1, 2]
    assert [side_of(n, True) for n in ("Nose", "L_Eye", "Right_Eye")] == [0, 2, 1]
    box = (0.0, 0.0, 1.0, 1.0)
    front, side = Photo(b"", "Car", 90.0, box, {}), Photo(b"", "Car", 0.0, box, {})
    assert (eighth(front, True), eighth(side, True)) == (2, 4)
    face = Photo(b"", "Face", 45.0, box, {})
    assert (eighth(face, False), eighth(face, True)) == (1, 7)
    assert STREAM > 10_000
