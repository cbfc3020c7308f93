"""The first frame waits for nothing that it does not show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LATER = ("tltui.questions.overview.compile_sections", "tltui.questions.overview.run_summary",
         "tltui.questions.build", "tltui.questions.overview.run_page", "tltui.questions.provenance.graph_names",
         "tltui.questions.compare.page", "tltui.screens.go_to", "tltui.screens.palette",
         "tltui.screens.provenance", "pygments")  # fmt: skip
"""What is imported when it is first wanted: each costs a part of the 0.35 s."""


def test_what_the_first_frame_imports() -> None:
    code = "import sys, tltui.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in loaded if name.startswith(LATER)] == []


def test_every_rule_of_style_is_for_a_style_that_there_is() -> None:
    from tltui.widgets.bars import Bar
    from tltui.widgets.document_view import DocumentView
    from tltui.widgets.trace_tree import TraceTree

    rules = (Path(__file__).parents[2] / "src" / "tltui" / "styles.tcss").read_text()
    known = Bar.COMPONENT_CLASSES | TraceTree.COMPONENT_CLASSES | DocumentView.COMPONENT_CLASSES
    assert set(re.findall(r"\.((?:bar|tree|document)--[\w-]+)", rules)) <= known
