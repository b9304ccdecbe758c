"""Backbones, their weights, and features read at keypoints."""

import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bbgm.config import BACKBONES, BackboneConfig
from bbgm.features.backbone import keypoint_features, make_backbone, normalise
from bbgm.features.small import SmallCNN
from bbgm.features.weights import fingerprint, load_weights

VGG16_FILE = "vgg16_features_imagenet.safetensors"


def make_small(**settings):
    return make_backbone(BackboneConfig(backbone="small", weights="random", **settings))


@pytest.mark.parametrize("name", sorted(BACKBONES))
def test_widths_are_what_the_backbone_says(name):
    backbone = BACKBONES[name]().eval()
    with torch.no_grad():
        maps, pooled = backbone(torch.randn(1, 3, 256, 256))
    assert sum(values.shape[1] for values in maps) == backbone.node_channels
    assert [tuple(values.shape[2:]) for values in maps] == [(32, 32), (16, 16)]
    assert pooled.shape == (1, backbone.global_channels)


@pytest.mark.parametrize(("name", "cuts"), [("vgg16", (21, 26)), ("vgg16_bn", (30, 37))])
def test_vgg_has_torchvisions_layers_and_is_cut_behind_relu4_2_and_relu5_1(name, cuts):
    import torchvision

    torch.manual_seed(0)
    with torch.device("meta"):
        layers = getattr(torchvision.models, name)().features
    backbone = BACKBONES[name]()
    assert [str(layer) for layer in backbone.features] == [str(layer) for layer in layers]
    convolutions = [i for i, layer in enumerate(layers) if isinstance(layer, torch.nn.Conv2d)]
    assert all(isinstance(layers[cut - 1], torch.nn.ReLU) for cut in cuts)
    # Convolutions 4_2 and 5_1 are the ninth and the eleventh of the thirteen.
    assert [sum(i < cut for i in convolutions) for cut in cuts] == [9, 11]


def test_maps_are_not_overwritten_by_later_layers():
    backbone = BACKBONES["vgg16"]().eval()
    images = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        maps, pooled = backbone(images)
        for values, cut in zip(maps, backbone.cuts, strict=True):
            assert torch.equal(values, backbone.features[:cut](images))
        assert torch.equal(pooled, backbone.features(images).flatten(2).max(dim=2).values)


def test_frozen_backbone_stays_in_evaluation_mode_without_gradients():
    backbone = make_backbone(BackboneConfig(backbone="vgg16_bn", weights="random", freeze_backbone=True))
    torch.nn.Sequential(backbone).train()
    assert not any(module.training for module in backbone.modules())
    assert not any(parameter.requires_grad for parameter in backbone.parameters())
    assert make_small().train().training


def test_small_backbone_gets_gradients_everywhere():
    backbone = SmallCNN()
    maps, pooled = backbone(torch.randn(2, 3, 64, 64))
    (sum(values.square().mean() for values in maps) + pooled.square().mean()).backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in backbone.parameters())


def test_normalised_mean_colour_is_zero():
    mean = torch.tensor([0.485, 0.456, 0.406])
    crops = (255 * mean).round().to(torch.uint8).expand(2, 8, 8, 3)
    result = normalise(crops)
    assert result.shape == (2, 3, 8, 8)
    assert result.abs().max() < 0.5 / 255 / 0.2


# --- features at keypoints


def reference_feature(values, x, y, frame=256.0):
    """One keypoint on one map, by the letter of the definition."""
    channels, height, width = values.shape
    unit = np.zeros_like(values)
    for row in range(height):
        for column in range(width):
            length = np.sqrt((values[:, row, column] ** 2).sum())
            if length > 0:
                unit[:, row, column] = values[:, row, column] / length
    step = frame / width
    u, v = (x - step / 2) / step, (y - step / 2) / step
    left, top = int(np.floor(u)), int(np.floor(v))
    result = np.zeros(channels)
    for column in (left, left + 1):
        for row in (top, top + 1):
            weight = (1 - abs(u - column)) * (1 - abs(v - row))
            result += weight * unit[:, min(max(row, 0), height - 1), min(max(column, 0), width - 1)]
    return result


def test_keypoint_features_follow_the_definition():
    rng = np.random.default_rng(0)
    maps = [rng.normal(size=(2, 3, 8, 8)), np.maximum(rng.normal(size=(2, 4, 4, 4)) - 1, 0)]
    xy = np.concatenate([rng.uniform(0, 256, (20, 2)), [[0, 0], [256, 256], [0, 256], [16, 16], [32, 64], [255.9, 3]]])
    image = rng.integers(2, size=len(xy))
    result = keypoint_features([torch.from_numpy(m) for m in maps], torch.from_numpy(image), torch.from_numpy(xy))
    expected = [
        np.concatenate([reference_feature(m[i], x, y) for m in maps]) for i, (x, y) in zip(image, xy, strict=True)
    ]
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)
    assert result.norm(dim=1).max() <= np.sqrt(2) + 1e-12


def test_feature_at_a_cell_centre_is_that_cells_unit_vector():
    values = torch.randn(1, 5, 32, 32, dtype=torch.float64)
    xy = torch.tensor([[8 * 7 + 4.0, 8 * 20 + 4.0]], dtype=torch.float64)
    found = keypoint_features([values], torch.tensor([0]), xy)[0]
    torch.testing.assert_close(found, values[0, :, 20, 7] / values[0, :, 20, 7].norm())


def test_raw_features_are_interpolated_as_they_are():
    """A map whose value is its position, inside of the cells' centres."""
    y, x = torch.meshgrid(*2 * [4 + 8 * torch.arange(32, dtype=torch.float64)], indexing="ij")
    xy = torch.from_numpy(np.random.default_rng(0).uniform(4, 252, (20, 2)))
    found = keypoint_features([torch.stack([x, y])[None]], torch.zeros(20, dtype=torch.int64), xy, unit=False)
    torch.testing.assert_close(found, xy)


def test_cells_of_zeros_give_zero_features_and_finite_gradients():
    values = torch.zeros(1, 4, 8, 8, requires_grad=True)
    xy = torch.tensor([[10.0, 20.0], [200.0, 100.0]])
    result = keypoint_features([values], torch.tensor([0, 0]), xy)
    result.sum().backward()
    assert torch.equal(result, torch.zeros(2, 4))
    assert values.grad.isfinite().all()


def test_gradient_of_keypoint_features_is_numerical():
    values = torch.rand(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    xy = torch.tensor([[1.0, 250.0], [100.0, 90.0], [101.0, 95.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda m: keypoint_features([m], torch.tensor([0, 1, 1]), xy), values)


# --- weights


def test_weights_file_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    torch.manual_seed(1)
    donor = SmallCNN()
    save_file(donor.state_dict(), tmp_path / "donor.safetensors")
    assert fingerprint(make_backbone(BackboneConfig(backbone="small", weights="donor.safetensors"))) == fingerprint(
        donor
    )
    assert fingerprint(SmallCNN()) != fingerprint(donor)


def test_missing_weights_file_is_named_with_its_neighbours(tmp_path, monkeypatch):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(FileNotFoundError, match=r"mine\.safetensors.*other\.safetensors.*BBGM_WEIGHTS"):
        load_weights(SmallCNN(), "small", "mine.safetensors")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("features.0.bias"), r"without features\.0\.bias"),
        (lambda t: t.update({"features.99.bias": torch.zeros(3)}), r"unknown features\.99\.bias"),
        (
            lambda t: t.update({"features.2.weight": torch.zeros(64, 3, 3, 3)}),
            r"features\.2\.weight has shape \(64, 3, 3, 3\), not \(64, 64, 3, 3\)",
        ),
    ],
)
def test_weights_that_do_not_fit_name_the_tensor(tmp_path, monkeypatch, change, message):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    backbone = BACKBONES["vgg16"]()
    tensors = dict(backbone.state_dict())
    change(tensors)
    save_file(tensors, tmp_path / "wrong.safetensors")
    before = fingerprint(backbone)
    with pytest.raises(ValueError, match=message):
        load_weights(backbone, "vgg16", "wrong.safetensors")
    assert fingerprint(backbone) == before


def test_truncated_weights_file_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    save_file(SmallCNN().state_dict(), tmp_path / "cut.safetensors")
    content = (tmp_path / "cut.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"cut\.safetensors cannot be read"):
        load_weights(SmallCNN(), "small", "cut.safetensors")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x02}q\x00.", pickle.dumps([1, 2]), pickle.dumps({"a": 1})])
def test_files_of_another_kind_are_no_weights(tmp_path, monkeypatch, content):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    for name in ("other.pth", "other.safetensors"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"weights .*{name} (cannot be read|do not fit)"):
            load_weights(SmallCNN(), "small", name)


def test_weights_are_finite(tmp_path, monkeypatch):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    tensors = SmallCNN().state_dict()
    tensors["stem.0.1.bias"][3] = float("nan")
    save_file(tensors, tmp_path / "nan.safetensors")
    with pytest.raises(ValueError, match=r"nan\.safetensors: tensor stem\.0\.1\.bias is not finite"):
        load_weights(SmallCNN(), "small", "nan.safetensors")


def test_imagenet_weights_that_cannot_be_had_say_where_they_come_from(tmp_path, monkeypatch):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(FileNotFoundError, match=r"vgg16_bn-6c64b313\.pth.*download\.pytorch\.org.*BBGM_WEIGHTS"):
        load_weights(BACKBONES["vgg16_bn"](), "vgg16_bn", "imagenet")


def test_imagenet_weights_may_lie_in_the_weights_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BBGM_WEIGHTS", str(tmp_path))
    donor = BACKBONES["vgg16_bn"]()
    tensors = {key: value for key, value in donor.state_dict().items() if not key.endswith("num_batches_tracked")}
    torch.save({**tensors, "classifier.0.weight": torch.zeros(2, 2)}, tmp_path / "vgg16_bn-6c64b313.pth")
    backbone = BACKBONES["vgg16_bn"]()
    load_weights(backbone, "vgg16_bn", "imagenet")
    assert fingerprint(backbone) == fingerprint(donor)


def test_small_backbone_has_no_imagenet_weights():
    with pytest.raises(ValueError, match="no ImageNet weights for backbone 'small'"):
        make_backbone(BackboneConfig(backbone="small", weights="imagenet"))


def test_pretrained_vgg16_is_read_unchanged(weights_folder):
    if not (weights_folder / VGG16_FILE).is_file():
        pytest.skip(f"{VGG16_FILE} is not in BBGM_WEIGHTS")
    backbone = make_backbone(BackboneConfig(backbone="vgg16", weights=VGG16_FILE, freeze_backbone=True))
    for key, value in load_file(weights_folder / VGG16_FILE).items():
        assert torch.equal(backbone.state_dict()[key], value)
