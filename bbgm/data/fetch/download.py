"""Download a data set or weights: fetch it from a mirror, check it, unpack it aside, and put it in place in one step.

Everything unfinished is in ``<root>/.download/<name>/``: the part of the file that has arrived, and the folder that is
being unpacked. A killed download resumes from there; a file or folder in its final place is complete.
"""

import json
import logging
import shutil
import time
from pathlib import Path

import pooch

from bbgm.base.atomic import atomic_write
from bbgm.base.lock import folder_lock
from bbgm.base.reading.foreign import instead_of
from bbgm.base.reading.untrusted import parse_json
from bbgm.data.fetch.archive import ArchiveError, read_through, unpack
from bbgm.data.fetch.integrity import (
    changed_files,
    file_state,
    manifest_path,
    matching,
    missing_files,
    packaged_manifest,
    sizes_in,
    write_manifest,
)
from bbgm.data.fetch.sources import Item, find
from bbgm.data.fetch.transfer import FetchError, discard, fetch

log = logging.getLogger(__name__)

ATTEMPTS = 10
"""Attempts at one mirror, as long as each one receives something."""
PAUSE = 1.0
"""Seconds between attempts."""


class DownloadError(OSError):
    """No mirror served the file; the message says why, and what else can be done."""


def download(name: str, to: Path | None = None) -> Path:
    """Download a data set or weights, unless they are there already.

    An archive that was put into the folder by hand is used instead of the network.

    Args:
        name: a table of ``sources.toml``.
        to: the folder to use instead of that of the item's variable (BBGM_DATA or BBGM_WEIGHTS).

    Returns:
        Its path.

    Raises:
        ValueError: an unknown name; existing data are broken; the archive is unsafe; another process downloads it.
        DownloadError: no mirror serves the right file. The part that has arrived is kept.
        bbgm.base.atomic.WriteError: the disk is full or not writable.
    """
    item = find(name)
    folder = to.expanduser().resolve() if to is not None else item.folder()
    place = item.locate(folder)
    if _is_there(item, place):
        return place
    work = folder / ".download" / item.name
    _make_writable(work, item)
    with folder_lock(work):
        if not _is_there(item, place):  # the previous holder of the lock may have been the same download
            _install(item, folder, place, work)
    return place


def record_path(place: Path) -> Path:
    """Where a download's origin and checksum are recorded."""
    return place.with_name(f"{place.name}.download.json")


def expected_checksum(item: Item, place: Path) -> str:
    """``algorithm:digits`` that the file must have: published, or else recorded at the first download, or else ""."""
    if item.checksum:
        return item.checksum
    path = record_path(place)
    if not path.is_file():
        return ""
    try:
        return f"sha256:{parse_json(path.read_bytes())['sha256']}"
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}): delete it; the next download is then trusted again") from error


def fits(path: Path, checksum: str) -> bool:
    """Whether a file has a checksum; "sha256:12ab..." compares the beginning."""
    algorithm, digits = checksum.split(":")
    return str(pooch.file_hash(str(path), alg=algorithm)).startswith(digits.removesuffix("..."))


def _is_there(item: Item, place: Path) -> bool:
    if not place.exists():
        return False
    if item.inside:
        sizes = sizes_in(place)
        faults = [*missing_files(item, sizes), *changed_files(item, place, sizes, thorough=False)]
    else:
        checksum = expected_checksum(item, place)
        faults = [] if not checksum or fits(place, checksum) else [_page(place) or "its checksum is wrong"]
    if faults:
        raise ValueError(f"{place} is there, but broken ({'; '.join(faults)}): move it away, then download it again")
    log.info("%s is there: %s", item.title, place)
    return True


def _make_writable(work: Path, item: Item) -> None:
    try:
        work.mkdir(parents=True, exist_ok=True)
        (work / ".write").touch()
        (work / ".write").unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DownloadError(
            f"cannot write to {work}: {reason}; choose another folder with --to, or set {item.root} to one"
        ) from error


def _install(item: Item, folder: Path, place: Path, work: Path) -> None:
    checksum = expected_checksum(item, place)
    archive = folder / item.archive
    if archive.is_file() and archive != place:
        origin = "by hand"
        if fault := _fault(item, archive, checksum):
            raise ValueError(f"{archive} is not the right file: {fault}; delete it or fetch it again")
    else:
        archive = work / item.archive
        origin = _fetch_from_mirrors(item, archive, folder, checksum)
    aside = work / "unpacked"
    _remove(aside)  # left by a killed process
    try:
        if item.inside:
            _unpack(item, archive, aside, place)
        else:
            shutil.copyfile(archive, aside)
        place.parent.mkdir(parents=True, exist_ok=True)
        _record(item, archive, place, origin, trusted=not checksum)
        aside.rename(place)
    except OSError as error:
        raise DownloadError(f"cannot put {archive} in place: {error}; free some space, or use --to") from error
    finally:
        _remove(aside)
    for file in work.iterdir():
        if file.name != ".lock":
            file.unlink(missing_ok=True)


def _record(item: Item, archive: Path, place: Path, origin: str, trusted: bool) -> None:
    state = file_state(archive)
    record = {"name": item.name, "archive": item.archive, "origin": origin, **state._asdict()}
    with atomic_write(record_path(place), "w") as file:
        json.dump({**record, "published_checksum": item.checksum or None}, file, indent=1)
    if trusted:
        log.warning(
            "no checksum of %s is published: this download is trusted, its sha256 %s is recorded in %s, and later "
            "downloads must agree with it",
            item.archive,
            state.sha256,
            record_path(place),
        )


def _remove(path: Path) -> None:
    """Delete a file or a tree, if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def _unpack(item: Item, archive: Path, aside: Path, place: Path) -> None:
    log.info("unpacking %s", archive.name)
    manifest = unpack(archive, aside, item.inside, item.limit)
    if lacks := missing_files(item, manifest):
        raise ArchiveError(f"{archive} is not {item.title}: it has {'; '.join(lacks)}; delete it")
    published = packaged_manifest(item.manifest)
    if not published:
        write_manifest(manifest_path(place), manifest)
        return
    for name in sorted({name for names in matching(item, manifest).values() for name in names} - published.keys()):
        log.warning("%s of the archive is left out: it does not belong to the data set", name)
        (aside / name).unlink()
    if others := changed_files(item, aside, sizes_in(aside), thorough=True):
        log.warning("%s is a different edition from the one this project was tested with: %s", place, "; ".join(others))


def _fault(item: Item, path: Path, checksum: str) -> str:
    """Why a file is not the expected one; "" if it is, as far as can be known."""
    if checksum:
        return "" if fits(path, checksum) else (_page(path) or f"its checksum is not {checksum}")
    try:
        if item.inside:
            lacks = missing_files(item, read_through(path, item.inside, item.limit))
            return f"it has {'; '.join(lacks)}" if lacks else ""
    except ArchiveError as error:
        return str(error)
    return ""


def _page(path: Path) -> str:
    return f"it {what}" if (what := instead_of(path)) else ""


def _fetch_from_mirrors(item: Item, archive: Path, folder: Path, checksum: str) -> str:
    """Fetch and check ``archive``; returns the address that served it."""
    if archive.is_file():  # complete, but the process was killed before it went on
        if not _fault(item, archive, checksum):
            return item.mirrors[0]
        archive.unlink()
    part = archive.with_name(f"{archive.name}.part")
    reasons = []
    for url in item.mirrors:
        log.info("downloading %s from %s", item.title, url)
        if not (reason := _fetch_patiently(item, url, part, checksum)):
            part.rename(archive)
            discard(part)
            return url
        reasons.append(f"{url} {reason}")
        log.warning("%s", reasons[-1])
    if part.is_file() and not part.stat().st_size:
        discard(part)
    kept = "The part that has arrived is kept, and the same command resumes from there. " if part.is_file() else ""
    raise DownloadError(
        f"cannot download {item.title}: {'; '.join(reasons)}. {kept}Try again later; or download one of these "
        f"elsewhere, and {item.by_hand(folder)}"
    )


def _fetch_patiently(item: Item, url: str, part: Path, checksum: str) -> str:
    """Fetch from one mirror, again and again as long as more arrives; returns why it failed, or ""."""
    reason = ""
    for attempt in range(ATTEMPTS):
        before = part.stat().st_size if part.is_file() else 0
        if attempt:
            time.sleep(PAUSE)
        try:
            fetch(url, part, item.name, item.size, item.limit, checked=bool(checksum))
        except FetchError as error:
            reason = str(error)
            if error.again and part.is_file() and part.stat().st_size != before:  # more arrived, or it started over
                continue
            return reason
        reason = _fault(item, part, checksum)
        if not reason:
            return ""
        discard(part)
        if not before:  # else the fault may be in the part from before: start over
            return reason
    return reason
