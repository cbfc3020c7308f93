"""The guide says what is true today: its output is real, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from real import ROOT

GUIDE = ROOT / "docs" / "guide"
QUESTIONS = ROOT / "docs" / "questions"


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_guide", ROOT / "tools" / "make_guide.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_guide"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


RENEWED = [ROOT / "README.md", *sorted(GUIDE.glob("*.md")), *sorted(QUESTIONS.glob("*.md"))]


@pytest.mark.parametrize("path", RENEWED, ids=lambda path: path.relative_to(ROOT).as_posix())
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


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)).strip().lower().replace(" ", "-")


def anchors(path: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {slug(match[1]) for match in re.finditer(r"^#+ (.+)$", text, re.MULTILINE)} | set(re.findall(r'<a id="([\w.-]+)"', text))


def broken(path: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = []
    for href in re.findall(r"(?<!`)\]\(([^)\s]+)\)", text):
        file, _, anchor = href.partition("#")
        if "://" in href:
            continue
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(href)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path: Path) -> None:
    assert not broken(path)


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# Two words\n\n[a](#two-words) [b](b.md) [c](#three) [d](https://example.org/x)\n")
    assert broken(page) == ["b.md", "#three"]


def test_the_readme_is_short_and_its_pictures_small() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 140
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert len(pictures) == 3
    assert all((ROOT / name).stat().st_size < 150_000 for name in pictures)


def test_each_flag_of_tlparse_is_answered() -> None:
    tlparse = Path(sys.executable).with_name("tlparse")
    if not tlparse.exists():
        pytest.skip("tlparse is not installed")
    said = subprocess.run([tlparse, "--help"], capture_output=True, text=True, check=True).stdout
    flags = re.findall(r"^ +(?:(-\w), )?(?:    )?(--[\w-]+)?", said, re.MULTILINE)
    text = (GUIDE / "tlparse.md").read_text("utf-8")
    named = [flag for pair in flags for flag in pair if flag]
    assert len(named) > 12
    assert [flag for flag in named if f"`{flag}" not in text] == []


def test_each_page_of_tlparse_is_answered(tmp_path: Path) -> None:
    tlparse = Path(sys.executable).with_name("tlparse")
    if not tlparse.exists():
        pytest.skip("tlparse is not installed")
    text = (GUIDE / "tlparse.md").read_text("utf-8")
    trace = ROOT / "tests" / "traces" / "torch-2.13"
    seen: set[str] = set()
    for number, (options, path) in enumerate((
        ([], next((trace / "recompiles").glob("*.log"))), (["-i"], next((trace / "train").glob("*.log"))),
        (["--all-ranks-html"], trace / "ddp"), (["-e"], next((trace / "draft_export").glob("*.log"))),
    )):  # fmt: skip
        out = tmp_path / str(number)
        subprocess.run([tlparse, *options, path, "-o", out, "--no-browser"], capture_output=True, check=False)
        seen |= {re.sub(r"provenance_tracking_.*", "provenance_tracking_", own.name) for own in out.iterdir()}
        seen |= {own.name for own in out.glob("rank_*/*") if own.name[0] != "-"}
    pages = {name for name in seen if not re.match(r"rank_|-_\d", name)}
    assert len(pages) > 7
    assert [name for name in sorted(pages) if name not in text] == []
