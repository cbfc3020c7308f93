"""One step of a profile as a flame: what ran in what, each with a bar where it stood in time."""

from __future__ import annotations

from collections.abc import Callable

from tltui.analyses.runtime import spans
from tltui.analyses.runtime.spans import StepFlame
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.flame import draw_flame
from tltui.text import tokens
from tltui.text.sanitize import sanitize
from tltui.text.times import micros

STYLES = {
    spans.GUARDS: tokens.PHASE_GUARDS, spans.GRAPH: tokens.PHASE_INDUCTOR, spans.KERNEL: tokens.PHASE_KERNELS,
    spans.EAGER: tokens.PHASE_CACHE, spans.AROUND: tokens.PHASE_DYNAMO, spans.REGIONS: tokens.PHASE_DYNAMO,
}  # fmt: skip
THREADS_SHOWN = 4


def add_step(page: Page, flames: tuple[StepFlame, ...], folded: bool = True) -> None:
    """The step in the middle, thread by thread."""
    for number, found in enumerate(flames[:THREADS_SHOWN]):
        which = f" on thread {number + 1}" if len(flames) > 1 else ""
        what = f"One step, {sanitize(found.step)}" if found.step else "The window"
        page.heading(f"{what}{which}: {micros(found.flame.seconds * 1e6)}", folded)
        draw_flame(page, found.flame, _style_of(found), lambda bar: micros(bar.seconds * 1e6))
        if found.cut:
            page.say("Only its beginning is drawn: it has too many events.", "  ", tokens.DIM)
    if len(flames) > THREADS_SHOWN:
        page.add("  ", (f"and {fmt.plural(len(flames) - THREADS_SHOWN, 'more thread')}", tokens.DIM))


def _style_of(found: StepFlame) -> Callable[[str], str]:
    return lambda name: STYLES.get(found.kinds.get(name, ""), tokens.PHASE_OTHER)
