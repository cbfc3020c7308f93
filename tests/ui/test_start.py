"""The first frame waits for nothing that it does not show."""

from __future__ import annotations

import subprocess
import sys

LATER = ("tltui.analyses.study", "tltui.analyses.summary",
         "tltui.documents.build", "tltui.documents.overview.run", "tltui.documents.names",
         "tltui.documents.compare.compare", "tltui.screens.help", "tltui.screens.asking.goto", "tltui.screens.asking.palette",
         "tltui.screens.provenance", "pygments")  # fmt: skip
"""What is imported when it is first wanted: each costs a part of the 0.35 s."""


def test_what_the_first_frame_imports() -> None:
    code = "import sys, tltui.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in loaded if name.startswith(LATER)] == []


def test_no_widget_has_component_classes() -> None:
    """Textual resolves each of them for each widget again whenever a class of the screen changes."""
    code = "import tltui.app; from textual.widget import Widget\n" \
           "def below(cls): return {cls}.union(*map(below, cls.__subclasses__()))\n" \
           "print(*(c.__name__ for c in below(Widget) if c.__module__.startswith('tltui') and vars(c).get('COMPONENT_CLASSES')))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split() == []


def test_every_look_of_a_token_is_of_one_that_there_is() -> None:
    from tltui.text import tokens
    from tltui.widgets.looks import PARTS

    assert {part.removeprefix("tok-") for part in PARTS if part.startswith("tok-")} <= set(tokens.ALL)
