"""What two compiles say of themselves, side by side: metrics, time by phase, guards, inputs, symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tltui.analyses.compare.compared import Fact
from tltui.analyses.compare.comparing import Difference, rules_for
from tltui.analyses.compare.own_device import owns_of
from tltui.analyses.compare.pairing import artifact_difference
from tltui.analyses.records import Reader, metrics_fields
from tltui.analyses.shapes.inputs import Inputs, inputs_of
from tltui.analyses.timing.events import events_of
from tltui.analyses.timing.phases import ORDER, timing_of
from tltui.documents.format import seconds
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Compile
from tltui.text.diff.line_pairs import line_pairs
from tltui.text.diff.normalise import normalised
from tltui.text.diff.own import Own

GUARDS = "dynamo_cpp_guards_str"
FIELDS = (
    ("graph_node_count", "nodes"), ("graph_input_count", "inputs"), ("shape_env_guard_count", "shape guards"),
    ("accumulated_cache_size", "compiled before"), ("recompile_reason", "recompiled for"), ("fail_type", "failed with"),
    ("fail_reason", "because"), ("cudagraph_skip_reason", "no cudagraph"),
    ("pytorch_version", "torch"),
)  # fmt: skip
"""Metrics that are shown where they differ."""


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


def _alike(left: str, right: str, owns: tuple[Own, Own]) -> bool:
    """Whether two texts differ only as any two runs do, or in what is each rank's own."""
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
    ("guards", lambda c: _shown(c.facts.guard_count)),
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
        found = timing_of(events_of(compile_, reader), metrics_fields(compile_, reader))
        table = {phase.name: phase.seconds for phase in found.phases}
        table |= {f"{phase.name}, later": phase.seconds for phase in found.backward}
        tables.append(table)
    names = [*ORDER, *(f"{name}, later" for name in ORDER)]
    a, b = tables
    return [Fact(n, _seconds(a.get(n)), _seconds(b.get(n))) for n in names if n in a or n in b]


def _seconds(value: float | None) -> str | None:
    return None if value is None else seconds(value)


def guards_between(left: Compile, right: Compile) -> tuple[list[Fact], tuple[str, str] | None, str]:
    """Guards that only one of them has, without their places; the addresses of both lists, None without both; and what to
    say where there is none that differs."""
    a, b = _guards(left), _guards(right)
    if a is None or b is None:
        without = [str(c.ref) for c, own in ((left, a), (right, b)) if own is None]
        return [], None, f"{' and '.join(without)} {'have' if len(without) > 1 else 'has'} no list of guards"
    try:
        return between(artifact_difference(a, b), _guard), (str(a.ref), str(b.ref)), "the same guards"
    except OSError as error:
        return [], None, f"not read: {error.strerror or error}"


def _guards(compile_: Compile) -> Artifact | None:
    found = [a for a in artifacts_of(compile_) if a.name == GUARDS]
    return found[-1] if found else None


def _guard(line: str) -> str:
    """`TENSOR_MATCH: check_tensor(…)`, without the tree and the user's code."""
    return line.lstrip("| ").removeprefix("+- ").partition("  # ")[0].strip()


def between(found: Difference, shown: Callable[[str], str]) -> list[Fact]:
    """The lines that differ; a line that replaced another stands beside it."""
    facts = []
    for change in found.changes:
        if change.same:
            continue
        a = [shown(line) for line in found.left.lines[change.a0 : change.a1]]
        b = [shown(line) for line in found.right.lines[change.b0 : change.b1]]
        facts += _beside(a, b)
    return facts


def _beside(left: Sequence[str], right: Sequence[str]) -> list[Fact]:
    return [
        Fact(str(n), left[x] if x >= 0 else None, right[y] if y >= 0 else None)
        for n, (x, y) in enumerate(line_pairs(left, right))
    ]


def inputs_between(left: Compile, right: Compile) -> list[Fact]:
    """Inputs that differ, by source."""
    return _by_name(_inputs(inputs_of(left)), _inputs(inputs_of(right)), owns_of(left.process, right.process))


def symbols_between(left: Compile, right: Compile) -> list[Fact]:
    """Symbols that differ, by what they stand for."""
    return _by_name(_symbols(inputs_of(left)), _symbols(inputs_of(right)), owns_of(left.process, right.process))


def _by_name(left: dict[str, str], right: dict[str, str], owns: tuple[Own, Own]) -> list[Fact]:
    found = []
    for name in sorted(left.keys() | right.keys()):
        x, y = left.get(name), right.get(name)
        if x != y and not (x is not None and y is not None and _alike(x, y, owns)):
            found.append(Fact(name, x, y))
    return found


def _inputs(found: Inputs) -> dict[str, str]:
    return {
        t.source: f"{t.source}  {t.dtype} [{', '.join(t.size or ())}] stride [{', '.join(t.stride or ())}] {t.device}"
        + (" requires grad" if t.requires_grad else "")
        for t in found.tensors
    }


def _symbols(found: Inputs) -> dict[str, str]:
    return {
        s.source or s.name: f"{s.name}  {s.source or 'depends on data'} = {s.hint or '?'} {s.range or ''}".rstrip()
        + (f", fixed to {s.specialized}" if s.specialized else "")
        for s in found.symbols
    }


