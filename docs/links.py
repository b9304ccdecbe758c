"""Check a built site: `python docs/links.py build/docs`.

Each link within it leads to a page and an anchor, and each picture and script is there. Nothing may be loaded from
elsewhere, so that the site can be read without a network; links to elsewhere are not followed.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src", "video": "src"}


class Page(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {"", "top"}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value for key, value in attrs if value}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


def find_faults(site: Path) -> list[str]:
    """What is wrong, one line each: the page, and where it leads."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    faults = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    faults.append(f"{name} loads {link}")
                continue
            address, anchor = (unquote(part) for part in urldefrag(link))
            target = (path.parent / urlsplit(address).path).resolve() if address else path
            if not target.is_file():
                faults.append(f"{name} leads to {link}, which does not exist")
            elif target in pages and anchor not in pages[target].anchors:
                faults.append(f"{name} leads to {link}, where there is no such anchor")
    return faults


def main(folder: str) -> int:
    site = Path(folder)
    if not any(site.rglob("*.html")):
        print(f"{site} has no pages: run 'make docs'", file=sys.stderr)
        return 1
    faults = find_faults(site)
    print("\n".join(faults), end="\n" * bool(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
