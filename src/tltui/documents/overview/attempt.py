"""The page of one attempt: why the analysis started again, and what it left behind."""

from __future__ import annotations

from tltui.analyses.parts import reader_of
from tltui.analyses.problems.breaks import known_breaks
from tltui.analyses.shapes.inputs import inputs_of
from tltui.analyses.study import Part, parts_of
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts import reports
from tltui.documents.parts.compiles import add_artifacts, add_inputs, add_symbols
from tltui.documents.titles import called
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Options, TextDocument


def attempt_document(run: Run, node: Compile, attempt: int, options: Options) -> TextDocument:
    """One attempt of a compile. Raises `BadAddress` for one that there is not."""
    if attempt not in node.attempts and not (attempt == 0 and not node.attempts):
        known = ", ".join(map(str, sorted(node.attempts))) or "none"
        raise BadAddress(f"{node.ref} has no attempt {attempt}. It has: {known}")
    name = node.frame.code[0] or ""
    ref = str(node.ref) + (f"_{attempt}" if attempt else "")
    page = Page(f"@attempt:{ref}", f"{called(node)} attempt {attempt} {name}".strip(), options)
    last = max(node.attempts, default=0)
    total = max(len(node.attempts), 1)
    page.add((f"attempt {attempt}", tokens.STRONG), f", one of {total}, of " if total > 1 else " of ",
             (f"[{node.ref}]", tokens.LINK, str(node.ref)))  # fmt: skip
    if attempt == last:
        page.say("The last one: its graphs and code are those of the compile.", "", tokens.DIM)
    else:
        page.say(f"Given up: the analysis started again as attempt {attempt + 1}.", "", tokens.DIM)
    breaks = [found for found in known_breaks(node, 50) if found.attempt == attempt]
    if node.counts["dynamo_graph_break_reason"] and breaks:
        page.heading("Graph break" if attempt == last else "Why it started again")
        for found in breaks:
            reports.add_break(page, found)
            page.blank()
    elif attempt != last:
        page.heading("Why it started again")
        _restarts(page, node)
    inputs = inputs_of(node, reader_of(node), attempt)
    add_inputs(page, inputs, None)
    add_symbols(page, inputs.symbols)
    parts: tuple[Part, ...] = tuple(part for part in parts_of(node) if part.attempt == attempt)
    add_artifacts(page, parts)
    log = node.process.log
    count = sum(1 for record in node.records if (log.context(record).attempt or 0) == attempt)
    page.heading("Records")
    page.add("  ", (fmt.plural(count, "record"), tokens.STRONG), " of this attempt  ",
             ("all records of the compile", tokens.LINK, f"@records:{node.ref}"))  # fmt: skip
    return page.document()


def _restarts(page: Page, node: Compile) -> None:
    """The restart reasons: the metrics have them as a set, without order and without the attempt."""
    reasons = node.facts.restarts
    if not reasons:
        when = " when a compile failed" if node.facts.failed else ""
        page.say(f"The log does not say: metrics name no restart reason{when}.", "  ", tokens.DIM)
        return
    if len(reasons) > 1:
        page.say("one of these (torch does not say which belongs to which attempt):", "  ", tokens.DIM)
    for reason in reasons[:8]:
        page.say(next((line for line in reason.splitlines() if line.strip()), "no reason"), "  ")
