"""The guide says what is true today: its output is real, its links lead somewhere, its commands can be typed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from real import ROOT

GUIDE = ROOT / "docs" / "guide"


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_guide", ROOT / "tools" / "make_guide.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_guide"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(GUIDE.glob("*.md")), ids=lambda path: path.stem)
def test_the_output_in_the_guide_is_todays(path: Path) -> None:
    text = path.read_text("utf-8")
    assert tool().with_output(text) == text, "run: python tools/make_guide.py"


def test_a_chapter_that_drifted_is_found(tmp_path: Path) -> None:
    made = tool()
    stale = "# A\n\n<!-- run: demo as demo, lines 1 3 -->\n```console\n$ tltui ls --demo\nold\n```\n"
    fresh = made.with_output(stale)
    assert fresh != stale and "old" not in fresh and made.with_output(fresh) == fresh
    assert fresh.split("```console\n")[1].splitlines()[2] == "…"
    with pytest.raises(made.Stale, match="ends with 2"):
        made.with_output(stale.replace("ls --demo", "ls nowhere"))
    with pytest.raises(made.Stale, match="are wanted"):
        made.with_output(stale.replace("lines 1 3", "lines 1-999"))
