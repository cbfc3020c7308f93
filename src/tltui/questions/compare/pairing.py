"""Pairing of artifacts, compiles and devices between two compiles, ranks or runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.kind import Phase
from tltui.model.kinds import kind_of
from tltui.model.node_answers import part, shared
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, records_of
from tltui.questions.compare.comparable_lines import Difference, difference
from tltui.questions.fusion.sdsc_files import fields_of, is_sdsc
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import parse
from tltui.text.normalisation import NOBODY, RankIdentity, devices_in, most_used

LIMIT = 256 << 10
"""Stored bytes of a graph that are read for it."""
TENSORS = 64
"""Maximum number of tensor descriptions to read if a graph has no devices (older versions of torch)."""
TELLING, ASKED = 16, 64
"""Compiles that have to name devices, and that are asked for them."""
Devices = tuple[tuple[tuple[str, int], int], ...]


@part
def devices_of(compile_: Compile, reader: Reader) -> Devices:
    """Count the tensors of a compile per indexed device."""
    log = reader.log
    graphs = [record for record, _ in records_of(compile_, ("dynamo_output_graph",))]
    if graphs:
        record = graphs[-1]
        key = reader.md5(record) or (log.key, record)
        results = shared(compile_, devices_of, key, lambda: _in_graph(reader.text(record, LIMIT)))
        if results is not None:
            return results
    described = [record for record, _ in records_of(compile_, ("describe_tensor",))][:TENSORS]
    return tuple(devices_in("\n".join(reader.head(record).decode("utf-8", "replace") for record in described)).items())


def _in_graph(text: str) -> Devices | None:
    """None: its tensors have no devices."""
    devices = tuple(devices_in(text).items())
    return devices if devices or ']cpu"' in text else None


@part
def own_device(process: Process, reader: Reader) -> tuple[str, int] | None:
    """Return the device of most tensors in the first compiles of a rank; None if none has an index."""
    votes: Counter[tuple[str, int]] = Counter()
    texts_with_devices = 0
    for number, compile_ in enumerate(process.ordered()):
        devices = devices_of(compile_)
        votes.update(dict(devices))
        texts_with_devices += bool(devices)
        if texts_with_devices == TELLING or number == ASKED:
            break
    return most_used(votes)


def owns_of(left: Process, right: Process) -> tuple[RankIdentity, RankIdentity]:
    """Return the rank identity of each side. Within one process none: both sides mean the same device."""
    if left is right:
        return NOBODY, NOBODY
    devices = own_device(left), own_device(right)
    of_rank = left.rank != right.rank or devices[0] != devices[1]
    a, b = (RankIdentity(*device, of_rank) if device is not None else RankIdentity(of_rank=of_rank) for device in devices)
    return a, b


TOGETHER = "aot_autograd_runtime_wrappers"
_NAME = re.compile(r"^# (\w+)$", re.MULTILINE)


def parts_in(text: str) -> dict[str, str]:
    """Name → code of the wrappers in one text, the first of each name."""
    results: dict[str, str] = {}
    heads = [match for match in _NAME.finditer(text) if kind_of("artifact", match[1]).phase is Phase.RUNTIME]
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        results.setdefault(head[1], text[head.end() + 1 : end].rstrip("\n"))
    return results


def part_for(text: str, other: str) -> str:
    """Return the part of a text that matches an artifact of another name; all of it without such a part."""
    return parts_in(text).get(other, text)


T = TypeVar("T")
K = TypeVar("K")

Keyed = dict[tuple[object, ...], Artifact]
"""Artifacts by name, unit, attempt from the last one back, and ordinal."""
VARIES = frozenset(
    (
        "compile_id", "frame_key", "start_time", "end_time", "stack_trace", "structured_logging_overhead_s",
        "recompile_user_contexts", "triton_kernel_compile_times_us", "inductor_provenance", "num_graph_breaks",
    )
)  # fmt: skip
"""Metrics fields that differ in every run, besides those that end in `_us`, `_s` or `_ms`.

`num_graph_breaks` counts all breaks of the process until then.
"""

ORDERED = frozenset(("restart_reasons",))
"""Fields of metrics that are lists of texts in an order that means something."""


@frozen
class Pair(Generic[T]):
    """Two things that belong together; None: the other side has no such thing."""

    left: T | None
    right: T | None


def artifact_pairs(
    left: Compile, right: Compile, attempts: tuple[int | None, int | None] = (None, None)
) -> list[Pair[Artifact]]:
    """Pair the artifacts of two compiles (or of one attempt of each) in the order of the left side.

    Artifacts on the right only come last. Attempts are paired from the last one back: only that has code.
    """
    a, b = _keyed(left, attempts[0]), _keyed(right, attempts[1])
    pairs = _paired(_apart(a, b), _apart(b, a))
    matched = {id(artifact) for pair in pairs if pair.left and pair.right for artifact in (pair.left, pair.right)}
    # of wrappers in one text a pair each; what only the other side has is no reason to name the whole text again
    return [pair for pair in pairs if (pair.left and pair.right) or id(pair.left or pair.right) not in matched]


def _apart(keyed: Keyed, other: Keyed) -> Keyed:
    """Split a text with all wrappers into one entry per wrapper, if the other side has one record per wrapper."""
    if any(key[0] == TOGETHER for key in other):
        return keyed
    apart: Keyed = {}
    for key, artifact in keyed.items():
        names = parts_in(text_of(artifact)) if key[0] == TOGETHER else {}
        matching = [(name, *key[1:]) for name in names if (name, *key[1:]) in other]
        apart.update(dict.fromkeys(matching or [key], artifact))
    return apart


def _keyed(compile_: Compile, attempt: int | None) -> Keyed:
    artifacts = artifacts_of(compile_)
    units = {} if compile_.id.name else {unit.number: unit.name for unit in units_of(artifacts)}  # which is one unit itself
    last = max((artifact.attempt for artifact in artifacts), default=0)
    counts: Counter[tuple[object, ...]] = Counter()
    keyed: Keyed = {}
    for artifact in artifacts:
        if attempt is not None and artifact.attempt != attempt:
            continue
        back = last - artifact.attempt if attempt is None else 0
        name = (artifact.name, units.get(artifact.unit, "") if artifact.unit is not None else "", back)
        counts[name] += 1
        key = (*name, counts[name])
        keyed[key] = artifact
    return keyed


@part
def digest_of(compile_: Compile, reader: Reader) -> bytes:
    """Return a digest that is equal for compiles with equal artifacts; b"" if an artifact has neither md5 nor fields."""
    digests = []
    for key, artifact in _keyed(compile_, None).items():
        if (declared := artifact.log.md5(artifact.record)) is not None:
            digests.append(f"{key} {declared}")
        elif artifact.is_metrics:
            digests.append(f"{key} {hashlib.md5(text_of(artifact).encode('utf-8', 'replace'), usedforsecurity=False).hexdigest()}")
        else:
            return b""
    return hashlib.md5("\n".join(sorted(digests)).encode("utf-8", "replace"), usedforsecurity=False).digest()


def compile_pairs(left: Sequence[Compile], right: Sequence[Compile]) -> list[Pair[Compile]]:
    """Pair the compiles of two ranks or runs by function, file, line and occurrence.

    With several ranks on both sides, rank by rank. Unpaired compiles are then paired without the line: an edit above a function
    moves it. At last, functions of one file with equal operations are paired: a function was renamed.
    """
    by_rank = all(len({c.process.rank for c in side}) > 1 for side in (left, right))
    pairs = _paired(_by_code(left, True, by_rank), _by_code(right, True, by_rank))
    alone_a = [pair.left for pair in pairs if pair.left and not pair.right]
    alone_b = [pair.right for pair in pairs if pair.right and not pair.left]
    codes_b = {_code(compile_, True, by_rank) for compile_ in right} if alone_a and alone_b else set()
    codes_a = {_code(compile_, True, by_rank) for compile_ in left} if alone_a and alone_b else set()
    # a function that the other side has at this very line was only compiled less often there
    moved_a = _by_code((c for c in alone_a if _code(c, True, by_rank) not in codes_b), False, by_rank)
    moved_b = _by_code((c for c in alone_b if _code(c, True, by_rank) not in codes_a), False, by_rank)
    again = {id(p.left): p.right for p in _paired(moved_a, moved_b) if p.left and p.right}
    paired = {id(compile_) for compile_ in again.values()}
    renamed_a = [compile_ for compile_ in alone_a if id(compile_) not in again and _code(compile_, True, by_rank) not in codes_b]
    renamed_b = [compile_ for compile_ in alone_b if id(compile_) not in paired and _code(compile_, True, by_rank) not in codes_a]
    if renamed_a and renamed_b:
        sides = (_by_operations(side, by_rank) for side in (renamed_a, renamed_b))
        again |= {id(p.left): p.right for p in _paired(*sides) if p.left and p.right}
        paired = {id(compile_) for compile_ in again.values()}
    return [
        Pair(p.left, again[id(p.left)]) if p.left is not None and id(p.left) in again else p
        for p in pairs
        if p.left is not None or id(p.right) not in paired
    ]


@part
def operations_of(compile_: Compile, reader: Reader) -> tuple[tuple[str, int], ...]:
    """Count the operations of a compile's last captured graph by target; empty without one."""
    graphs = [record for record, _ in records_of(compile_, ("dynamo_output_graph",))]
    nodes = parse(reader.text(graphs[-1], LIMIT).split("\n")).nodes if graphs else ()
    return tuple(sorted(Counter(node.target for node in nodes if node.kind in ("call", "expression")).items()))


def _by_operations(compiles: Iterable[Compile], by_rank: bool) -> dict[tuple[tuple[object, ...], int], Compile]:
    """Key compiles by file, operations and occurrence, for functions that got another name."""
    counts: Counter[tuple[object, ...]] = Counter()
    keyed: dict[tuple[tuple[object, ...], int], Compile] = {}
    for compile_ in compiles:
        if operations := operations_of(compile_):
            code = code_of(compile_)[1], operations, compile_.process.rank if by_rank else None
            counts[code] += 1
            keyed[code, counts[code]] = compile_
    return keyed


def rest_pairs(left: Sequence[Compile], right: Sequence[Compile]) -> list[Pair[Compile]]:
    """Pair records without a compile id (`torch.export` and AOTInductor write no ids), rank by rank."""
    a, b = ({(c.process.rank, c.id): c for c in side if not c.is_compile and c.id.frame is None} for side in (left, right))
    if len(a) == len(b) == 1:
        return [Pair(*a.values(), *b.values())]
    return _paired(a, b)


def code_of(compile_: Compile) -> tuple[str, str | None, int | None]:
    """Return a process-independent key of compiled code: function, file name, line.

    A frame without a name has its id. Graphs compiled as code (compiled autograd) are numbered within the process.
    """
    name, file, line = compile_.frame.code
    if not name:
        return str(compile_.frame.key), None, None
    return name, _NUMBER.sub(">", os.path.basename(file)) if file else None, line


_NUMBER = re.compile(r">\.\d+$")


def _code(compile_: Compile, with_line: bool, by_rank: bool) -> tuple[object, ...]:
    name, file, line = code_of(compile_)
    return (name, file, line if with_line else None, compile_.process.rank if by_rank else None)


def _by_code(
    compiles: Iterable[Compile], with_line: bool, by_rank: bool
) -> dict[tuple[tuple[object, ...], int], Compile]:
    counts: Counter[tuple[object, ...]] = Counter()
    keyed: dict[tuple[tuple[object, ...], int], Compile] = {}
    for compile_ in compiles:
        if compile_.is_compile:
            code = _code(compile_, with_line, by_rank)
            counts[code] += 1
            keyed[code, counts[code]] = compile_
    return keyed


def _paired(left: Mapping[K, T], right: Mapping[K, T]) -> list[Pair[T]]:
    pairs = [Pair(item, right.get(key)) for key, item in left.items()]
    return pairs + [Pair(None, item) for key, item in right.items() if key not in left]


def text_of(artifact: Artifact) -> str:
    """Return the comparable text of an artifact: its payload, or the fields of metrics and torch-spyre files.

    Metrics are without the fields that differ in every run.
    """
    if is_sdsc(artifact):
        return fields_of(raw_of(artifact).decode("utf-8", "replace"))
    if artifact.payload is not None:
        return raw_of(artifact).decode("utf-8", "replace")
    value = artifact.log.event(artifact.record)
    if isinstance(value, dict):
        value = {key: _in_order(key, _opened(field)) for key, field in value.items() if not varies(key)}
    return json.dumps(value, default=repr)


def raw_of(artifact: Artifact) -> bytes:
    """Return the bytes of an artifact: its payload; for metrics the fields as JSON, one per line."""
    if artifact.payload is not None:
        checked = artifact.log.check(artifact.record)
        return (checked.payload if checked is not None else artifact.payload).read()
    value = artifact.log.event(artifact.record)
    return (json.dumps(value, default=repr, indent=2) + "\n").encode("utf-8", "surrogatepass")


def surely_same(left: Artifact, right: Artifact) -> bool:
    """Return whether both declare the same md5 and size, so that neither must be read.

    Equal texts of ranks on different devices are undecided: one rank may use the device of the other.
    """
    a, b = owns_of(left.owner.process, right.owner.process)
    if a.name != b.name:
        return False
    digest = left.log.md5(left.record)
    return digest is not None and digest == right.log.md5(right.record) and left.name == right.name


def varies(key: str) -> bool:
    """Return whether a metrics field differs in every run."""
    return key in VARIES or key.endswith(("_us", "_s", "_ms"))


def _opened(field: object) -> object:
    """Configs are JSON in a string: compared by key as well."""
    if isinstance(field, str) and field.startswith("{"):
        try:
            return json.loads(field)
        except (ValueError, RecursionError):
            return field
    return field


def _in_order(key: str, field: object) -> object:
    """Sort sets of names, which torch writes as lists in an order that varies between runs."""
    if key not in ORDERED and isinstance(field, list) and all(isinstance(item, str) for item in field):
        return sorted(field)
    return field


def artifact_difference(left: Artifact, right: Artifact, raw: bool = False) -> Difference:
    """Compare two artifacts; of different languages as plain lines. Raises OSError."""
    language = left.kind.language if left.kind.language == right.kind.language and not is_sdsc(left) else "text"
    if raw:
        return difference(raw_of(left).decode("utf-8", "replace"), raw_of(right).decode("utf-8", "replace"), language, True)
    a, b = text_of(left), text_of(right)
    if left.name != right.name:
        a = part_for(a, right.name) if left.name == TOGETHER else a
        b = part_for(b, left.name) if right.name == TOGETHER else b
    return difference(a, b, language, owns=owns_of(left.owner.process, right.owner.process))
