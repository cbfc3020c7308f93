"""--ascii: nothing above U+007F on the screen, whatever is shown; exports have the characters that there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import Driver, log_of, opened
from real import DEMO, TRACES
from screen import screen_lines, screen_text

from tltui.text.formatting import PAYLOAD, REAL, SIGNS, WORDS, cells

NAMES = ("naïve_größe", "数据处理", "bad_🙂_emoji", "break_e\u0301té", "arrow→there…")
PAYLOAD_LINE = "    # é → 数据 🙂 e\u0301 \u202e \x1b[31m ✓ …"
SIZES = [(120, 40), (60, 20)]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A trace of functions whose names, files and payloads are not ASCII."""
    log = log_of([(n, 1 + n % 2, name) for n, name in enumerate(NAMES)], rank=0)
    log = log.replace(b"/home/user/model.py", "/home/usér/模型.py".encode()).replace(b"\t    pass", f"\t{PAYLOAD_LINE}".encode())
    (tmp_path / "trace").mkdir()
    for rank in (0, 1):
        text = log.replace(b'"rank": 0', b'"rank": %d' % rank)
        (tmp_path / "trace" / f"dedicated_log_torch_trace_rank_{rank}_ü.log").write_bytes(text)
    return tmp_path / "trace"


def nothing_else(driver: Driver) -> None:
    """Each cell of the screen is ASCII."""
    assert [line for line in screen_lines(driver.app) if not line.isascii()] == []


async def walk(driver: Driver, *keys: str) -> None:
    for key in keys:
        await driver.press(*key.split())
        await driver.pilot.pause(0.02)
        nothing_else(driver)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_names_and_payloads(hostile: Path, size: tuple[int, int]) -> None:
    async with opened(hostile, size=size, ascii_only=True) as driver:
        nothing_else(driver)
        await walk(driver, "g", "minus", "equals_sign", "j j", "b", "e", "r", "t", "t", *"12345678", "W", "0", "0")
        for name in ("0:1/0:dynamo_output_graph", "0:1/", "1:2/0", "@damage"):
            driver.browser.go(name)
            await walk(driver, "tab", "j", "l", "w", "V j", "escape", "w", "G", "g", "tab")
        driver.browser.go("0:1/0:dynamo_output_graph")
        await driver.until(lambda: "\\u6570\\u636e" in screen_text(driver.app) or size[0] < 100)
        await walk(driver, "p", "escape", "d", "> d", "j", "escape", "question_mark", "G", "escape", "x", "escape", "o", "escape")


@pytest.mark.parametrize(
    ("trace", "size"), [(DEMO, (80, 24)), (TRACES / "torch-2.13" / "recompiles", (160, 40))], ids=("demo", "recompiles")
)
async def test_our_own_words(trace: Path, size: tuple[int, int]) -> None:
    async with opened(trace, size=size, ascii_only=True) as driver:
        nothing_else(driver)
        await walk(driver, "equals_sign", "g", "e", "b", "r", *"12345678", "8", "W", "0", "P", "escape")
        for view in ("guards", "metrics", "timing"):
            driver.browser.go(f"@{view}")
            await walk(driver, "tab", "pagedown", "tab")
        for ref in ("0/1", "0/0:inductor_output_code"):
            driver.browser.go(ref)
            await walk(driver, "p", "j", "tab", "escape", "D", "j", "escape", "tab", "slash", "escape", "pagedown", "tab")
        await walk(driver, "o", "escape", "x", "escape", "s", "escape", "colon", "escape", "question_mark", "escape")


async def test_an_export_has_the_characters(hostile: Path, tmp_path: Path) -> None:
    async with opened(hostile, ascii_only=True) as driver:
        for ref, wanted in (("0:1/0:dynamo_output_graph", "é → 数据 🙂"), ("0:1/", "数据处理"), ("@problems", "⚑")):
            driver.browser.go(ref)
            await driver.shown(ref)
            file = tmp_path / f"{len(wanted)}.txt"
            await driver.press("x", "ctrl+u")
            await driver.type(str(file))
            await driver.press("enter")
            await driver.until(lambda wanted=wanted, file=file: file.exists() and wanted in file.read_text())
            nothing_else(driver)


async def test_a_click_and_the_caret_know_how_wide_a_character_is_drawn(hostile: Path) -> None:
    async with opened(hostile, ascii_only=True) as driver:
        driver.browser.go("0:1/0:dynamo_output_graph")
        await driver.shown("0:1/0:dynamo_output_graph")
        view = driver.browser.document_view
        line = view.document.line(1).text
        assert line.startswith("    # é → 数据")
        assert "# \\u00e9 \\u2192 \\u6570\\u636e \\U0001f642 e\\u0301" in screen_lines(driver.app)[3]
        column = view.gutter_width + cells("    # ") + 6 + 1  # behind the é and a blank
        assert view.place_at(column, 1) == (1, line.index("→"))
        assert view.place_at(column + 5, 1) == (1, line.index("→"))
        assert view.place_at(column + 7, 1) == (1, line.index("数"))


def test_what_is_drawn_for_a_text() -> None:
    assert PAYLOAD.drawn("é→🙂") == "\\u00e9\\u2192\\U0001f642"
    assert PAYLOAD.drawn("␛[31m␡") == "\\x1b[31m\\x7f"
    assert WORDS.drawn("é→…") == "\\u00e9->~"
    assert REAL.drawn("é→🙂") == "é→🙂"
    assert all(sign.isascii() and cells(char) == 1 for char, sign in SIGNS.items())
    assert [char for char, sign in SIGNS.items() if len(sign) != 1] == ["→", "←", "↩"]
    for script in (WORDS, PAYLOAD):
        for text in ("", "abc", "é→x🙂", "数据"):
            assert script.cells(text) == len(script.drawn(text))
            for width in range(24):
                fitting = script.fitting(text, width)
                assert script.cells(text[:fitting]) <= width
                assert fitting == len(text) or script.cells(text[: fitting + 1]) > width
