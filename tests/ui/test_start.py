"""The first frame waits for nothing that it does not show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from real import DEMO
from screen import screen_text, until

from tltui.app import TltuiApp
from tltui.config import Config
from tltui.model.run import Run
from tltui.screens import main_screen
from tltui.sources.discover import discover
from tltui.work.reader_threads import Scan

LATER = ("tltui.questions.overview.compile_sections", "tltui.questions.overview.run_summary",
         "tltui.questions.overview.run_page", "tltui.questions.provenance.graph_names",
         "tltui.questions.compare.page", "tltui.screens.palette",
         "tltui.screens.provenance", "pygments")  # fmt: skip
"""What is imported when it is first wanted: each costs a part of the 0.35 s."""


def test_what_the_first_frame_imports() -> None:
    code = "import sys, tltui.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in loaded if name.startswith(LATER)] == []


AT_FIRST_FRAME = """
import sys
from tltui.app import TltuiApp
from tltui.config import Config
from tltui.model.run import Run
from tltui.screens.browser import Browser
from tltui.sources.discover import discover

def begin(self):
    self.app.exit(list(sys.modules))

Browser._begin = begin
app = TltuiApp(Run(discover([sys.argv[1]])), Config(), theme="dark", ascii_only=False, mouse=True)
print(*app.run(headless=True, size=(120, 40)))
"""
MODULES, OURS = 543, 146
"""Modules at most that are imported before the first frame, and how many of them are ours. Before you allow one more, see
whether it can wait until it is needed."""


def test_how_many_modules_the_first_frame_imports(tmp_path: Path) -> None:
    command = [sys.executable, "-c", AT_FIRST_FRAME, str(DEMO)]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True, env={"HOME": str(tmp_path)}).stdout.split()
    assert len(loaded) <= MODULES and sum(name.partition(".")[0] == "tltui" for name in loaded) <= OURS


@pytest.mark.parametrize(("command", "most"), [("ls", 108), ("summary", 197)])
def test_how_many_modules_a_command_imports(command: str, most: int) -> None:
    code = "import sys; from tltui.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, command, str(DEMO)], check=True, capture_output=True, text=True)
    loaded = done.stderr.split()
    assert 50 < sum(name.partition(".")[0] == "tltui" for name in loaded) <= most


async def test_a_pane_without_a_page_shows_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_screen, "FIRST_PAGE", 3600.0)
    start = Scan.start
    held: list[Scan] = []

    def hold(scan: Scan) -> None:
        held.append(scan)

    monkeypatch.setattr(Scan, "start", hold)
    app = TltuiApp(Run(discover([str(DEMO)])), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: held)
        assert "reading demo, 2.7 MB …" in screen_text(app) and not app.browser.is_at_rest
        start(held[0])
        await until(pilot, lambda: app.browser.is_at_rest)
        assert "reading demo" not in screen_text(app) and "Start here" in screen_text(app)


async def test_a_run_that_takes_long_to_read_has_a_page_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_screen, "FIRST_PAGE", 0.01)
    monkeypatch.setattr(Scan, "start", lambda self: None)
    app = TltuiApp(Run(discover([str(DEMO)])), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "still reading: 0% of 2.7 MB;" in screen_text(app))


def test_no_widget_has_component_classes() -> None:
    """Textual resolves each of them for each widget again whenever a class of the screen changes."""
    code = "import tltui.app; from textual.widget import Widget\n" \
           "def below(cls): return {cls}.union(*map(below, cls.__subclasses__()))\n" \
           "print(*(c.__name__ for c in below(Widget) if c.__module__.startswith('tltui') and vars(c).get('COMPONENT_CLASSES')))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split() == []


def test_every_look_of_a_token_is_of_one_that_there_is() -> None:
    from tltui.text import tokens
    from tltui.widgets.themes import PARTS

    assert {part.removeprefix("tok-") for part in PARTS if part.startswith("tok-")} <= set(tokens.ALL)
