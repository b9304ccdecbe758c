"""The report of ``bbgm data status``: which data and backbone weights are there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bbgm.base.paths import weights_root
from bbgm.base.reading.foreign import instead_of, without_companions
from bbgm.data.demo import demo_root, explain_missing_renderer
from bbgm.data.fetch.download import expected_checksum, fits
from bbgm.data.fetch.integrity import changed_files, manifest_path, matching, missing_files, sizes_in
from bbgm.data.fetch.sources import Item, find, registry
from bbgm.data.readers.willow import FOLDER, KEYPOINT_NAMES
from bbgm.data.usable import broken_images, describe_folder, describe_usable, original_data

IMAGES = (".jpg", ".png")


@dataclass(frozen=True)
class Report:
    """``text`` for people; ``problems``: what is broken, or missing although it was asked for, one line each."""

    text: str
    problems: tuple[str, ...]


def data_status(
    names: Sequence[str] = (), check: bool = False, demo_seed: int = 0, demo_images_per_class: int = 40
) -> Report:
    """For each data set and each file of weights: where it is expected, whether it is there and complete, size,
    licence.

    Args:
        names: of ``sources.toml``; if there are any, only these, and a missing one is a problem.
        check: compare the content of every file with its manifest or checksum, and decode every image.
        demo_seed, demo_images_per_class: which demo data to look for.

    Raises:
        ValueError: an unknown name.
    """
    items = [find(name) for name in names] or list(registry().values())
    blocks = [] if names else [_describe_demo(demo_seed, demo_images_per_class)]
    problems = []
    for item in items:
        block, faults = _describe(item, check)
        blocks.append(block)
        place = item.locate(item.folder())
        if faults:
            problems.append(f"{item.title} in {place} is broken: {'; '.join(faults)}")
        elif names and not place.exists():
            problems.append(f"{item.title} is missing: 'bbgm data download {item.name}'")
    if not names:
        blocks.append(_describe_weights(weights_root()))
    return Report("\n\n".join("\n".join(block) for block in blocks), tuple(problems))


def folder_status(root: Path, check: bool = False) -> Report:
    """The same for a folder of your own images: how many objects, what is left out, what is broken."""
    lines, faults = describe_folder(root.expanduser(), check)
    return Report("\n".join(lines), tuple(faults))


def _describe(item: Item, check: bool) -> tuple[list[str], list[str]]:
    """The lines about one item, and what is wrong with it."""
    place = item.locate(item.folder())
    faults: list[str] = []
    lines = [f"{item.title} ({item.name})", f"  expected  {place}"]
    if not place.exists():
        lines += ["  status    missing"]
    elif item.inside:
        sizes = sizes_in(place)
        faults = [*missing_files(item, sizes), *changed_files(item, place, sizes, thorough=check)]
        usable: list[str] = []
        data = original_data(item.name)
        if data:
            usable, unreadable = describe_usable(data)
            faults += unreadable
        if data and check:
            images = sorted(name for name in sizes if name.endswith(IMAGES))
            faults += broken_images([place / name for name in images])
        lines += [_verdict(faults), *_counts(item, place, sizes), _size(sizes), *usable]
        if check and not (item.manifest or manifest_path(place).is_file()):
            lines += ["  check     files are counted only: there is no manifest, because it was not downloaded by bbgm"]
    else:
        checksum = expected_checksum(item, place)
        faults = [f"it {what}"] if (what := instead_of(place)) else []
        if check and checksum and not faults and not fits(place, checksum):
            faults = [f"its checksum is not {checksum}"]
        lines += [_verdict(faults), _size({item.place: place.stat().st_size})]
    lines += [f"  licence   {item.licence}", f"  citation  {item.citation}"]
    if faults:
        lines += [f"  remedy    move it away, then 'bbgm data download {item.name}'"]
    elif not place.exists():
        lines += [f"  remedy    'bbgm data download {item.name}'" + (f" ({item.about})" if item.about else "")]
        lines += [f"  by hand   {item.by_hand()}"]
        lines += [f"  from      {url}" for url in item.mirrors]
    return lines, faults


def _verdict(faults: list[str]) -> str:
    return f"  status    found, but broken: {'; '.join(faults)}" if faults else "  status    found"


def _counts(item: Item, place: Path, names: Collection[str]) -> list[str]:
    if item.place == FOLDER:
        return [_count_pairs(place)]
    counts = (f"{len(found)} {pattern}" for pattern, found in matching(item, names).items())
    return [f"  files     {', '.join(counts)}"]


def _count_pairs(tree: Path) -> str:
    counts = []
    for cls in KEYPOINT_NAMES:
        found = {end: without_companions((tree / cls).glob(f"*.{end}")) for end in ("png", "mat")}
        images, annotations = ({file.stem for file in files} for files in found.values())
        lonely = len(images ^ annotations)
        counts.append(f"{cls} {len(images & annotations)}" + (f" (+ {lonely} without partner)" if lonely else ""))
    return f"  images    {', '.join(counts)}"


def _size(sizes: Mapping[str, int]) -> str:
    return f"  size      {sum(sizes.values()) / 1e6:.1f} MB"


def _describe_demo(seed: int, images_per_class: int) -> list[str]:
    title = "demo data (rendered counterparts of Willow ObjectClass, Pascal VOC and SPair-71k)"
    try:
        with explain_missing_renderer():
            import bbgm_demo
    except ImportError as error:
        return [title, "  status    missing", f"  remedy    {error}"]
    root = demo_root(seed, images_per_class)
    lines, absent = [title, f"  expected  {root}"], []
    for name, form in bbgm_demo.FORMATS.items():
        sizes = sizes_in(root / form.folder)
        absent += [] if sizes else [name]
        images = sum(file.endswith((".jpg", ".png")) for file in sizes)
        about = f"found, {images} images, {sum(sizes.values()) / 1e6:.1f} MB" if sizes else "missing"
        lines.append(f"  {name:<9} {about}  ({form.folder})")
    remedy = "  remedy    none needed: made on first use, or by `bbgm data demo`"
    return [*lines, "  licence   that of this software (MIT)", *([remedy] if absent else [])]


def _describe_weights(folder: Path) -> list[str]:
    files = [file for file in without_companions(folder.glob("*")) if file.suffix in (".safetensors", ".pth")]
    lines = [
        "backbone weights (BBGM_WEIGHTS)",
        f"  expected  {folder}",
        f"  status    {'found' if files else 'missing'}",
    ]
    if not files:
        return [*lines, "  remedy    add the file that network.weights names, or set it to 'imagenet' (torchvision's)"]
    return [*lines, *(f"  file      {file.name}, {file.stat().st_size / 1e6:.1f} MB" for file in files)]
