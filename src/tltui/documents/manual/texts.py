"""Texts of the guide, their order, and the terms of the glossary.

The sources are in `docs/`. A wheel has a copy in `tltui/help` (`pyproject.toml`); a clone reads the sources.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from tltui.text.frozen import frozen

CHAPTERS = (
    "first-trace", "recompiles", "graph-breaks", "compile-time", "ranks", "hangs", "logs", "kernels", "run-time", "ci", "sharing",
    "clusters", "tlparse",
)  # fmt: skip
"""Names of the chapters, in the order in which they are listed: the file `docs/guide/NAME.md`, the page `@guide::NAME`."""
_ENTRY = re.compile(r'^\| <a id="(?P<name>[\w.-]+)"></a>(?P<word>[^|]+?) \|', re.MULTILINE)


@frozen
class Entry:
    """A word that the glossary explains."""

    name: str
    """Of its anchor, and in its address: `graph-break`."""
    word: str
    heading: str
    cells: tuple[str, ...]
    """Its row, as markdown, without the word."""
    columns: tuple[str, ...]
    """What stands above the cells."""


@cache
def text_of(name: str) -> str:
    """Read the markdown of a chapter (`guide/recompiles`) or of `glossary`. Raises OSError."""
    folder, _, file = f"{name}.md".rpartition("/")
    shipped = files("tltui").joinpath("help")
    if shipped.is_dir():  # also in a zip
        return (shipped.joinpath(folder) if folder else shipped).joinpath(file).read_text(encoding="utf-8")
    return Path(__file__).parents[4].joinpath("docs", folder, file).read_text("utf-8")


def title_of(chapter: str) -> str:
    """`My model recompiles`."""
    return text_of(f"guide/{chapter}").partition("\n")[0].removeprefix("# ")


def symptom_of(chapter: str) -> str:
    """Return the quote of a chapter: its symptom in the user's words."""
    quoted = re.search(r"(?:^> .*\n)+", text_of(f"guide/{chapter}"), re.MULTILINE)
    return " ".join(line[2:] for line in quoted[0].splitlines()) if quoted else ""


@cache
def entries() -> dict[str, Entry]:
    """All words, by their names, in the order of the page."""
    results: dict[str, Entry] = {}
    for part in text_of("glossary").split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        rows = [line for line in body.splitlines() if line.startswith("| ")]
        for row in rows[2:]:
            match = _ENTRY.match(row)
            if match:
                cells, columns = _cells(row), _cells(rows[0])
                results[match["name"]] = Entry(match["name"], match["word"], heading, cells[1:], columns[1:])
    return results


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|")))


def _slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def matching_entries(term: str) -> list[Entry]:
    """Return the glossary entries that match a term.

    Exact matches first, then prefixes, then substrings. The anchor of a heading matches all entries below it.
    """
    if below := [entry for entry in entries().values() if _slug(entry.heading) == term]:
        return below
    wanted = " ".join(term.lower().replace("-", " ").replace("_", " ").split())
    if not wanted:
        return []
    said = {entry: entry.word.lower().replace("_", " ") for entry in entries().values()}
    plain = wanted[:-1] if wanted.endswith("s") else wanted
    return (
        [entry for entry, word in said.items() if {wanted, plain} & {*word.split(", "), entry.name.replace("-", " ")}]
        or [entry for entry, word in said.items() if word.startswith(wanted)]
        or [entry for entry, word in said.items() if wanted in word]
    )
