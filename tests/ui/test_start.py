"""The first frame waits for nothing that it does not show."""

from __future__ import annotations

import subprocess
import sys

LATER = ("tltui.analyses.study", "tltui.analyses.summary",
         "tltui.documents.build", "tltui.documents.overview_run", "tltui.documents.names",
         "tltui.documents.compare", "tltui.screens.help", "tltui.screens.goto", "tltui.screens.palette",
         "tltui.screens.provenance", "pygments")  # fmt: skip
"""What is imported when it is first wanted: each costs a part of the 0.35 s."""


def test_what_the_first_frame_imports() -> None:
    code = "import sys, tltui.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in loaded if name.startswith(LATER)] == []
