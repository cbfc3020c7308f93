"""Pages that compare two compiles, ranks or runs: kernels, metrics, time, guards, inputs and artifacts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from tltui.documents import format as fmt
from tltui.documents.format import clip, plural, seconds
from tltui.documents.page import Column, Page, Table, to_page
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.input_coverage import told_less
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.record_reader import Reader, metrics_fields
from tltui.model.ref import BadAddress, Ref, diff_ref, parse_ref
from tltui.model.run import Node, Run
from tltui.questions.compare.artifacts_page import (
    CHANGED,
    ONLY_LEFT,
    ONLY_RIGHT,
    OUTCOMES,
    SAME,
    CompareResult,
    CompareRow,
    Fact,
    artifact_page,
    compared,
    marked,
    patch_lines,
    row_pieces,
)
from tltui.questions.compare.comparable_lines import Difference, rules_for
from tltui.questions.compare.kernel_changes import (
    ADDED,
    CODE,
    CONFIGURATION,
    FEWER,
    IMPLEMENTATION,
    KINDS,
    MERGED,
    MORE,
    REGROUPED,
    REMOVED,
    SPLIT,
    TIME,
    UNPAIRED,
    ComparedKernel,
    KernelChange,
    KernelComparison,
    Measured,
    RecordedDifference,
    compare_kernels,
    recorded_differences,
)
from tltui.questions.compare.pairing import Pair, artifact_difference, artifact_pairs, compile_pairs, digest_of, owns_of, rest_pairs
from tltui.questions.runtime.costs import costs_of
from tltui.questions.shapes.shape_env import Inputs, Symbol, Value, inputs_of
from tltui.questions.stacks.tracebacks import display_code, display_name
from tltui.questions.timing.timing_events import ORDER, events_of, timing_of, within_metrics
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.line_diff import line_pairs, word_changes
from tltui.text.normalisation import RankIdentity, normalised
from tltui.text.sanitize import sanitize

LARGEST = 3
"""Differences at the top of a page."""
RECORDED = 3
"""Recorded differences there."""
NAMED = 2
"""Kernels of a side that a line names."""
_COUNTED = {
    SPLIT: "split", MERGED: "merged", REGROUPED: "regrouped", IMPLEMENTATION: "with another implementation",
    MORE: "with more bytes", FEWER: "with fewer bytes", CONFIGURATION: "with another configuration", CODE: "with other code",
    ADDED: "added", REMOVED: "removed", UNPAIRED: "not paired",
}  # fmt: skip

GUARDS = "dynamo_cpp_guards_str"
FIELDS = (
    ("graph_node_count", "nodes"), ("graph_input_count", "inputs"), ("shape_env_guard_count", "shape guards"),
    ("accumulated_cache_size", "compiled before"), ("recompile_reason", "recompiled for"), ("fail_type", "failed with"),
    ("fail_reason", "because"), ("cudagraph_skip_reason", "no cudagraph"),
    ("pytorch_version", "torch"),
)  # fmt: skip
"""Metrics that are shown where they differ."""
SHOWN = 24
"""Guards that differ, and inputs: more are folded."""
Attempts = tuple[int | None, int | None]
HEAD = 24
"""Leading columns of a line that is cut to show its changed part."""
NOT_ALIKE = "are not of the same kind. Compare two artifacts, two compiles, two frames, two ranks or two runs"


def summary_of(comparison: KernelComparison) -> str:
    """Return one sentence about all kernels; '' if neither side has any."""
    if not comparison.left_kernels and not comparison.right_kernels:
        return ""
    if not comparison.changes:
        where = "kernels that could be compared" if comparison.not_compared else "kernels"
        return f"No difference in {where}: {fmt.plural(comparison.same, 'kernel is', 'kernels are')} unchanged."
    counts = Counter(change.kind for change in comparison.changes)
    kinds = ", ".join(f"{counts[kind]} {_COUNTED[kind]}" for kind in KINDS if counts[kind])
    left, right = comparison.left_kernels, comparison.right_kernels
    became = fmt.plural(left, "kernel") + (f" became {fmt.count(right)}" if left != right else " per side")
    same = f"; {fmt.count(comparison.same)} unchanged" if comparison.same else ""
    return f"{became}: {kinds}{same}."


def _add_largest(page: Page, comparison: KernelComparison, others: Sequence[str] = ()) -> None:
    """Add the summary, the largest differences, and the recorded differences that may be their cause.

    `others`: differences of other kinds; they come before kernels.
    """
    if summary := summary_of(comparison):
        page.say(summary, "", tokens.STRONG if comparison.changes else tokens.OK)
    for number, text in enumerate(others[:LARGEST], 1):
        page.row([(f"{number}. ", tokens.LABEL), (page.clip(sanitize(text), page.width - 3), tokens.CHANGED)], "")
    for number, change in enumerate(comparison.changes[: max(LARGEST - len(others), 0)], len(others) + 1):
        pieces: list[Piece] = [(f"{number}. ", tokens.LABEL), (change.title, tokens.CHANGED)]
        pieces += [(f"  {amounts}", tokens.NUMBER)] if (amounts := _amounts(change, comparison.order)) else []
        pieces += [("  ", ""), (sanitize(change.function), tokens.DEFINITION)]
        pieces += [(f"  {place}", tokens.DIM)] if (place := _place(change)) else []
        page.row(pieces, "")
        page.add("   ", (page.clip(sanitize(_notes_and_kernels(change)), page.width - 3), tokens.DIM))
    if comparison.changes:
        _recorded_differences(page, comparison.recorded_differences)


def _recorded_differences(page: Page, differences: Sequence[RecordedDifference]) -> None:
    """Add the recorded differences, a line each."""
    if not differences:
        page.say("The traces record no other version, setting, input or guard that may be the cause.", "", tokens.DIM)
        return
    more = f", the first {RECORDED} of {fmt.count(len(differences))}" if len(differences) > RECORDED else ""
    page.add((f"Recorded differences that may be the cause{more}:", tokens.LABEL))
    for difference in differences[:RECORDED]:
        text = sanitize(fmt.one_line(difference_text(difference)))
        if difference.kind == "input":  # its sizes are at the end
            page.say(text, "  ", tokens.WARN, "    ")
        else:
            page.add("  ", (page.clip(text, page.width - 2), tokens.WARN))


def difference_text(difference: RecordedDifference) -> str:
    """Return a recorded difference as one text: `torch._inductor.config.max_fusion_size: 64 → 1`."""
    texts = [text for text in (difference.left, difference.right) if text is not None]
    label = difference.name if difference.kind in ("version", "setting") else f"{difference.kind} {difference.name}"
    side = "" if len(texts) > 1 or difference.kind == "guard" else " (only left)" if difference.right is None else " (only right)"
    return f"{label}: {' → '.join(texts)}{side}"


def _amounts(change: KernelChange, order: str) -> str:
    """Return time, if measured, and bytes of both sides."""
    return " · ".join(filter(None, (_times(change) if order == TIME else "", _sizes(change))))


def _sizes(change: KernelChange) -> str:
    left, right = change.bytes_by_side
    return _both(change, None if left is None else fmt.size_of(left), None if right is None else fmt.size_of(right))


def _times(change: KernelChange) -> str:
    left, right = change.us_by_side
    return _both(change, None if left is None else fmt.seconds(left / 1e6), None if right is None else fmt.seconds(right / 1e6))


def _both(change: KernelChange, left: str | None, right: str | None) -> str:
    if left is None and right is None:
        return ""
    if not change.left or not change.right:
        return (right if change.right else left) or ""
    return left if left == right and left is not None else f"{left or 'unknown'} → {right or 'unknown'}"


def _place(change: KernelChange) -> str:
    """Return the first source line, and the number of others."""
    if not change.lines:
        return ""
    file, _, line = change.lines[0].rpartition(":")
    more = f" +{len(change.lines) - 1}" if len(change.lines) > 1 else ""
    return f"{fmt.short_path(file)}:{line}{more}"


def _kernel_names(change: KernelChange) -> str:
    """Return the names of the kernels: `cpp_fused_add_0 → cpp_fused_add_0, cpp_fused_mul_1`."""
    left, right = _names(change.left), _names(change.right)
    side = "" if left and right else " (left)" if left else " (right)"
    return (left if left == right else " → ".join(filter(None, (left, right)))) + side


def _names(kernels: Sequence[ComparedKernel]) -> str:
    names = [kernel.key.partition(":")[0] for kernel in kernels]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _notes(change: KernelChange) -> str:
    """Return changed settings of the kernels and Inductor's reasons."""
    reasons = [f"not fused: {reason}" for reason in change.reasons]
    return "; ".join((*change.details, *reasons))


def _notes_and_kernels(change: KernelChange) -> str:
    return " · ".join(filter(None, (_notes(change), _kernel_names(change))))


def _kernels_table(linked: bool, order: str) -> Table[KernelChange]:
    def target(change: KernelChange) -> str:
        return next((kernel.ref for kernel in (*change.right, *change.left) if linked and kernel.ref), "")

    return Table((
        Column("change", lambda change: (change.title, tokens.CHANGED), shrinks=False),
        Column("time", _times, right=True, shrinks=False, when=lambda _: order == TIME),
        Column("bytes", lambda change: _sizes(change) or ("unknown", tokens.DIM), right=True, shrinks=False, drop=6),
        Column("pairs", lambda change: fmt.count(change.compiles), right=True, drop=2,
               when=lambda rows: any(change.compiles > 1 for change in rows)),
        Column("graph", lambda change: change.unit, drop=1, when=lambda rows: len({change.unit for change in rows}) > 1),
        Column("function", lambda change: (change.function, tokens.DEFINITION), drop=3,
               when=lambda rows: len({change.function for change in rows}) > 1),
        Column("line", _place, drop=4),
        Column("kernels", lambda change: (_kernel_names(change), tokens.LINK if linked else tokens.NAME, target(change))),
        Column("notes", lambda change: (_notes(change), tokens.WARN), drop=5, when=lambda rows: any(map(_notes, rows))),
    ), noun="changes", shown=24, folded=1000)  # fmt: skip


def _add_kernels(page: Page, comparison: KernelComparison, linked: bool) -> None:
    """Add the section of all changes; unchanged kernels are one line. Without any change the summary is enough."""
    if not comparison.changes and not comparison.not_compared:
        return
    page.heading("Kernels")
    if comparison.changes:
        by = "time" if comparison.order == TIME else "bytes read and written by one call"
        page.say(f"Kernels are paired by the graph nodes that they compute. The largest difference in {by} comes first.", "  ",
                 tokens.DIM)  # fmt: skip
        page.table(_kernels_table(linked, comparison.order), comparison.changes)
    if comparison.same:
        page.add(f"  {fmt.plural(comparison.same, 'kernel is', 'kernels are')} unchanged")
    for problem in comparison.not_compared:
        page.say(f"not compared: {sanitize(problem)}", "  ", tokens.WARN)


def facts_between(left: Compile, right: Compile) -> list[Fact]:
    """Status and the usual numbers; of `FIELDS` those that differ."""
    facts = [Fact(name, of(left), of(right)) for name, of in _ALWAYS]
    a, b = _metrics(left), _metrics(right)
    owns = owns_of(left.process, right.process)
    for field, name in FIELDS:
        x, y = a.get(field), b.get(field)
        if x != y and not _alike(str(x), str(y), owns):
            facts.append(Fact(name, _shown(x), _shown(y)))
    return facts


def _alike(left: str, right: str, owns: tuple[RankIdentity, RankIdentity]) -> bool:
    """Return whether two texts differ only in run-dependent parts or the rank identity."""
    rules = rules_for(left, owns[0]), rules_for(right, owns[1])
    a, b = left.split("\n"), right.split("\n")
    return [normalised(line, rules[0])[0] for line in a] == [normalised(line, rules[1])[0] for line in b]


def _took(compile_: Compile) -> str | None:
    took = compile_.duration_s
    return None if took is None else seconds(took)


_ALWAYS: tuple[tuple[str, Callable[[Compile], str | None]], ...] = (
    ("status", lambda c: str(c.status) if c.status else None),
    ("time", _took),
    ("operations", lambda c: _shown(c.facts.graph_op_count)),
    ("guard_count", lambda c: _shown(c.facts.guard_count)),
    ("graph breaks", lambda c: _shown(c.facts.breaks)),
)


def _shown(value: object) -> str | None:
    return None if value is None or value == "" else str(value)[:400]


def _metrics(compile_: Compile) -> dict[str, Any]:
    reader = Reader(compile_.process.log)
    return next((f for event, f in metrics_fields(compile_, reader) if event == "compilation_metrics"), {})


def timing_between(left: Compile, right: Compile) -> list[Fact]:
    """Seconds by phase, of the compile and of a backward that was compiled later."""
    tables = []
    for compile_ in (left, right):
        reader = Reader(compile_.process.log)
        timing = within_metrics(timing_of(events_of(compile_, reader), metrics_fields(compile_, reader)), compile_.compile_s)
        table = {phase.name: phase.self_s for phase in timing.phases}
        table |= {f"{phase.name}, later": phase.self_s for phase in timing.backward}
        tables.append(table)
    names = [*ORDER, *(f"{name}, later" for name in ORDER)]
    a, b = tables
    return [Fact(n, _seconds(a.get(n)), _seconds(b.get(n))) for n in names if n in a or n in b]


def _seconds(value: float | None) -> str | None:
    return None if value is None else seconds(value)


def guards_between(left: Compile, right: Compile) -> tuple[list[Fact], tuple[str, str] | None, str]:
    """Return the guards on one side only, the addresses of both lists, and a note without differences.

    Guards are without locations; the addresses are None if either list is absent.
    """
    a, b = _guards(left), _guards(right)
    if a is None or b is None:
        without = [str(c.ref) for c, guards in ((left, a), (right, b)) if guards is None]
        return [], None, f"{' and '.join(without)} {'have' if len(without) > 1 else 'has'} no list of guards"
    try:
        return differing_lines(artifact_difference(a, b), _guard), (str(a.ref), str(b.ref)), "the same guards"
    except OSError as error:
        return [], None, f"not read: {error.strerror or error}"


def _guards(compile_: Compile) -> Artifact | None:
    artifacts = [a for a in artifacts_of(compile_) if a.name == GUARDS]
    return artifacts[-1] if artifacts else None


def _guard(line: str) -> str:
    """`TENSOR_MATCH: check_tensor(…)`, without the tree and the user's code."""
    return line.lstrip("| ").removeprefix("+- ").partition("  # ")[0].strip()


def differing_lines(difference: Difference, shown: Callable[[str], str]) -> list[Fact]:
    """Return the differing lines; a replaced line is next to its replacement."""
    facts = []
    for change in difference.changes:
        if change.same:
            continue
        a = [shown(line) for line in difference.left.lines[change.a0 : change.a1]]
        b = [shown(line) for line in difference.right.lines[change.b0 : change.b1]]
        facts += _paired_lines(a, b)
    return facts


def _paired_lines(left: Sequence[str], right: Sequence[str]) -> list[Fact]:
    return [
        Fact(str(n), left[x] if x >= 0 else None, right[y] if y >= 0 else None)
        for n, (x, y) in enumerate(line_pairs(left, right))
    ]


def inputs_between(left: Compile, right: Compile) -> list[Fact]:
    """Return the differing inputs by source."""
    return _by_name(_inputs(inputs_of(left)), _inputs(inputs_of(right)), owns_of(left.process, right.process))


def symbols_between(left: Compile, right: Compile) -> list[Fact]:
    """Return the differing symbols by source."""
    return _by_name(_symbols(inputs_of(left)), _symbols(inputs_of(right)), owns_of(left.process, right.process))


def _by_name(left: dict[str, str], right: dict[str, str], owns: tuple[RankIdentity, RankIdentity]) -> list[Fact]:
    results = []
    for name in sorted(left.keys() | right.keys()):
        x, y = left.get(name), right.get(name)
        if x != y and not (x is not None and y is not None and _alike(x, y, owns)):
            results.append(Fact(name, x, y))
    return results


def _inputs(inputs: Inputs) -> dict[str, str]:
    return {
        t.source: f"{t.source}  {t.dtype} [{_joined(t.size)}] stride [{_joined(t.stride)}] {t.device}"
        + (" requires grad" if t.requires_grad else "")
        for t in inputs.tensors
    }


def _joined(sizes: Sequence[Value] | None) -> str:
    return ", ".join(map(str, sizes or ()))


def _hint(symbol: Symbol) -> Value:
    return "?" if symbol.hint is None else symbol.hint


def _symbols(inputs: Inputs) -> dict[str, str]:
    return {
        s.source or s.name: f"{s.name}  {s.source or 'depends on data'} = {_hint(s)} {s.range or ''}".rstrip()
        + (f", fixed to {s.specialized}" if s.specialized is not None else "")
        for s in inputs.symbols
    }


def fill_compiles(
    left: Compile, right: Compile, attempts: Attempts, runs: tuple[Run, Run], page: Page
) -> Generator[None, None, object]:
    """Add the overview of two compiles, or of one attempt of each."""
    linked = runs[0] is runs[1]
    page.add(*_compile_label(left, linked), "  ↔  ", *_compile_label(right, linked))
    if less := told_less([left.process], [right.process]):
        page.say(less, "", tokens.WARN)
    yield
    inputs, symbols = inputs_between(left, right), symbols_between(left, right)
    kernels = yield from compare_kernels([(left, right)], lambda a, b: _recorded(a, b, inputs, symbols), _measured(runs))
    _add_largest(page, kernels)
    page.blank()
    facts = facts_between(left, right)
    for fact in facts:
        _fact(page, fact)
    _add_kernels(page, kernels, linked)
    page.blank()
    yield
    timing = timing_between(left, right)
    page.heading("Time")
    if timing:
        for fact in timing:
            _fact(page, fact)
    else:
        page.add(("  neither has timing data", tokens.DIM))
    yield
    guards, refs, none = guards_between(left, right)
    _listed(page, "Guards", guards, none, diff_ref(*refs) if refs and linked and guards else "")
    _listed(page, "Inputs", inputs, "the same inputs")
    _listed(page, "Symbols", symbols, "the same symbols, or no symbols")
    yield
    rows = yield from _artifacts(page, artifact_pairs(left, right, attempts), linked)
    return CompareResult(
        str(left.ref), str(right.ref), rows, tuple(facts), tuple(timing), tuple(guards), tuple(inputs), tuple(symbols), kernels
    )


def _recorded(
    left: Compile, right: Compile, inputs: Iterable[Fact], symbols: Iterable[Fact]
) -> Iterator[RecordedDifference]:
    """Yield what two compiles differ in besides their kernels."""
    yield from recorded_differences(left, right)
    for kind, facts in (("input", inputs), ("symbol", symbols)):
        for fact in facts:
            yield RecordedDifference(kind, fact.name, *(_without_name(fact.name, side) for side in (fact.left, fact.right)))


def _without_name(name: str, text: str | None) -> str | None:
    return None if text is None else text.replace(name, "", 1).strip()


def _measured(runs: tuple[Run, Run]) -> Measured:
    """Return the joined profiles of both runs; None if either has none."""
    costs = costs_of(runs[0]), costs_of(runs[1])
    return None if costs[0] is None or costs[1] is None else (costs[0], costs[1])


def _artifacts(
    page: Page, pairs: Iterable[Pair[Artifact]], linked: bool
) -> Generator[None, None, tuple[CompareRow, ...]]:
    """Add the section of the artifacts; equal ones are folded."""
    page.heading("Artifacts")
    rows, same = [], []
    for pair in pairs:
        row = compared(pair)
        rows.append(row)
        if row.outcome == SAME:
            same.append(row)
        else:
            page.row(row_pieces(row, linked))
        yield
    if same:
        label = f"{plural(len(same), 'artifact')} the same" if len(rows) > len(same) else f"all {len(same)} are the same"
        page.open(label, folded=True)
        page.add((f"  {label}", tokens.OK))
        for row in same:
            page.row(row_pieces(row, linked), "    ")
        page.close()
    if not rows:
        page.add(("  none on either side", tokens.DIM))
    return tuple(rows)


def _compile_label(compile_: Compile, linked: bool) -> list[Piece]:
    name = display_name(compile_.frame) or ""
    ref = str(compile_.ref)
    return [(ref, tokens.LINK, ref) if linked else ref, (f" {name}", tokens.DEFINITION)]


def _fact(page: Page, fact: Fact) -> None:
    """Add `label   left → right`; on a narrow page the overflow goes below."""
    a, b = fact.left or "–", fact.right or "–"
    label = f"  {fact.name:<15} "
    if a == b:
        page.labelled(f"{fact.name:<15} ", a, gap=16, style=tokens.DIM)
    elif len(label) + len(a) + len(b) + 5 <= page.width:
        page.add((label, tokens.LABEL), a, "  →  ", (b, tokens.CHANGED))
    else:
        room = page.width - len(label) - 2
        page.add((label, tokens.LABEL), ("- ", tokens.REMOVED), (clip(a, room), tokens.REMOVED))
        page.add(" " * len(label), ("+ ", tokens.ADDED), (clip(b, room), tokens.ADDED))


def _listed(page: Page, title: str, facts: Sequence[Fact], none: str, target: str = "") -> None:
    """Add facts that are on one side only, or differ."""
    page.heading(title)
    if not facts:
        page.add((f"  {none}", tokens.DIM))
    for number, fact in enumerate(facts):
        if number == SHOWN:
            page.open(f"{len(facts) - SHOWN} more", folded=True)
            page.add((f"  {len(facts) - SHOWN} more", tokens.LABEL))
        spans = word_changes(fact.left, fact.right) if fact.left and fact.right else ([], [])
        sides = (("-", fact.left, tokens.REMOVED, spans[0]), ("+", fact.right, tokens.ADDED, spans[1]))
        for sign, text, style, words in sides:
            if text is not None:
                short, words = around(text, words, page.width - 4)
                page.add((f"  {sign} ", style), *marked(short, words, style))
    if len(facts) > SHOWN:
        page.close()
    if target:
        page.add("  ", to_page("compare the guards", target))


def around(text: str, words: list[tuple[int, int]], width: int) -> tuple[str, list[tuple[int, int]]]:
    """Cut a text to `width` columns around its first marked word; return it with the visible marks."""
    if len(text) > width and words and words[0][1] > width - 2 and width > 2 * HEAD:
        start = max(words[0][0] - 12, HEAD)
        cut = HEAD + 3 - start
        text = f"{text[:HEAD]} … {text[start:]}"
        words = [(max(a + cut, HEAD + 3), b + cut) for a, b in words if b + cut > HEAD + 3]
    short = clip(text, width)
    return short, [(a, min(b, len(short))) for a, b in words if a < len(short)]


def sides_of(ref: Ref) -> tuple[str, str]:
    """Split the address of a comparison into its two addresses. Raises `BadAddress`."""
    left, space, right = (ref.artifact or "").partition(" ")
    if not space:
        raise BadAddress("a comparison needs two addresses: @diff::0/0%200/1")
    return left, right


def compare_document(run: Run, ref: Ref, options: Options) -> Document:
    """Return the comparison at an address. Raises `BadAddress`, OSError."""
    left, right = sides_of(ref)
    return compare_nodes(run, left, run, right, options)


def compare_nodes(run: Run, left: str, other: Run, right: str, options: Options) -> Document:
    """Compare two addresses of two runs (or of one). Raises `BadAddress`, OSError."""
    a, b = run.resolve(left), other.resolve(right)
    title = f"{left or run.title} ↔ {right or other.title}"
    ref = diff_ref(left, right)
    if isinstance(a, Artifact) and isinstance(b, Artifact):
        return artifact_page(ref, title, a, b, options)
    if isinstance(a, Compile) and isinstance(b, Compile):
        attempts = parse_ref(left).attempt, parse_ref(right).attempt
        return GrowingDocument(ref, title, options, partial(fill_compiles, a, b, attempts, (run, other)), Page)
    groups = _compiles(run, a), _compiles(other, b)
    if groups[0] is None or groups[1] is None:
        raise BadAddress(f"{left or 'the run'} and {right or 'the run'} {NOT_ALIKE}")
    fill = partial(_sets, groups[0], groups[1], (run, other), (left or run.title, right or other.title))
    return GrowingDocument(ref, title, options, fill, Page)


def are_alike(run: Run, left: str, right: str) -> bool:
    """Return whether two addresses of a run are comparable. Raises `BadAddress`."""
    a, b = run.resolve(left), run.resolve(right)
    for kind in (Artifact, Compile):
        if isinstance(a, kind) or isinstance(b, kind):
            return isinstance(a, kind) and isinstance(b, kind)
    return _compiles(run, a) is not None and _compiles(run, b) is not None


def patch_of(run: Run, left: str, other: Run, right: str) -> Iterator[bytes]:
    """Yield the patch from one artifact to another in bytes. Raises `BadAddress`, OSError."""
    a, b = run.resolve(left), other.resolve(right)
    if not (isinstance(a, Artifact) and isinstance(b, Artifact)):
        raise BadAddress("a patch needs two artifacts")
    return patch_lines(a, b)


def _compiles(run: Run, node: Node | None) -> list[Compile] | None:
    """Return all compiles of a rank, process, frame or run; None for other nodes."""
    if isinstance(node, Frame):
        return list(node.compiles)
    processes = [node] if isinstance(node, Process) else node.processes if isinstance(node, Rank) else None
    if node is None:
        processes = list(run.processes())
    if processes is None:
        return None
    return [compile_ for process in processes for frame in process.frames.values() for compile_ in frame.compiles]


def _sets(
    left: list[Compile], right: list[Compile], runs: tuple[Run, Run], names: tuple[str, str], page: Page
) -> Generator[None, None, object]:
    """Two ranks or runs: their compiles in pairs."""
    linked = runs[0] is runs[1]
    page.add((names[0], tokens.TITLE), (" ↔ ", tokens.TITLE), (names[1], tokens.TITLE))
    if less := told_less(*([compile_.process for compile_ in side] for side in (left, right))):
        page.say(less, "", tokens.WARN)
    yield
    pairs = compile_pairs(left, right) or rest_pairs(left, right)
    kernels = yield from _kernels(page, pairs, runs)
    page.blank()
    page.say("Compiles are paired by function, file, line and number of earlier compiles; ids may differ. Renamed functions are "
             "paired by the operations of their graphs.", "", tokens.DIM)  # fmt: skip
    page.blank()
    rows: list[CompareRow] = []
    same: list[tuple[Pair[Compile], CompareRow]] = []
    for pair in pairs:
        row = _compile_row(pair)
        rows.append(row)
        if row.outcome == SAME:
            same.append((pair, row))
        else:
            page.row(_compile_pieces(pair, row, linked))
        yield
    if same:
        label = f"{plural(len(same), 'pair')} the same" if len(rows) > len(same) else f"all {len(same)} are the same"
        page.open(label, folded=len(rows) > len(same))
        page.add((f"  {label}", tokens.OK))
        for pair, row in same:
            page.row(_compile_pieces(pair, row, linked))
        page.close()
    page.blank()
    counts = {outcome: sum(row.outcome == outcome for row in rows) for outcome in OUTCOMES}
    page.add(" · ".join(f"{count} {outcome}" for outcome, count in counts.items() if count) or "no compiles on either side")
    _add_kernels(page, kernels, linked)
    return CompareResult(*names, tuple(rows), kernels=kernels)


def _kernels(
    page: Page, pairs: Sequence[Pair[Compile]], runs: tuple[Run, Run]
) -> Generator[None, None, KernelComparison]:
    """Add the largest differences of two runs: statuses, compiles of one side, kernels."""
    both = [(pair.left, pair.right) for pair in pairs if pair.left is not None and pair.right is not None]
    changed = [sides for sides in both if not _surely_same(*sides)]
    kernels = yield from compare_kernels(
        changed, lambda a, b: _recorded(a, b, inputs_between(a, b), symbols_between(a, b)), _measured(runs)
    )
    texts = _changed_outcomes(pairs)
    if both and not changed and not texts:
        page.say(f"No difference: {plural(len(both), 'pair of compiles is', 'pairs of compiles are')} equal.", "", tokens.OK)
    _add_largest(page, kernels, texts)
    return kernels


def _changed_outcomes(pairs: Iterable[Pair[Compile]]) -> list[str]:
    """Return changed statuses and compiles of one side, a text for each kind."""
    functions: dict[str, list[str]] = {}
    for pair in pairs:
        shown = pair.right or pair.left
        assert shown is not None
        kind = ""
        if pair.left is None or pair.right is None:
            kind = f"compiled {ONLY_RIGHT if pair.left is None else ONLY_LEFT}"
        elif pair.left.status is not pair.right.status:
            kind = f"{pair.left.status or 'unknown'} → {pair.right.status or 'unknown'}"
        if kind:
            functions.setdefault(kind, []).append(display_name(shown.frame) or shown.label)
    by_count = sorted(functions.items(), key=lambda item: ("→" not in item[0], -len(item[1])))
    return [f"{kind}: {plural(len(names), 'compile')} ({', '.join(dict.fromkeys(names))})" for kind, names in by_count]


def _compile_row(pair: Pair[Compile]) -> CompareRow:
    left, right = pair.left, pair.right
    shown = left or right
    assert shown is not None
    name, file, line = display_code(shown.frame)
    place = f"  {(file or '').rpartition('/')[2]}:{line}" if file else ""
    label = f"{name or shown.label}{place}"
    if left is not None and right is not None and (other := display_name(right.frame)) != name:
        label += f" → {other or right.label}"
    if left is None or right is None:
        refs = str(left.ref) if left else None, str(right.ref) if right else None
        return CompareRow(label, *refs, ONLY_LEFT if left else ONLY_RIGHT)
    if _surely_same(left, right):
        return CompareRow(label, str(left.ref), str(right.ref), SAME)
    rows = [compared(artifacts) for artifacts in artifact_pairs(left, right)]
    changed = [row for row in rows if row.outcome != SAME]
    same = not changed and left.status is right.status
    return CompareRow(
        label, str(left.ref), str(right.ref), SAME if same else CHANGED,
        sum(row.added for row in changed), sum(row.removed for row in changed), sum(row.ignored_lines for row in rows),
    )  # fmt: skip


def _surely_same(left: Compile, right: Compile) -> bool:
    """Return whether a pair is known to be equal: most compiles of two runs are."""
    a, b = owns_of(left.process, right.process)
    if left.status is not right.status or a.name != b.name:
        return False
    try:
        digest = digest_of(left)
        return bool(digest) and digest == digest_of(right)
    except (OSError, ValueError, RecursionError):
        return False


def _compile_pieces(pair: Pair[Compile], row: CompareRow, linked: bool) -> list[Piece]:
    pieces = row_pieces(row, linked)
    pieces.append((f"   {row.left or '–'} ↔ {row.right or '–'}", tokens.DIM))
    if pair.left and pair.right and pair.left.status is not pair.right.status:
        pieces.append((f"   {pair.left.status or 'unknown'} → {pair.right.status or 'unknown'}", tokens.WARN))
    return pieces
