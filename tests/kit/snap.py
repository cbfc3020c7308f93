"""Pictures of the screen: `snap(app, "name")` compares with snapshots/name.svg.

For looks only; what the program does is tested on text. A picture depends on the exact versions of what draws it, so that it is
compared only where those of the `dev` extra are installed. `TLTUI_UPDATE_SNAPSHOTS=1` writes the pictures anew.
"""

from __future__ import annotations

import os
import re
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
_UNIQUE = re.compile(r"terminal-\d+")


def pins() -> dict[str, str]:
    """Return the versions that the pictures were made with."""
    text = PYPROJECT.read_text()
    return {name: re.search(rf'"{name}==([\d.]+)"', text)[1] for name in ("textual", "rich", "pygments")}  # type: ignore[index]


def why_not() -> str:
    """Why pictures cannot be compared here; '' when they can."""
    others = [f"{name} {version(name)} instead of {pin}" for name, pin in pins().items() if version(name) != pin]
    return f"the pictures in snapshots/ need other versions: {', '.join(others)}" if others else ""


def picture(app: App[Any]) -> str:
    """Return the screen as SVG, without what differs each time."""
    svg = app.export_screenshot(title="tltui", simplify=True)
    return _UNIQUE.sub("terminal", svg).replace("\xa0", "&#160;")


def snap(app: App[Any], name: str) -> None:
    """Compare the screen with its picture."""
    if reason := why_not():
        pytest.skip(reason)
    path, now = SNAPSHOTS / f"{name}.svg", picture(app)
    if os.environ.get("TLTUI_UPDATE_SNAPSHOTS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(now, "utf-8")
        return
    if not path.exists() or path.read_text("utf-8") != now:
        other = Path(tempfile.gettempdir()) / f"tltui-{name}.svg"
        other.write_text(now, "utf-8")
        pytest.fail(f"{path.name} looks different: compare it with {other}; TLTUI_UPDATE_SNAPSHOTS=1 accepts it")
