"""What `tltui check` can limit: how each thing is counted, and where each of them is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from tltui.analyses.job_failures.of_run import RunFailure, own_failures, told_first
from tltui.analyses.problems.measure import REASONS, Facts, Found, Measure, one_line
from tltui.analyses.ranks.gate import difference_reasons, differences
from tltui.analyses.recompiles.reasons import parse_reason
from tltui.analyses.runtime import gate as runtime
from tltui.analyses.summary import Code
from tltui.model.artifacts import artifact_name
from tltui.model.kind import Kind as Row
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID
from tltui.model.status import Status
from tltui.text.owner import is_framework
from tltui.trace.batch import Kind
from tltui.trace.scan import BROKEN, FOREIGN


def _named(compile_: Compile) -> str:
    name, file, line = compile_.frame.code
    return f"{name or '?'} ({file}:{line})" if file else name or "?"


def _errors(facts: Facts) -> list[Found]:
    found = []
    for group in (*facts.problems.errors, *facts.problems.backward):
        failure = group.failure
        side = "backward: " if failure.backward else ""
        where = f" at {failure.file}:{failure.line}" if failure.file else ""
        text = f"{side}{failure.type}: {one_line(failure.reason.partition(chr(10))[0])} (in {group.code.name or '?'}{where})"
        key = f"{failure.type}\0{failure.reason.partition(chr(10))[0]}\0{group.code.name}"
        found += [Found(item.ref, text, key, *_own(failure.file, failure.line, group.code)) for item in group.occurrences]
    for item in _printed(facts):
        said = one_line(item.sentence)
        found.append(Found(item.compile or "@problems", said, f"printed\0{said}"))
    return found + _limits(facts, False)


def _own(file: str | None, line: int | None, code: Code) -> tuple[str | None, int | None]:
    """The line of the user's that something is about: where it happened, if that is theirs, else where their function begins."""
    if file and (not is_framework(file) or not code.file):
        return file, line
    return code.file, code.line


def _at(compile_: Compile) -> tuple[str | None, int | None]:
    """Where the function of a compile begins."""
    return compile_.frame.code[1:]


def _printed(facts: Facts) -> list[RunFailure]:
    """Failures that only an output tells of."""
    return own_failures(told_first(facts.run))


def _traced_errors(facts: Facts) -> int:
    return sum(compile_.tally.errors for compile_ in facts.compiles if compile_.facts.traced)


def _eager(facts: Facts) -> list[Found]:
    found = []
    for group in facts.problems.eager:
        where = f" at {group.file}:{group.line}" if group.file else ""
        text = f"{group.eager}: {one_line(group.headline)} (in {group.code.name or '?'}{where})"
        key = f"{group.eager}\0{group.headline}\0{group.code.name}"
        found += [Found(item.ref, text, key, *_own(group.file, group.line, group.code)) for item in group.occurrences]
    return found + _limits(facts, True)


def _limits(facts: Facts, eager: bool | None = None) -> list[Found]:
    """Hits of the recompile limit: all, or only those that are no error (`eager`), or that are one."""
    return [
        Found(item.ref, f"recompile limit reached by {group.code.name or '?'}", f"limit\0{group.code.name}",
              group.code.file, group.code.line)
        for group in facts.problems.limits
        if eager is None or group.eager is eager
        for item in group.occurrences
    ]


def _breaks(facts: Facts) -> list[Found]:
    found = []
    for group in facts.problems.breaks:
        where = f" at {group.user_file}:{group.user_line}" if group.user_file else ""
        text = f"{group.found.gb or ''} {one_line(group.found.headline)}{where}".strip()
        key = f"{group.found.gb or group.found.headline}\0{group.user_file}\0{group.found.code or group.user_line}"
        found += [Found(item.ref, text, key, group.user_file, group.user_line) for item in group.occurrences]
    return found


def _distinct(found: list[Found]) -> list[Found]:
    first: dict[str, Found] = {}
    for item in found:
        first.setdefault(item.text, item)
    return list(first.values())


def _recompiled(facts: Facts) -> list[Found]:
    found = []
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            said = next((m.recompile_reason for m in compile_.metrics if m.recompile_reason), None)
            reason = one_line(parse_reason(said).text) if said else "the metrics give no reason"
            text, key = f"{_named(compile_)}: {reason}", f"{compile_.frame.code[0]}\0{reason}"
            found.append(Found(str(compile_.ref), text, key, *_at(compile_)))
    return found


def _by_frame(facts: Facts) -> list[list[Compile]]:
    frames: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            frames[id(compile_.frame)].append(compile_)
    return sorted(frames.values(), key=len, reverse=True)


def _most_recompiled(facts: Facts) -> list[Found]:
    return [
        Found(str(members[0].frame.ref), f"{_named(members[0])}: {_recompiles(len(members))}", f"{members[0].frame.code[0]}",
              *_at(members[0]))
        for members in _by_frame(facts)
    ]


def _recompiles(count: int) -> str:
    return "1 recompile" if count == 1 else f"{count} recompiles"


MISSES = {"fx_graph_cache_miss": "FX graph cache", "aotautograd_cache_miss": "AOTAutograd cache"}


def _cache_misses(facts: Facts) -> list[Found]:
    return [
        Found(str(c.ref), f"{title} missed: {_named(c)}", f"{name}\0{c.frame.code[0]}\0{c.id}", *_at(c))
        for c in facts.everything
        for name, title in MISSES.items()
        for _ in range(c.counts[name])
    ]


def _slowest_rank(facts: Facts) -> float:
    """Ranks compile side by side, processes of a rank after each other: the job waits for the slowest rank."""
    return max((rank.tally.seconds for rank in facts.run.ranks), default=0.0)


def _costs(facts: Facts) -> list[Found]:
    slow = max(facts.run.ranks, key=lambda rank: rank.tally.seconds, default=None)
    own = [c for process in slow.processes for c in process.ordered() if c.is_compile] if slow else []
    own.sort(key=lambda c: -c.tally.seconds)
    return [
        Found(str(c.ref), f"{c.tally.seconds:.2f} s in {_named(c)}", f"{c.frame.code[0]}\0{c.id}", *_at(c)) for c in own[:REASONS]
    ]


def _damage(facts: Facts) -> list[Found]:
    return [
        Found("@damage", f"{model.log.path}, byte {item.offset}: {item.reason}", item.reason)
        for model in facts.run.models
        for item in model.log.damage
    ]


def _unfinished(facts: Facts) -> list[Found]:
    found = (*facts.problems.unfinished, *facts.problems.running)
    return [
        Found(item.ref, f"no end{' of the backward' if item.backward else ''}: {item.function or '?'}", str(item.function))
        for item in found
    ]


def _skipped(facts: Facts) -> list[Found]:
    return [
        Found(item.ref, f"no operations: {group.code.name or '?'}", f"{group.code.name}", group.code.file, group.code.line)
        for group in facts.problems.skipped
        for item in group.occurrences
    ]


def _of(status: Status) -> Callable[[Facts], float]:
    """How many compiles have a status."""
    return lambda facts: sum(compile_.tally.counted(status) for compile_ in facts.compiles)


def _row(kind: Kind) -> Row:
    """The entry of a kind in the table of kinds."""
    return kind_of(kind.event, kind.name or None, kind.encoding or None)


def _is_unknown(kind: Kind) -> bool:
    """Whether tltui knows neither the kind nor what the line is."""
    return not kind.event or _row(kind).generic


def _unknown_records(facts: Facts) -> Iterator[tuple[Compile, int, Kind]]:
    for compile_ in facts.everything:
        log = compile_.process.log
        kinds = {number: kind for number, kind in enumerate(log.kinds) if _is_unknown(kind)}
        if kinds:
            column = log.columns.kind
            yield from ((compile_, record, kinds[column[record]]) for record in compile_.records if column[record] in kinds)


def _record(compile_: Compile, record: int) -> str:
    return f"@record:{compile_.process.ref}#{record + 1}"


def _unknown(facts: Facts) -> list[Found]:
    return [Found(_record(c, record), _what(kind), f"{kind.event}\0{kind.name}") for c, record, kind in _unknown_records(facts)]


def _what(kind: Kind) -> str:
    if kind.event:
        return f"a record of a kind that tltui does not know: {one_line(artifact_name(kind))}"
    words = {BROKEN: "a record without a readable envelope", FOREIGN: "a line that is no record"}
    return words.get(kind.name, "a record that does not say what it is")


def _without_id(facts: Facts) -> Iterator[tuple[Compile, int, Kind]]:
    """Artifacts that belong to no compile. Torch writes the artifact `torch_version` once, before any."""
    for compile_ in facts.everything:
        if compile_.id != NO_ID:
            continue
        log = compile_.process.log
        wanted = {
            number: kind for number, kind in enumerate(log.kinds)
            if kind.event and kind.name != "torch_version" and _row(kind).artifact
        }  # fmt: skip
        column = log.columns.kind
        yield from ((compile_, record, wanted[column[record]]) for record in compile_.records if column[record] in wanted)


def _no_compile_id(facts: Facts) -> list[Found]:
    return [
        Found(_record(c, record), f"{one_line(artifact_name(kind))} without a compile id", artifact_name(kind))
        for c, record, kind in _without_id(facts)
    ]


MEASURES: dict[str, Measure] = {
    "error": Measure(
        "compiles that failed", lambda f: _traced_errors(f) + len(_printed(f)), _errors, "problems"),
    "eager": Measure(
        "compiles that were given up: the function runs in eager mode", _of(Status.EAGER), _eager, "problems"),
    "break": Measure(
        "graph breaks", lambda f: sum(c.tally.breaks for c in f.everything), _breaks, "problems"),
    "distinct_break": Measure(
        "distinct graph breaks", lambda f: len(f.problems.breaks), lambda f: _distinct(_breaks(f)), "problems"),
    "recompiles": Measure(
        "recompiles", lambda f: sum(c.is_recompile for c in f.compiles), _recompiled, "recompiles"),
    "frame_recompiles": Measure(
        "recompiles of one frame, at most", lambda f: max(map(len, _by_frame(f)), default=0), _most_recompiled, "recompiles"),
    "recompile_limit": Measure(
        "hits of the recompile limit", lambda f: sum(c.facts.recompile_limit for c in f.compiles), _limits, "problems"),
    "cache_miss": Measure(
        "cache misses", lambda f: len(_cache_misses(f)), _cache_misses, "caches"),
    "compile_time": Measure(
        "compile time of the slowest rank", _slowest_rank, _costs, "timing", seconds=True),
    "empty": Measure(
        "compiles without operations", lambda f: len(_skipped(f)), _skipped, "problems"),
    "unfinished": Measure(
        "compiles that did not finish", lambda f: len(f.problems.unfinished) + len(f.problems.running), _unfinished, "problems"),
    "damage": Measure(
        "damaged places of the logs", lambda f: f.run.damaged, _damage, "damage"),
    "unknown": Measure(
        "records of unknown kinds, and lines that are no records", lambda f: len(_unknown(f)), _unknown, "records"),
    "no_compile_id": Measure(
        "artifacts that belong to no compile", lambda f: len(_no_compile_id(f)), _no_compile_id, "records"),
    "diverge": Measure(
        "differences between ranks", lambda f: differences(f.run), lambda f: difference_reasons(f.run), "summary"),
    **runtime.MEASURES,
}  # fmt: skip
"""All gates, in the order in which help lists them."""
