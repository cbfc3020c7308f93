"""tltui on a trace, for tests: opened, read to its end, and at rest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from real import TRACES
from screen import until
from textual.events import Paste
from textual.pilot import Pilot

from tltui.app import TltuiApp
from tltui.config import Config
from tltui.model.run import Run, in_order
from tltui.model.status import Status
from tltui.screens.browser import Browser
from tltui.screens.prompts import Prompting
from tltui.screens.workbench import front
from tltui.sources.discover import discover
from tltui.widgets.bars import RunBar

BREAKS = TRACES / "torch-2.13" / "breaks"


class Driver:
    """Presses keys and waits for what they lead to."""

    def __init__(self, app: TltuiApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def browser(self) -> Browser:
        """The main screen."""
        return self.app.browser

    @property
    def message(self) -> str:
        """The line below."""
        return self.browser.status.plain_text().strip()

    @property
    def run_bar(self) -> str:
        """The line above."""
        return self.browser.query_one(RunBar).plain_text()

    @property
    def at(self) -> str:
        """The address of the node under the cursor of the tree."""
        return self.browser.tree_view.node.ref

    @property
    def title(self) -> str:
        """The title of the document that is shown."""
        return self.browser.document_view.document.title

    @property
    def prompt(self) -> Prompting:
        """What is asked on the screen that is in front."""
        bench = front(self.app)
        assert bench is not None
        return bench.prompt

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Type a text into the prompt that is open; pasting is quicker than a key for each letter."""
        await self.until(lambda: self.prompt.is_open)
        self.app.post_message(Paste(text))
        await self.until(lambda: text in self.prompt.text)

    async def retype(self, text: str) -> None:
        """Type a text in the place of the one that is proposed."""
        await self.until(lambda: self.prompt.is_open)
        await self.press("ctrl+u")
        await self.type(text)

    async def until(self, condition: Any) -> None:
        """Wait for what a helper thread finds."""
        await until(self.pilot, condition)

    async def shown(self, ref: str) -> None:
        """Wait for the document at an address."""
        await self.until(lambda: self.browser.document_view.document.ref == ref and self.browser.shown_ref == ref)

    async def to_trouble(self) -> None:
        """To the tree, and in it to what a test of the keys begins with."""
        run, browser = self.browser.trace, self.browser
        for status in (Status.ERROR, Status.EAGER, Status.BREAK, None):
            compile_ = next((c for c in in_order(run) if status in (c.status, None)), None)
            if compile_ is not None:
                browser.show_ref(str(compile_.ref), by_user=False)
                browser.reveal(compile_)
                break
        browser.tree_view.focus()
        await self.rest()

    async def rest(self) -> None:
        """Wait until the document has followed the tree."""
        await self.until(lambda: self.browser.document_view.document.ref == self.browser.shown_ref == self.at)


@asynccontextmanager
async def opened(
    *paths: Path | str,
    size: tuple[int, int] = (120, 40),
    theme: str = "dark",
    config: Config | None = None,
    ascii_only: bool = False,
    mouse: bool = True,
    wait: bool = True,
    faults: bool = False,
    untouched: bool = False,
) -> AsyncIterator[Driver]:
    """Run tltui on paths, with the tree on the first compile that failed, else in eager mode, with a break, else the first one.

    `untouched`: no key is pressed before. `faults`: the test causes faults of tltui; else there must be none.
    """
    discovered = discover([str(path) for path in paths or (BREAKS,)])
    app = TltuiApp(Run(discovered), config or Config(), theme=theme, ascii_only=ascii_only, mouse=mouse)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        if wait:
            await driver.until(lambda: app.browser.is_mounted and app.browser.trace.finished)
            await driver.until(lambda: not _is_reading(driver))
            await driver.until(lambda: app.browser.is_at_rest)
            await driver.rest()
            await pilot.pause()
            if not untouched:
                await driver.to_trouble()
        yield driver
    if not faults:
        assert app.faults == []


def _is_reading(driver: Driver) -> bool:
    return "reading" in driver.run_bar


def log_of(frames: Iterable[tuple[int, int, str]], *, rank: int | None = None, pid: int = 1) -> bytes:
    """Return a small log of (frame, compiles, function); the last compile of `bad…` fails, those of `break…` break."""
    out = ['{"str": ["/home/user/model.py", 0]}']
    where = "" if rank is None else f', "rank": {rank}'
    for frame, compiles, name in frames:
        for number in range(compiles):
            ids = f'"frame_id": {frame}, "frame_compile_id": {number}, "attempt": 0{where}'
            out.append(f'{{"dynamo_start": {{"stack": [{{"line": {frame + 1}, "name": "{name}", "filename": 0}}]}}, {ids}}}')
            if name.startswith("break"):
                event = '"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}'
                out.append(f'{{{event}, {ids}, "has_payload": "0"}}\n\tGraph break')
            out.append(f'{{"dynamo_output_graph": {{}}, {ids}, "has_payload": "0"}}\n\tclass GraphModule:\n\t    pass')
            failed = ', "fail_type": "Error", "fail_reason": "why"' if name.startswith("bad") and number == compiles - 1 else ""
            code = f'"co_name": "{name}", "co_filename": "/home/user/model.py", "co_firstlineno": {frame + 1}'
            out.append(f'{{"compilation_metrics": {{{code}, "graph_op_count": 2{failed}}}, {ids}}}')
    head = f"V1120 10:00:00.000000 {pid} torch/x.py:1] "
    return "".join(f"{head}{line}\n" for line in out).encode()
