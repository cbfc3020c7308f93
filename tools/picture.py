"""Make the README's picture: `python tools/picture.py` (needs the `dev` extra, pinned versions)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tltui.app import TltuiApp
from tltui.config import Config
from tltui.model.run import Run
from tltui.sources.discover import discover

ROOT = Path(__file__).parent.parent
SIZE = (120, 36)


async def picture() -> str:
    """The main screen on the demo trace, at a graph break."""
    found = discover([str(ROOT / "src" / "tltui" / "demo")])
    app = TltuiApp(Run(found), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=SIZE) as pilot:
        while not (app.browser.is_mounted and app.browser.trace.finished):
            await pilot.pause(0.05)
        app.browser.go("0:5/0")
        while app.browser.document_view.document.ref != "0:5/0":
            await pilot.pause(0.05)
        await pilot.pause(0.2)
        return app.export_screenshot(title="tltui --demo")


if __name__ == "__main__":
    (ROOT / "snapshots" / "readme.svg").write_text(asyncio.run(picture()), "utf-8")
