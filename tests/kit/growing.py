"""A log that is written while tltui shows it: the test says when there is more, and looks at what became of the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from opened import Driver
from screen import screen_lines
from textual.geometry import Region

from tltui.app import TltuiApp
from tltui.config import Config
from tltui.messages import Scanned
from tltui.model.follow import Follower
from tltui.model.run import Run
from tltui.sources.discover import Discovery
from tltui.sources.file_writers import Writers
from tltui.widgets.document_view import DocumentView
from tltui.widgets.trace_tree import TraceTree


class Written(Writers):
    """Somebody writes until the test says that it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.over = False

    def quiet(self, status: Any) -> bool:
        return self.over

    def ended(self, files: dict[str, Any]) -> set[str]:
        return set(files) if self.over else set()


class HeldScan:
    """Reads nothing: the test does."""

    def __init__(self, *args: object, **options: object) -> None:
        """As `Scan` is made."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: None


class Live(Driver):
    """tltui on a directory that grows."""

    def __init__(self, app: TltuiApp, pilot: Any, follower: Follower, writers: Written) -> None:
        super().__init__(app, pilot)
        self.follower = follower
        self._writers = writers
        self.repainted: list[tuple[str, int]] = []
        """Rows of the panes that were repainted since this was cleared; -1 for a whole pane."""

    @property
    def view(self) -> DocumentView:
        """The document."""
        return self.browser.document_view

    @property
    def tree(self) -> TraceTree:
        """The tree."""
        return self.browser.tree_view

    async def poll(self) -> None:
        """Read what was written, and wait until all is drawn."""
        for event in self.follower.read(1 << 16):
            self.browser.post_message(Scanned((event,)))
        await self.pilot.pause()
        await self.until(lambda: self.browser.is_at_rest)
        await self.pilot.pause()

    async def end(self) -> None:
        """Nobody writes any more."""
        self._writers.over = True
        await self.poll()

    def line(self) -> str:
        """Return the line under the cursor of the document."""
        return self.view.document.line(self.view.current_line()).text

    def row(self) -> int:
        """Return the screen row of the document's cursor."""
        return self.view.rows.row_of(*self.view.cursor) - self.view.scroll_offset.y

    def place(self) -> tuple[str, int]:
        """Return the node under the cursor of the tree, and its screen row."""
        return self.tree.node.key, self.tree.cursor - self.tree.scroll_offset.y

    def document_rows(self) -> list[str]:
        """Return the text of the document's pane, without the scroll bar."""
        region, width = self.view.content_region, self.view.scrollable_content_region.width
        return [line[region.x : region.x + width].rstrip() for line in screen_lines(self.app)[region.y : region.bottom]]

    def tree_rows(self) -> list[str]:
        """Return the text of the tree's pane, without the scroll bar."""
        region, width = self.tree.content_region, self.tree.scrollable_content_region.width
        return [line[region.x : region.x + width].rstrip() for line in screen_lines(self.app)[region.y : region.bottom]]


def _note_repaints(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (DocumentView, TraceTree):
        plain = kind.refresh

        def refresh(self: Any, *regions: Region, _plain: Any = plain, **options: Any) -> Any:
            name = "tree" if isinstance(self, TraceTree) else "document"
            if options.get("repaint", True):
                rows = [row for region in regions for row in range(region.y, region.bottom)] if regions else [-1]
                live.repainted += [(name, row) for row in rows]
            return _plain(self, *regions, **options)

        monkeypatch.setattr(kind, "refresh", refresh)


@asynccontextmanager
async def growing(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int] = (120, 40),
    paths: Iterable[Path] = (),
    untouched: bool = False,
) -> AsyncIterator[Live]:
    """Run tltui on a directory that grows, read as far as it is written, with the cursor where `opened` puts it.

    `untouched`: no key is pressed before.
    """
    monkeypatch.setattr("tltui.screens.live_updates.Scan", HeldScan)
    monkeypatch.setattr("tltui.screens.live_updates.REDRAW", 0.0)
    discovery, writers = Discovery([str(path) for path in paths or (directory,)]), Written()
    run = Run(discovery.discover())
    app = TltuiApp(run, Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=size) as pilot:
        live = Live(app, pilot, Follower(run, discovery, writers), writers)
        _note_repaints(live, monkeypatch)
        await live.until(lambda: app.browser.is_mounted and app.browser.is_at_rest)
        await live.poll()
        app.browser.post_message(Scanned((None,)))
        await live.poll()
        if not untouched:
            await live.to_trouble()
            app.browser.user_acts()
        yield live
    assert app.faults == []
