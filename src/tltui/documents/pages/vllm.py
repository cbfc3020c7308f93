"""The view `vllm`: what each compile call of vLLM was configured with, and its pieces: submodules by ranges of sizes."""

from __future__ import annotations

from collections.abc import Generator

from tltui.analyses.vllm import Call, Named, PassStep, Piece, Submodule, Vllm, counts_of, read_calls
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.document import Piece as Text
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

EVENTS = {"fresh_compile": "compiled afresh", "aot_cache_hit": "taken from vLLM's ahead-of-time cache"}
UNSTATED = (-1, -1)


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The compile calls of the scope. Grows call by call: a large model has hundreds of pieces."""

    def fill(page: Page) -> Generator[None, None, Vllm]:
        page.add((f"vLLM compile calls{scope.title}", tokens.TITLE))
        known, pieces = counts_of(scope.compiles)
        if known > 1:
            page.add((f"{fmt.plural(known, 'compile call')}, {fmt.plural(pieces, 'piece')} compiled", tokens.STRONG))
        calls: list[Call] = []
        for call in read_calls(scope.compiles):
            if call is not None:
                _call(page, call, calls[0] if calls else None)
                calls.append(call)
            yield
        if not calls:
            _nothing(page, run.finished, bool(str(scope.ref)))
        return Vllm(2, tuple(calls))

    return GrowingDocument(scope.page("vllm"), f"vLLM compile calls{scope.title}", options, fill, Page)


def _nothing(page: Page, finished: bool, part: bool) -> None:
    page.blank()
    where = "this part of the trace" if part else "this trace"
    page.say(f"vLLM wrote nothing into {where}{'' if finished else ' so far'}.", "", tokens.DIM)
    page.say(
        "Only vLLM writes what this page shows (vllm_compilation_config, vllm_piecewise_compile_start), "
        "in the processes of its workers.", "", tokens.DIM,
    )  # fmt: skip


def _call(page: Page, call: Call, first: Call | None) -> None:
    prefix = call.setting("prefix")
    page.close(0)
    page.blank()
    page.open(f"Call {call.number}{f' {prefix}' if prefix else ''}")
    head: list[Text] = [(f"Call {call.number}", tokens.HEADING)]
    if prefix:
        head.append((f"  {fmt.clip_middle(sanitize(prefix), 40)}", tokens.STRONG))
    head += ["  in ", (f"[{call.ref}]", tokens.LINK, call.ref)]
    if call.function:
        head.append((f" {fmt.clip_middle(sanitize(call.function), 40)}", tokens.FUNCTION))
    page.row(head, "")
    _extent(page, call)
    _records(page, call)
    _settings(page, call, first)
    _table(page, call)
    _passes(page, call)
    _submodules(page, call)


def _extent(page: Page, call: Call) -> None:
    words = []
    if call.event:
        words.append(EVENTS.get(call.event, call.event))
    pieces = sum(len(submodule.pieces) for submodule in call.submodules)
    if pieces:
        distinct = sum(submodule.same_as is None for submodule in call.submodules)
        different = f" ({fmt.count(distinct)} different)" if distinct < len(call.submodules) else ""
        words.append(
            f"{fmt.plural(len(call.submodules), 'submodule')}{different} by "
            f"{fmt.plural(len(call.ranges), 'range')} of sizes: {fmt.plural(pieces, 'piece')} compiled"
        )
    else:
        what = "no piece was compiled: vLLM may have loaded them from its own cache, or the log ends before them"
        words.append(page.so_far(what))
    page.say(" · ".join(words), "  ")
    if call.total is not None and call.total > len(call.submodules) > 0:
        lost = call.total - len(call.submodules)
        page.say(f"{fmt.plural(lost, 'submodule')} of {call.total} not begun: the log ends before, or a cache had them",
                 "  ", tokens.WARN)  # fmt: skip


def _records(page: Page, call: Call) -> None:
    links: list[Text] = []
    if call.config:
        links.append(("configuration", tokens.LINK, call.config))
    else:
        links.append(("no configuration in the log for these pieces", tokens.WARN))
    if call.split:
        links.append(("split graph", tokens.LINK, call.split))
    known = {total.patterns for total in call.passes}
    links += [(f"patterns of {fmt.clip_middle(p.name, 40)}", tokens.LINK, p.ref) for p in call.patterns if p.ref not in known]
    links += [(fmt.clip_middle(other.name, 40), tokens.LINK, other.ref) for other in call.others]
    page.joined(links, "  ")


def _settings(page: Page, call: Call, first: Call | None) -> None:
    """What was configured; of a later call only what differs from the first one."""
    before = {setting.name: setting.value for setting in first.settings} if first else {}
    shown = [setting for setting in call.settings if setting.value != before.get(setting.name)]
    if before and len(shown) < len(call.settings):
        page.add("  ", ("configured as call 1" + (", but" if shown else ""), tokens.LABEL))
    gap = min(max((len(setting.name) for setting in shown), default=0) + 2, page.width // 2)
    for setting in shown:
        name = fmt.clip(setting.name, gap - 2)
        page.labelled(name, setting.value or "-", "  ", gap, tokens.VALUE if setting.value else tokens.DIM)


def range_name(bounds: tuple[int, int]) -> str:
    """`1–8192`, `size 4`"""
    low, high = bounds
    if bounds == UNSTATED:
        return "no range"
    return f"size {low}" if low == high else f"{low}–{high}"


def _table(page: Page, call: Call) -> None:
    """Submodules down, ranges across: how many artifacts each piece has. Those with the same graph share a row."""
    if not call.submodules:
        return
    page.blank()
    page.say("artifacts of each piece, submodules by ranges of sizes", "  ", tokens.LABEL)
    capture = {piece.range for submodule in call.submodules for piece in submodule.pieces if piece.capture}
    groups = _groups(call)
    labels = [_alike(s.name, same) for s, same in groups]
    room = page.width - min(max(map(len, labels)), page.width // 2) - 4
    shown = max(room // (max(len(range_name(r)) for r in call.ranges) + 3), 1)
    for n in range(0, len(call.ranges), shown):
        ranges = call.ranges[n : n + shown]
        rows: list[list[Text]] = [["", *((range_name(r) + ("*" if r in capture else ""), tokens.LABEL) for r in ranges)]]
        for (submodule, _), label in zip(groups, labels, strict=True):
            cells = {piece.range: _cell(piece) for piece in submodule.pieces}
            rows.append([(label, tokens.NAME), *(cells.get(r, ("", tokens.DIM)) for r in ranges)])
        page.grid(rows)
    if capture:
        page.say("* a CUDA graph is captured at this size", "  ", tokens.DIM)
    if any(piece.code is None for submodule in call.submodules for piece in submodule.pieces):
        what = page.so_far("no output code")
        page.add("  ", (f"! {what}: ", tokens.DIM), ("what is absent, and why", tokens.LINK, f"@absent:{call.ref}"))


def _groups(call: Call) -> list[tuple[Submodule, list[Submodule]]]:
    """Each submodule that is the first of its kind, with those that have the same graph."""
    same: dict[str, list[Submodule]] = {}
    for submodule in call.submodules:
        if submodule.same_as is not None:
            same.setdefault(submodule.same_as, []).append(submodule)
    return [(s, same.get(s.name, [])) for s in call.submodules if s.same_as is None]


def _alike(name: str, same: list[Submodule]) -> str:
    """`submod_2 and 2 alike`"""
    return f"{name} and {len(same)} alike" if same else name


def _cell(piece: Piece) -> Text:
    count = len(piece.artifacts) + len(piece.passes)
    text = f"{count}{'!' if piece.code is None else ''}{f' {piece.cache}' if piece.cache else ''}"
    return (text, tokens.LINK, piece.ref)


def _passes(page: Page, call: Call) -> None:
    if not call.passes:
        return
    page.blank()
    page.say("vLLM's passes in order, and how many pieces each changed", "  ", tokens.LABEL)
    rows: list[list[Text]] = []
    for total in call.passes:
        what = f"{fmt.count(total.changed)} of {fmt.count(total.ran)}"
        patterns: Text = ("its patterns", tokens.LINK, total.patterns) if total.patterns else ""
        number = "" if total.number is None else str(total.number)
        style = tokens.VALUE if total.changed else tokens.DIM
        rows.append([(number, tokens.DIM), (total.name, tokens.FUNCTION), (what, style), patterns])
    page.grid(rows, right=(0, 2))


def _submodules(page: Page, call: Call) -> None:
    """Each submodule with its pieces; those with the same graph as an earlier one are folded below it."""
    for submodule, same in _groups(call):
        page.blank()
        page.open(_alike(submodule.name, same))
        _submodule(page, submodule, "  ")
        if same:
            names = ", ".join(other.name for other in same)
            what = f"the same graph but for names: {names}"
            page.open(what, folded=True)
            page.add("    ", (fmt.clip(sanitize(what), page.width - 4), tokens.DIM))
            for other in same:
                _submodule(page, other, "      ")
            page.close()
        page.close()


def _submodule(page: Page, submodule: Submodule, indent: str) -> None:
    head: list[Text] = [(fmt.clip_middle(sanitize(submodule.name), 40), tokens.NAME)]
    if submodule.graph:
        size = f" of {fmt.plural(submodule.statements, 'statement')}" if submodule.statements else ""
        head += ["  ", (f"graph{size}", tokens.LINK, submodule.graph)]
    else:
        head.append((f"  {page.so_far('its graph is not in the log')}", tokens.DIM))
    page.add(indent, *head)
    for piece in submodule.pieces:
        _piece(page, piece, indent + "  ")


def _piece(page: Page, piece: Piece, indent: str) -> None:
    page.open(f"{piece.submodule} {range_name(piece.range)}", folded=True)
    words = [fmt.plural(len(piece.artifacts) + len(piece.passes), "artifact")]
    if piece.passes:
        changed = sum(step.changed is True for step in piece.passes)
        words.append(f"{changed} of {fmt.plural(len(piece.passes), 'pass', 'passes')} changed it")
    head: list[Text] = [(range_name(piece.range), tokens.LINK, piece.ref), (f"  {', '.join(words)}", tokens.DIM)]
    if piece.code is None:
        head.append((f"  {page.so_far('no output code')}", tokens.WARN))
    page.row(head, indent)
    page.joined([_artifact(artifact) for artifact in piece.artifacts], indent + "  ")
    if piece.passes:
        page.joined([("passes", tokens.LABEL), *(_step(step) for step in piece.passes)], indent + "  ")
    page.close()


def _artifact(artifact: Named) -> Text:
    return (fmt.clip_middle(sanitize(artifact.name), 44), tokens.LINK, artifact.ref)


def _step(step: PassStep) -> Text:
    """`0 NoOpEliminationPass: changed`"""
    did = {True: ": changed", False: ": no change", None: ""}[step.changed]
    number = "" if step.number is None else f"{step.number} "
    return (f"{number}{fmt.clip_middle(sanitize(step.name), 40)}{did}", tokens.LINK, step.ref)
