"""Make the README's pictures: `python tools/picture.py` (needs the `dev` extra, pinned versions)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from textual.pilot import Pilot

from tltui.app import TltuiApp
from tltui.config import Config
from tltui.model.run import Run
from tltui.sources.discover import discover

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "src" / "tltui" / "demo"
TRACES = ROOT / "tests" / "traces" / "torch-2.13"
PICTURES = {
    "readme-recompiles": (TRACES / "recompiles", "tltui /tmp/tracedir  ·  3", (120, 36), "3"),
    "readme-provenance": (TRACES / "train", "tltui /tmp/tracedir  ·  p", (160, 36), "p"),
}
"""Name → trace, title, columns and rows, key."""


class Step(NamedTuple):
    """A screen of the animation."""

    key: str
    """The key that leads to it; '' for the first screen."""
    title: str
    seconds: float
    go: str = ""
    """The compile that is shown before the key."""


STEPS = (
    Step("", "tltui --demo", 4),
    Step("e", "e · the next error: here a function that fell back to eager mode", 4),
    Step("b", "b · the next graph break, with torch's advice", 4),
    Step("3", "3 · recompilations: the values that changed, and the fix", 5),
    Step("p", "p · your line, its graph nodes, its kernel", 5, go="0:0/0"),
)
ANIMATION = "readme-animation"
COLUMNS, ROWS = 120, 34
"""Size of the animated screen."""


async def picture(trace: Path, title: str, size: tuple[int, int], key: str) -> str:
    """Return the screen after a key."""
    app = TltuiApp(Run(discover([str(trace)])), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=size) as pilot:
        await _until(pilot, lambda: app.browser.is_mounted and app.browser.trace.finished)
        if key == "p":
            app.browser.go("0/0")
            await _until(pilot, lambda: app.browser.document_view.document.ref == "0/0")
        await pilot.press(key)
        if key == "p":
            await _until(pilot, lambda: app.screen is not app.browser)
            await pilot.pause(2)
            for _ in range(6):
                await pilot.press("full_stop")
        else:
            await _until(pilot, lambda: app.browser.document_view.document.ref == "@recompiles")
        await pilot.pause(1)
        return app.export_screenshot(title=title)


async def _until(pilot: Pilot[object], is_so: Callable[[], bool]) -> None:
    while not is_so():
        await pilot.pause(0.05)


async def screens() -> list[str]:
    """Return the screens of the animation, as Textual exports them."""
    app = TltuiApp(Run(discover([str(DEMO)])), Config(), theme="dark", ascii_only=False, mouse=True)
    results = []
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await _until(pilot, lambda: app.browser.is_mounted and app.browser.trace.finished)
        for step in STEPS:
            if step.go:
                app.browser.go(step.go)
                await _until(pilot, lambda ref=step.go: app.browser.document_view.document.ref == ref)
            if step.key:
                await pilot.press(step.key)
            await pilot.pause(2)
            results.append(app.export_screenshot(title=step.title, simplify=True))
    return results


CELL, LINE = 12.2, 24.4
"""Width and height of a cell in Textual's export."""
_STYLE = re.compile(r"\.terminal-\d+-(r\d+) \{ ?([^}]*?);? ?\}")
_GROUND = re.compile(
    r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="24.65" shape-rendering="crispEdges"/>'
)
_TEXT = re.compile(
    r'<text class="terminal-\d+-(r\d+)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+" clip-path="[^"]*">([^<]*)</text>'
)
PAGE = "#121212"
"""The ground of the dark theme."""


def frame(svg: str, classes: dict[str, str]) -> str:
    """Return the ground and the text of an exported screen. `classes`: style → its name in the animation."""
    styles = dict(_STYLE.findall(svg))
    runs: list[tuple[str, float, str, float]] = []
    for fill, at, y, size in _GROUND.findall(svg):
        x, width = float(at), float(size)
        if fill == PAGE or not width:
            continue
        last = runs[-1] if runs else None
        if last is not None and (last[0], last[2]) == (fill, y) and abs(last[1] + last[3] - x) < CELL / 2:
            runs[-1] = (fill, last[1], y, last[3] + width)
        else:
            runs.append((fill, x, y, width))
    parts = [f'<rect fill="{fill}" x="{x:g}" y="{y}" width="{width:.5g}" height="24.7"/>' for fill, x, y, width in runs]
    for style, x, y, text in _TEXT.findall(svg):
        shown = unescape(text).replace("\xa0", " ").rstrip()
        if not shown:
            continue
        blanks = len(shown) - len(shown.lstrip())
        shown, left = shown.lstrip(), float(x) + blanks * CELL
        name = classes.setdefault(styles[style], f"r{len(classes)}")
        parts.append(f'<text class="{name}" x="{left:.6g}" y="{y}" textLength="{len(shown) * CELL:.6g}">{escape(shown)}</text>')
    return "".join(parts)


def animated(svgs: Sequence[str]) -> str:
    """Return one picture that shows the screens one after another, without a script; the first one where nothing moves."""
    classes: dict[str, str] = {}
    frames = [frame(svg, classes) for svg in svgs]
    width, height = COLUMNS * CELL, ROWS * LINE
    total, start = sum(step.seconds for step in STEPS), 0.0
    rules = [f".{name}{{{style}}}" for style, name in classes.items()]
    groups = []
    for number, (step, content) in enumerate(zip(STEPS, frames, strict=True)):
        first, last = 100 * start / total, 100 * (start + step.seconds) / total
        start += step.seconds
        before = f"0%{{visibility:hidden}}{first:.4g}%{{visibility:visible}}" if number else "0%{visibility:visible}"
        after = f"{last:.4g}%{{visibility:hidden}}" if number + 1 < len(STEPS) else ""
        rules.append(f"@keyframes f{number}{{{before}{after}100%{{visibility:{'visible' if not after else 'hidden'}}}}}")
        rules.append(f"#f{number}{{animation:f{number} {total:g}s step-end infinite}}")
        hidden = ' visibility="hidden"' if number else ""
        title = f'<text class="title" text-anchor="middle" x="{width / 2:g}" y="-14">{escape(step.title)}</text>'
        groups.append(f'<g id="f{number}"{hidden}>{title}{content}</g>')
    lights = "".join(
        f'<circle cx="{22 * number + 18}" cy="-20" r="7" fill="{fill}"/>'
        for number, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return "\n".join((
        f'<svg viewBox="-9 -43 {width + 18:g} {height + 52:g}" xmlns="http://www.w3.org/2000/svg" xml:space="preserve">',
        "<style>text{font:20px Fira Code,DejaVu Sans Mono,Menlo,Consolas,monospace}.title{font:bold 18px arial;fill:#c5c8c6}",
        *rules,
        "@media (prefers-reduced-motion:reduce){g{animation:none!important}}</style>",
        f'<rect fill="{PAGE}" stroke="#555" x="-8" y="-42" width="{width + 16:g}" height="{height + 50:g}" rx="8"/>{lights}',
        *groups, "</svg>", "",
    ))  # fmt: skip


if __name__ == "__main__":
    (ROOT / "snapshots" / f"{ANIMATION}.svg").write_text(animated(asyncio.run(screens())), "utf-8")
    for name, how in PICTURES.items():
        (ROOT / "snapshots" / f"{name}.svg").write_text(asyncio.run(picture(*how)), "utf-8")
