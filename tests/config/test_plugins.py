"""Parts from outside the package: a module of the user registers them, and they train like those of the package."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PARTS = '''
from typing import Any, ClassVar

import numpy as np
import torch
from PIL import Image
from torch import nn

from bbgm.base.paths import cache_root
from bbgm.config import BACKBONES, DATASETS, METHODS, DataConfig, Model, RunConfig
from bbgm.data.images.keypoints import Dataset, KeypointImage
from bbgm.data.images.split import split_images
from bbgm.features.backbone import Backbone
from bbgm.methods.base import Matcher


class Coarse(Backbone):
    """Two maps by one convolution each."""

    node_channels, global_channels = 12, 8

    def __init__(self):
        super().__init__()
        self.fine, self.coarse = nn.Conv2d(3, 4, 8, stride=8), nn.Conv2d(4, 8, 2, stride=2)

    def forward(self, images):
        fine = torch.relu(self.fine(images))
        coarse = torch.relu(self.coarse(fine))
        return [fine, coarse], coarse.amax(dim=(2, 3))


class Nearest(Matcher):
    """Matches each keypoint with the nearest of the other image, places scaled by a learned factor."""

    one_to_one = False

    def __init__(self, config):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(config.nearest.start))

    def scores(self, pair):
        xy1, xy2 = (torch.from_numpy(xy).float() for xy in (pair.source.xy[pair.kept1], pair.target.xy[pair.kept2]))
        return -self.scale * torch.cdist(xy1, xy2) / 256

    def loss(self, pairs):
        return sum(nn.functional.cross_entropy(self.scores(p), torch.from_numpy(p.truth)) for p in pairs) / len(pairs)

    def predict(self, pairs):
        return [self.scores(pair).argmax(dim=1).numpy().astype(np.int32) for pair in pairs]

    def parameter_groups(self, lr, backbone_factor):
        return [{"name": "scale", "params": [self.scale], "lr": lr}]


class NearestConfig(Model):
    start: float = 1.0


class NearestRun(RunConfig):
    matcher: ClassVar[Any] = Nearest

    nearest: NearestConfig = NearestConfig()


class DotsData(DataConfig):
    """Five dots of five colours on black, nearly in the same places in each image."""

    class_names: ClassVar[tuple[str, ...]] = ("dots", "spots")
    images_per_class: int = 8

    def open(self, protocol: Any) -> Dataset:
        images = {}
        for number, cls in enumerate(self.used_classes()):
            generator = np.random.default_rng(number)
            folder, members = cache_root() / "toy" / cls, []
            folder.mkdir(parents=True, exist_ok=True)
            centres = generator.uniform(40, 210, (5, 2))
            for k in range(self.images_per_class):
                xy = centres + generator.normal(0, 2, (5, 2))
                pixels = np.zeros((256, 256, 3), np.uint8)
                for colour, (x, y) in enumerate(xy.astype(int)):
                    pixels[y - 6 : y + 6, x - 6 : x + 6] = [40 * colour + 60, 255 - 50 * colour, 100 * (colour % 2)]
                Image.fromarray(pixels).save(folder / f"{k}.png")
                names = tuple(f"dot{i}" for i in range(5))
                members.append(KeypointImage(f"{cls}/{k}", cls, folder / f"{k}.png", (256, 256), names, xy))
            images[cls] = tuple(members)
        return Dataset("dots", *split_images(images, protocol))


BACKBONES.add("coarse", Coarse)
METHODS.add("nearest", NearestRun)
DATASETS.add("dots", DotsData)
'''

BUDGET = {
    "threads": 1,
    "data": {"source": "original"},
    "protocol": {"test_pairs_per_class": 10, "train_per_class": 4},
    "optimiser": {"epochs": 1, "iterations_per_epoch": 20, "milestones": []},
    "datasets": {"dots": {"data": {"images_per_class": 9}}},
}


@pytest.fixture
def project_of_ones_own(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a plugin, a budget and two experiments of the user's own."""
    shutil.copytree(project / "config", tmp_path / "config")
    (tmp_path / "Snakefile").touch()
    (tmp_path / "my_parts.py").write_text(PARTS)
    (tmp_path / "config/budgets/mine.yaml").write_text(yaml.safe_dump(BUDGET))
    network = {"backbone": "coarse", "weights": "random"}
    for name, content in (
        ("coarse", {"title": "Coarse", "network": network}),
        ("nearest", {"title": "Nearest", "model": "nearest", "nearest": {"start": 2.0}}),
    ):
        (tmp_path / f"config/experiments/{name}.yaml").write_text(yaml.safe_dump(content))
    monkeypatch.setenv("BBGM_ROOT", str(tmp_path))
    monkeypatch.setenv("BBGM_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("BBGM_CACHE", str(tmp_path / "cache"))
    return tmp_path


def bbgm(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "bbgm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def name_plugins(root: Path, plugins: object) -> None:
    path = root / "config/config.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "plugins": plugins}))


@pytest.mark.parametrize("plugin", ["my_parts", "my_parts.py"])
def test_a_backbone_a_method_and_a_data_set_of_ones_own_train(project_of_ones_own: Path, plugin: str) -> None:
    name_plugins(project_of_ones_own, [plugin])
    for method, least in (("nearest", 0.95), ("coarse", 0.5)):
        made = bbgm("train", "--method", method, "--budget", "mine", "--dataset", "dots")
        assert made.returncode == 0, made.stderr
        folder = project_of_ones_own / f"results/mine/dots/intersection/{method}/seed0"
        metrics = json.loads((folder / "metrics.json").read_text())
        assert metrics["per_class"].keys() == {"dots", "spots"}
        assert metrics["mean"]["accuracy"] >= least
        stored = yaml.safe_load((folder / "config.yaml").read_text())
        assert stored["data"]["images_per_class"] == 9
        assert ("nearest" in stored) == (method == "nearest")
    planned = bbgm("plan", "--budget", "mine", "--json")
    assert planned.returncode == 2  # no run is listed for it
    assert "no run is listed for the budget 'mine'" in planned.stderr


def test_a_plugin_on_the_command_line_or_none(project_of_ones_own: Path) -> None:
    train = ("train", "--method", "nearest", "--budget", "mine", "--dataset", "dots")
    without = bbgm(*train)
    assert without.returncode == 2
    # Without the plugin the budget's section of its data set has no meaning either.
    assert "mine.yaml sets datasets.dots, which is not one of ['willow', 'voc', 'spair', 'folder']" in without.stderr
    assert bbgm("--plugin", str(project_of_ones_own / "my_parts.py"), *train).returncode == 0


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        (["nowhere.py"], "plugin 'nowhere.py' cannot be loaded (FileNotFoundError: no file"),
        (["no_such_module"], "plugin 'no_such_module' cannot be loaded (ModuleNotFoundError"),
        (["broken.py"], "plugin 'broken.py' cannot be loaded (ValueError: backbone 'small' is registered already"),
        (["leaves.py"], "plugin 'leaves.py' cannot be loaded (SystemExit: 0)"),
        (["kinds.py"], "backbone 'odd' is registered as 3: register a subclass of Backbone"),
        (["names.py"], "data set '../x' cannot be registered: use lower-case letters"),
        ("my_parts.py", "config.yaml: plugins is 'my_parts.py', expected a list of modules or files"),
    ],
)
def test_faults_of_plugins_are_named(project_of_ones_own: Path, plugins: object, message: str) -> None:
    (project_of_ones_own / "broken.py").write_text("from bbgm.config import BACKBONES\nBACKBONES.add('small', int)\n")
    (project_of_ones_own / "leaves.py").write_text("raise SystemExit(0)\n")
    (project_of_ones_own / "kinds.py").write_text("from bbgm.config import BACKBONES\nBACKBONES.add('odd', 3)\n")
    (project_of_ones_own / "names.py").write_text("from bbgm.config import DATASETS\nDATASETS.add('../x', 3)\n")
    (project_of_ones_own / "config/experiments/odd.yaml").write_text(
        "title: Odd\nnetwork: {backbone: odd, weights: random}\n"
    )
    name_plugins(project_of_ones_own, plugins)
    failed = bbgm("train", "--method", "odd" if plugins == ["kinds.py"] else "bbgm", "--budget", "smoke")
    assert failed.returncode == 2
    assert message in failed.stderr
