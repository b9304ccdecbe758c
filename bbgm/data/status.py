"""What is there: the report of ``bbgm data status``, data and backbone weights."""

from pathlib import Path

from bbgm.data.demo import demo_root
from bbgm.data.willow import FOLDER, KEYPOINT_NAMES, how_to_get
from bbgm.paths import data_root, weights_root


def data_status(demo_seed: int = 0, demo_images_per_class: int = 40) -> str:
    """A text report: for each data set where it is expected, whether it is there, counts, size, licence, citation.

    Args:
        demo_seed, demo_images_per_class: which demo data to look for.
    """
    demo = demo_root(demo_seed, demo_images_per_class) / FOLDER
    willow = data_root() / FOLDER
    lines = [
        "demo data (rendered counterpart of Willow ObjectClass)",
        *_describe(demo),
        "  licence   that of this software (MIT)",
        *([] if demo.is_dir() else ["  remedy    none needed: made on first use, or by `bbgm data demo`"]),
        "",
        "Willow ObjectClass",
        *_describe(willow),
        "  licence   none stated; research use",
        "  citation  M. Cho, K. Alahari, J. Ponce: Learning Graphs to Match, ICCV 2013",
        *([] if willow.is_dir() else [f"  remedy    {how_to_get(willow)}"]),
        "",
        "backbone weights (BBGM_WEIGHTS)",
        *_describe_weights(weights_root()),
    ]
    return "\n".join(lines)


def _describe(tree: Path) -> list[str]:
    lines = [f"  expected  {tree}", f"  status    {'found' if tree.is_dir() else 'missing'}"]
    if not tree.is_dir():
        return lines
    counts = []
    for cls in KEYPOINT_NAMES:
        images, annotations = ({file.stem for file in (tree / cls).glob(f"*.{end}")} for end in ("png", "mat"))
        lonely = len(images ^ annotations)
        counts.append(f"{cls} {len(images & annotations)}" + (f" (+ {lonely} without partner)" if lonely else ""))
    size = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file())
    return [*lines, f"  images    {', '.join(counts)}", f"  size      {size / 1e6:.1f} MB"]


def _describe_weights(folder: Path) -> list[str]:
    files = [file for file in sorted(folder.glob("*")) if file.suffix in (".safetensors", ".pth")]
    lines = [f"  expected  {folder}", f"  status    {'found' if files else 'missing'}"]
    if not files:
        return [
            *lines,
            "  remedy    a file that network.weights names, or 'imagenet' there: torchvision's",
        ]
    return [*lines, *(f"  file      {file.name}, {file.stat().st_size / 1e6:.1f} MB" for file in files)]
