"""torch's own list of graph breaks, from a torch that is installed beside tltui.

torch ships a file that has, for each id `gbNNNN`, the explanation and the hints with placeholders for what a trace fills
in. Logs of older versions name an id and leave some of it out. The file is looked for and read, torch is never imported:
that would take seconds, and memory on the node where somebody's job runs.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tltui.trace.grammar import parse_json

FILE = "_dynamo/graph_break_registry.json"
LIMIT = 16 << 20
_VERSION = re.compile(r"""^__version__(?:\s*:[^=]*)?\s*=\s*['"]([^'"\n]{1,80})['"]""", re.MULTILINE)
_HOLE = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Registered:
    """What the installed torch has on an id. `{…}` are placeholders that only a trace fills in."""

    gb: str
    title: str
    context: str
    explanation: str
    hints: tuple[str, ...]
    torch: str
    """The version of the installed torch, '' if it is not known. It may be another than that of the trace."""


def installed_torch() -> Path | None:
    """The directory of an installed torch, found without importing it."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, AttributeError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


@lru_cache(maxsize=4)
def registry(directory: Path | None) -> dict[str, Registered]:
    """The registry of the torch in this directory; empty where there is none, or none that can be read."""
    if directory is None:
        return {}
    try:
        with open(directory / FILE, "rb") as file:
            entries = parse_json(file.read(LIMIT))
    except (OSError, ValueError):
        return {}
    version = _version(directory)
    found = {}
    for name, versions in entries.items() if isinstance(entries, dict) else ():
        entry = next((item for item in versions if isinstance(item, dict)), None) if isinstance(versions, list) else None
        if entry is not None:
            found[name.lower()] = _entry(name.lower(), entry, version)
    return found


def registered(gb: str | None) -> Registered | None:
    """What the torch installed beside tltui has on an id."""
    return registry(installed_torch()).get(gb.lower()) if gb else None


def adds(known: Registered | None, explanation: str, hints: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The explanation and the hints that a registry has and the trace has not."""
    if known is None:
        return "", ()
    more = tuple(hint for hint in known.hints if not any(_says(hint, own) for own in hints))
    return ("" if explanation else known.explanation), more


def _says(template: str, text: str) -> bool:
    """Whether `text` has `template` with its placeholders filled in: the registry cuts some hints into pieces."""
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in _HOLE.split(template))
    return re.search(pattern.replace(r"\ ", " *"), " ".join(text.split())) is not None


def _entry(gb: str, entry: dict[str, object], version: str) -> Registered:
    def text(key: str) -> str:
        value = entry.get(key)
        return value.strip() if isinstance(value, str) else ""

    hints = entry.get("Hints")
    told = tuple(hint.strip() for hint in hints if isinstance(hint, str)) if isinstance(hints, list) else ()
    return Registered(gb, text("Gb_type"), text("Context"), text("Explanation"), tuple(filter(None, told)), version)


def _version(directory: Path) -> str:
    try:
        with open(directory / "version.py", encoding="utf-8", errors="replace") as file:
            match = _VERSION.search(file.read(1 << 16))
    except OSError:
        return ""
    return match[1] if match else ""
