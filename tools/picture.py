"""Make the README's pictures: `python tools/picture.py` (needs the `dev` extra, pinned versions)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from tltui.app import TltuiApp
from tltui.config import Config
from tltui.model.run import Run
from tltui.sources.discover import discover

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "src" / "tltui" / "demo"
TRACES = ROOT / "tests" / "traces" / "torch-2.13"
PICTURES = {
    "readme": (DEMO, "tltui --demo", (120, 36), ""),
    "readme-recompiles": (TRACES / "recompiles", "tltui /tmp/tracedir  ·  3", (120, 36), "3"),
    "readme-provenance": (TRACES / "train", "tltui /tmp/tracedir  ·  p", (160, 36), "p"),
}
"""Name → trace, title, columns and rows, key."""


async def picture(trace: Path, title: str, size: tuple[int, int], key: str) -> str:
    """Return the screen after a key, '' for the first one."""
    app = TltuiApp(Run(discover([str(trace)])), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=size) as pilot:
        await _until(pilot, lambda: app.browser.is_mounted and app.browser.trace.finished)
        if key == "p":
            app.browser.go("0/0")
            await _until(pilot, lambda: app.browser.document_view.document.ref == "0/0")
        if key:
            await pilot.press(key)
        if key == "p":
            await _until(pilot, lambda: app.screen is not app.browser)
            await pilot.pause(2)
            for _ in range(6):
                await pilot.press("full_stop")
        elif key:
            await _until(pilot, lambda: app.browser.document_view.document.ref == "@recompiles")
        else:
            await _until(pilot, lambda: len(app.browser.document_view.document) > 1)
        await pilot.pause(1)
        return app.export_screenshot(title=title)


async def _until(pilot: Pilot[object], is_so: Callable[[], bool]) -> None:
    while not is_so():
        await pilot.pause(0.05)


if __name__ == "__main__":
    for name, how in PICTURES.items():
        (ROOT / "snapshots" / f"{name}.svg").write_text(asyncio.run(picture(*how)), "utf-8")
