"""Facets of a compile: its records as lines that are equal on equal ranks; course and compile times of a process."""

from __future__ import annotations

import hashlib
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from tltui.model.artifacts import artifact_name
from tltui.model.node_answers import part, shared
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, list_in, records_of, text_in
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.questions.caches.cache_report import NAMES
from tltui.questions.compare.comparable_lines import rules_for, side_of
from tltui.questions.compare.pairing import own_device
from tltui.questions.hang.open_phases import begun
from tltui.questions.problems.compile_problems import cached_breaks
from tltui.questions.ranks.rank_course import (
    EXECUTED,
    FACETS,
    NONE,
    TEXT_LIMIT,
    Course,
    Fact,
    Lane,
    Step,
    Times,
    digest_of,
    fact,
    framed,
    framed_digest,
    plain,
    steps_in,
)
from tltui.questions.timing.event_sums import Sums
from tltui.questions.timing.timing_events import ReadStats, read_groups
from tltui.text.graphs.fx_graph import parse
from tltui.text.normalisation import RankIdentity, devices_in, normalised
from tltui.trace.grammar import parse_json
from tltui.trace.log import Log

_MARK = b'"describe_tensor": '
_SOURCE = b'"describe_source": '
_VIEW, _DESCRIBER = b', "view_func": "', b', "describer_id": '
OTHER = frozenset((
    "id", "describer_id", "storage", "ndim", "view_func", "base", "grad", "attrs", "ctx", "type", "data", "autograd_meta_from",
    "fake_mode", "is_leaf", "is_view", "parent",
))  # fmt: skip
"""Fields with ids of other tensors, and redundant fields."""
FIRST = ("dtype", "size", "stride", "device")
PARTS = " · "
CACHE_SIZE = 8192
ParsedLines = dict[bytes, tuple[bytes, str]]
_TENSORS: dict[str, ParsedLines] = {}
"""Parsed descriptions of tensors, by the name of the rank's device."""
_SOURCES: ParsedLines = {}


def inputs_fact(tensors: Iterable[bytes], sources: Iterable[bytes], identity: RankIdentity) -> Fact:
    """Return the inputs from the first lines of their records, one per line: `L['x']: float16 · [8, 4] · stride [4, 1] · cuda`."""
    described: dict[tuple[bytes, bytes], str] = {}
    cache = _TENSORS.setdefault(identity.name, {})
    for line in tensors:
        start = line.find(_MARK)
        end = line.find(_VIEW, start)
        last = line.find(_DESCRIBER, max(end, start))
        if start < 0 or last < 0:
            continue
        number, description = _cached(cache, line[start : end if end >= 0 else last], identity, _tensor)
        described[line[last + len(_DESCRIBER) : line.find(b"}", last)], number] = description
    lines = []
    for line in sources:
        start = line.find(_SOURCE)
        end = line.find(b'"}', start)
        if start < 0 or end < 0:
            continue
        whose, source = _cached(_SOURCES, line[start:end], identity, _source)
        describer, _, number = whose.partition(b" ")
        if (tensor := described.get((describer, number))) is not None:
            lines.append(f"{source}: {tensor}")
    lines.sort()
    return plain(*lines) if lines else NONE


def _cached(
    cache: ParsedLines, part: bytes, identity: RankIdentity, read: Callable[[bytes, RankIdentity], tuple[bytes, str]]
) -> tuple[bytes, str]:
    """Parse a description, each different one once: all ranks describe the same tensors."""
    parsed = cache.get(part)
    if parsed is None:
        if len(cache) >= CACHE_SIZE:
            cache.clear()
        parsed = cache[part] = read(part, identity)
    return parsed


def _tensor(part: bytes, identity: RankIdentity) -> tuple[bytes, str]:
    """Parse the id and description of `"describe_tensor": {"id": 0, …`."""
    try:
        value = parse_json(part[len(_MARK) :] + b"}")
    except ValueError:
        return b"?", part.decode("utf-8", "replace")
    if not isinstance(value, dict):
        return b"?", ""
    words = [_word(name, value[name], identity) for name in FIRST if name in value]
    flags = [name if value[name] is True else f"{name} {value[name]}" for name in value if name not in OTHER and name not in FIRST]
    return str(value.get("id")).encode(), PARTS.join((*words, *flags))


def _word(name: str, value: Any, identity: RankIdentity) -> str:
    if name == "dtype":
        return str(value).removeprefix("torch.")
    if name == "stride":
        return f"stride {value}"
    if name == "device":
        text = str(value).removeprefix("device(type='").removesuffix(")").replace("', index=", ":").removesuffix("'")
        return identity.device if text == identity.name else text
    return str(value)


def _source(part: bytes, identity: RankIdentity) -> tuple[bytes, str]:
    """Parse `describer number` and source of `"describe_source": {"describer_id": 0, "id": 0, "source": "L['x']`."""
    try:
        value = parse_json(part[len(_SOURCE) :] + b'"}')
    except ValueError:
        return b"", ""
    if not isinstance(value, dict):
        return b"", ""
    return f"{value.get('describer_id')} {value.get('id')}".encode(), str(value.get("source"))


_CALL = re.compile(rb"(?m)^(?![ \t]*#).*?torch\.ops\._c10d_functional\.(\w+)\.default\(")
_OP = re.compile(r"torch\.ops\._c10d_functional\.(\w+)\.default")
MARK = b"torch.ops._c10d_functional."
ESTIMATE = "estimated_runtime_ns"


def operations(text: bytes) -> list[str]:
    """Return the collectives of a schedule in order, with torch's names."""
    try:
        value = parse_json(text)
    except ValueError:
        return []
    return [op if isinstance(op, str) else str(op) for op in value] if isinstance(value, list) else []


def collectives_fact(schedules: Sequence[bytes]) -> Fact:
    """Return the schedules of a compile in record order, one numbered line per collective."""
    lines = [
        f"{n}. {op.removeprefix('torch.ops.').removesuffix('.default')}"
        for n, op in enumerate((op for text in schedules for op in operations(text)), 1)
    ]
    return fact(lines) if lines else NONE


def parity_fact(schedules: Sequence[bytes], codes: Sequence[bytes]) -> Fact:
    """Return the collectives whose call count in the code differs from the schedules.

    Empty if they agree, or if either is absent.
    """
    if not schedules or not any(MARK in code for code in codes):
        return NONE
    ops = (_OP.fullmatch(op) for text in schedules for op in operations(text))
    planned = Counter(match[1] for match in ops if match is not None)
    called = Counter(match[1].decode() for code in codes for match in _CALL.finditer(code))
    lines = [
        f"{name}: {planned[name]} in the schedule, {called[name]} in the code"
        for name in sorted(planned.keys() | called.keys())
        if planned[name] != called[name]
    ]
    return fact(lines) if lines else NONE


def estimates_fact(text: bytes) -> tuple[Fact, float]:
    """Return the output types of a graph's operations, and the sum of estimates in nanoseconds.

    The fact excludes the estimates: some are measured, and differ between equal ranks.
    """
    try:
        value = parse_json(text)
    except ValueError:
        return NONE, 0.0
    total = 0.0
    lines, parts = [], []
    for n, op in enumerate(list_in(value, "ops"), 1):
        expected = op.get(ESTIMATE) if isinstance(op, dict) else None
        total += expected if isinstance(expected, (int, float)) else 0.0
        outputs = " ".join(_output(output) for output in list_in(op, "outputs"))
        line = f"{n}. {text_in(op, 'name') or '?'} {outputs}".strip()
        lines.append(line)
        parts.append(line.encode("utf-8", "replace"))
    return (Fact(digest_of(parts), "\n".join(lines)[:4096]) if lines else NONE), total


def _output(output: Any) -> str:
    if not isinstance(output, dict):
        return "?"
    return f"{output.get('dtype')} {output.get('shape')} stride {output.get('stride')}"


T = TypeVar("T")

CONFIGS = (b'"dynamo_config": "', b'"inductor_config": "', b'"functorch_config": "', b'"compiler_config": "')
"""Whole configurations: JSON in a string (`tltui.questions.metrics.metric_sums.CONFIGS`)."""
FLAGS = (b'"config_suppress_errors": ', b'"config_inline_inbuilt_nn_modules": ', b'"specialize_float": ')
_END = b'", "'
VALUE = 80


def dumps_in(line: bytes) -> tuple[bytes, ...]:
    """Return the raw configurations in the first line of a metrics record.

    Quotes within one are escaped, so `", "` ends it.
    """
    dumps = []
    for mark in CONFIGS:
        start = line.find(mark)
        if start >= 0:
            end = line.find(_END, start + len(mark))
            dumps.append(line[start : end if end >= 0 else line.rfind(b'"')])
    for mark in FLAGS:
        start = line.find(mark)
        if start >= 0:
            dumps.append(line[start : line.find(b",", start)])
    return tuple(dumps)


class Configuration(NamedTuple):
    """The entries of a configuration."""

    name: str
    names: frozenset[str]
    entries: tuple[tuple[str, str, str], ...]
    """(name, value, value without the parts that only another run or rank changes) of each entry."""


class Described(NamedTuple):
    """The lines of a configuration."""

    lines: str
    compared: bytes
    """The compared form of the lines, as `digest_of` hashes it."""


Keep = Callable[[Hashable, Callable[[], T]], T]
"""Return the cached value of a key, else make it: most compiles have most of their configurations in common."""


def settings_fact(dumps: Iterable[bytes], identity: RankIdentity, keep: Keep[Any]) -> Fact:
    """Join the results of `dumps_in`. Entries of equal names in two configurations have the configuration before them."""
    configurations = [keep((dump, identity.name), partial(_configuration, dump, identity)) for dump in dumps]
    names: frozenset[str] = frozenset()
    several: frozenset[str] = frozenset()
    for configuration in configurations:
        several |= names & configuration.names
        names |= configuration.names
    if not names:
        return NONE
    described: list[Described] = []
    for dump, configuration in zip(dumps, configurations, strict=True):
        prefixed = several & configuration.names
        if configuration.names:
            described.append(keep((dump, identity.name, prefixed), partial(_described, configuration, prefixed)))
    return Fact(framed_digest(one.compared for one in described), "\n".join(one.lines for one in described)[:TEXT_LIMIT])


_WORDS = {None: "null", True: "true", False: "false"}


def _configuration(dump: bytes, identity: RankIdentity) -> Configuration:
    entries = []
    for name, value in _entries(dump).items():
        text = _WORDS[value] if value is None or isinstance(value, bool) else value
        text = text if isinstance(text, str) else json.dumps(text, sort_keys=True, default=repr)
        same = text if len(text) <= 3 or text in _WORDS.values() else normalised(text, rules_for(text, identity))[0]
        entries.append((name, text, same))
    return Configuration(dump[1 : dump.index(b'":')].decode(), frozenset(name for name, _, _ in entries), tuple(entries))


def _described(configuration: Configuration, prefixed: frozenset[str]) -> Described:
    lines: list[str] = []
    compared: list[bytes] = []
    for name, value, same in configuration.entries:
        label = f"{configuration.name}.{name}" if name in prefixed else name
        line = f"{label} {same}"[:VALUE]
        compared.append(framed(line.encode("utf-8", "replace")))
        lines.append(line if same == value or "\t" in line + value else f"{line}\t{label} {value}"[: 2 * VALUE])
    return Described("\n".join(lines), b"".join(compared))


def _entries(dump: bytes) -> dict[str, object]:
    """Return the values of a configuration by name; a flag is its only entry."""
    try:
        value = parse_json(b"{" + dump + (b'"}' if b'": "' in dump else b"}"))
        name, content = next(iter(value.items()))
        inner = parse_json(content.encode("utf-8", "surrogatepass")) if isinstance(content, str) else content
    except (ValueError, StopIteration):
        return {}
    return inner if isinstance(inner, dict) else {name: inner}


_COMMENT = re.compile(r"(?m)^[ \t]*(?:#.*)?\n|  # .*$")
_IDS = (
    (b"___check_", re.compile(rb"(___check_\w{1,60}\([^\n]{0,400}?, )\d{6,}"), rb"\1I"),
    (b"0x", re.compile(rb"0x[0-9a-f]{6,16}"), b"0xA"),
    (b"Guard latency = ", re.compile(rb"Guard latency = [\d.]+"), b"Guard latency = T"),
    (b"# graph id: ", re.compile(rb"# graph id: \d+"), b"# graph id: N"),
    (b"torchinductor_", re.compile(rb"torchinductor_[\w.@+/-]*"), b"torchinductor_P"),
    (b"/attempt_", re.compile(rb"/attempt_\d{1,4}/\d{1,6}(?=/)"), b"/attempt_N/R"),
)
"""Literal prefix (for a fast search), expression that begins with it, and replacement."""
GUARD_TREE = "guards"
_RANK = re.compile(r"(?i)(rank\w{0,20}['\")\]]{0,3} == )\d+")
"""Number of a rank in a guard: it differs on every rank without consequence."""


def bare(text: bytes, identity: RankIdentity) -> bytes:
    """Strip addresses, cache paths and the rank's device number from a text by a fast byte search.

    Equal results are equal in everything that ranks can share.
    """
    for needle, pattern, sign in _IDS:
        if needle in text:
            text = pattern.sub(sign, text)
    for needle, pattern, sign in _identity_patterns(identity):
        if needle in text:
            text = pattern.sub(sign, text)
    return text


@lru_cache(maxsize=256)
def _identity_patterns(identity: RankIdentity) -> tuple[tuple[bytes, re.Pattern[bytes], bytes], ...]:
    if not identity.device:
        return ()
    kind, n = identity.device.encode(), b"%d" % identity.index
    texts = (kind + b":", b"index=", b"device=", b"stream", b"get_raw_stream(", b"_DeviceGuard(", b"set_device(", b"triton/")
    signs = b"\xe2\x80\xb9own\xe2\x80\xba"
    return tuple((text + n, re.compile(re.escape(text + n) + rb"(?![\w.])"), text + signs) for text in texts)


def graph_fact(text: bytes, identity: RankIdentity) -> Fact:
    """Return a Dynamo graph without comments, ids and the rank's device."""
    graph = text.decode("utf-8", "replace")
    if not graph.strip():
        return NONE
    nodes = len(parse(graph.split("\n")).nodes)
    return fact([f"{nodes} node{'s' * (nodes != 1)}"], [canonical(graph, identity)])


def canonical(text: str, identity: RankIdentity) -> bytes:
    """Normalize a graph: without comments, empty lines, ids and the rank identity."""
    plain = _COMMENT.sub("", text + "\n")
    line, _ = normalised(plain, rules_for(plain, identity))
    return line.encode("utf-8", "replace")


def guards_fact(text: bytes, identity: RankIdentity) -> Fact:
    """Return the guards of a tree in source order, normalized as in `tltui diff`, one per line."""
    if not text.strip():
        return NONE
    side = side_of(text.decode("utf-8", "replace"), GUARD_TREE, identity)
    keys = [without_rank(str(key)) for key, line in zip(side.keys, side.lines, strict=True) if "+- " in line]
    return fact([_guard(key) for key in keys], [digest_of(key.encode("utf-8", "replace") for key in keys)])


def without_rank(text: str) -> str:
    """Normalize guards on a variable named rank: `G['rank'] == 3` holds on rank 3 only."""
    return _RANK.sub(r"\1‹rank›", text)


def _guard(line: str) -> str:
    return line.partition("+- ")[2].partition("  # ")[0].strip() if "+- " in line else line.strip()


def code_digest(text: bytes, identity: RankIdentity) -> bytes:
    """Return the digest of generated code, normalized as in `tltui diff`, without source line comments."""
    plain = text.decode("utf-8", "replace")
    line, _ = normalised(plain, rules_for(plain, identity))
    return digest_of([line.encode("utf-8", "replace")])


LIMIT = 4 << 20
"""Stored bytes of a graph, guard tree or code that count."""
BREAKS = 20
GRAPH, CODE, SCHEDULE, ESTIMATES = "dynamo_output_graph", "inductor_output_code", "inductor_collective_schedule", (
    "inductor_runtime_and_tensor_meta"
)
GUARDS, TENSOR, SOURCE, REASONS = "dynamo_cpp_guards_str", "describe_tensor", "describe_source", "recompile_reasons"
READ = frozenset((GRAPH, CODE, SCHEDULE, ESTIMATES, GUARDS, TENSOR, SOURCE, REASONS, *NAMES))
FINISHED, FAILED, LIMITED = "finished", "failed", "recompile limit"
_ID = re.compile(r"(?m)^\d+/\d+: ")
_WANTED_KINDS: WeakKeyDictionary[Log, tuple[int, dict[int, str]]] = WeakKeyDictionary()
Facts = tuple[Fact, ...]


def facts_of(compile_: Compile, reader: Reader, identity: RankIdentity) -> Facts:
    """Return the facts of a compile in the order of `course.FACETS`; empty for absent records.

    An unfinished compile has few. `identity`: the rank identity, which is normalized away.
    """
    records, answers = _records(compile_, reader.log)
    get = records.get
    schedules = _keyed(reader, get(SCHEDULE, ()))
    codes = _keyed(reader, get(CODE, ()))
    graphs = _keyed(reader, get(GRAPH, ())[-1:])
    return (
        _end(compile_), _version(compile_), _settings(compile_, reader, identity), _breaks(compile_), _failure(compile_),
        _schedules(compile_, reader, schedules), _devices(compile_, reader, identity, graphs, get(TENSOR, ())),
        _recompile(compile_, reader, get(REASONS, ()), identity),
        inputs_fact(map(reader.head, get(TENSOR, ())), map(reader.head, get(SOURCE, ())), identity),
        _graph(compile_, reader, graphs, identity), _guards(compile_, reader, get(GUARDS, ()), identity),
        _code(compile_, reader, codes, identity), _parity(compile_, reader, schedules, codes),
        plain(*(" ".join(NAMES[name]) for name in answers)) if answers else NONE,
        _estimates(compile_, reader, _keyed(reader, get(ESTIMATES, ()))),
    )  # fmt: skip


def _records(compile_: Compile, log: Log) -> tuple[dict[str, list[int]], list[str]]:
    """Return records by name, of the last attempt where there are several, and the names of cache answers."""
    cached = _WANTED_KINDS.get(log)
    if cached is None or cached[0] < len(log.kinds):
        wanted = {n: name for n, kind in enumerate(log.kinds) if (name := artifact_name(kind)) in READ}
        cached = _WANTED_KINDS[log] = len(log.kinds), wanted
    names, column = cached[1], log.columns.kind
    last = max(compile_.attempts) if len(compile_.attempts) > 1 else 0
    records: dict[str, list[int]] = {}
    answers: list[str] = []
    for record in compile_.records:
        artifact = names.get(column[record])
        if artifact is None or (last and (log.context(record).attempt or 0) < last and artifact != REASONS):
            continue
        if artifact in NAMES:
            answers.append(artifact)
        elif artifact in records:
            records[artifact].append(record)
        else:
            records[artifact] = [record]
    return records, answers


def _keyed(reader: Reader, records: Sequence[int]) -> list[tuple[object, int]]:
    """Pair records with a content key: equal texts have equal keys."""
    return [(reader.md5(record) or (reader.log.key, record), record) for record in records]


def _end(compile_: Compile) -> Fact:
    facts = compile_.facts
    if facts.failed:
        return plain(FAILED)
    return plain(FINISHED) if facts.has_metrics and not facts.backward_unfinished else NONE


def _version(compile_: Compile) -> Fact:
    version = next((m.pytorch_version for m in compile_.metrics if m.pytorch_version), None)
    return plain(version) if version else NONE


def _settings(compile_: Compile, reader: Reader, identity: RankIdentity) -> Fact:
    record = next((m.record for m in compile_.metrics if m.ends_compile), -1)
    if record < 0:
        return NONE
    dumps = dumps_in(reader.head(record))
    if not dumps:
        return NONE

    def keep(key: Hashable, make: Callable[[], T]) -> T:
        return shared(compile_, settings_fact, key, make)

    return shared(compile_, _settings, (dumps, identity.name), lambda: settings_fact(dumps, identity, keep))


def _breaks(compile_: Compile) -> Fact:
    if not compile_.untimed_tally.breaks:
        return NONE
    lines = []
    for one in cached_breaks(compile_, BREAKS):
        place = f", {one.file.rpartition('/')[2]}:{one.line}" if one.file else ""
        lines.append(one.headline + place)
    return fact(lines, [normalised(line)[0].encode("utf-8", "replace") for line in lines])


def _failure(compile_: Compile) -> Fact:
    facts = compile_.facts
    kind = LIMITED if facts.recompile_limit_hit else (facts.fail_type or FAILED) if facts.failed else ""
    return plain(kind) if kind else plain("backward failed") if facts.backward_failed else NONE


def _schedules(compile_: Compile, reader: Reader, schedules: Sequence[tuple[object, int]]) -> Fact:
    return _shared(compile_, _schedules, schedules, lambda: collectives_fact([reader.payload(r, LIMIT) for _, r in schedules]))


def _devices(
    compile_: Compile, reader: Reader, identity: RankIdentity, graphs: Sequence[tuple[object, int]], tensors: Sequence[int]
) -> Fact:
    """Return the devices of its tensors that are not the rank's, as its graph names them, else as its inputs do."""
    def read() -> Fact | None:
        text = reader.text(graphs[0][1], LIMIT)
        return _others(text, identity) if devices_in(text) or ']cpu"' in text else None

    devices = shared(compile_, _devices, (graphs[0][0], identity.name), read) if graphs else None
    if devices is None:
        devices = _others("\n".join(reader.head(record).decode("utf-8", "replace") for record in tensors[:64]), identity)
    return devices


def _others(text: str, identity: RankIdentity) -> Fact:
    names = {f"{kind}:{index}" for kind, index in devices_in(text)} - {identity.name}
    return fact([f"tensors on {name}" for name in sorted(names)])


def _recompile(compile_: Compile, reader: Reader, records: Sequence[int], identity: RankIdentity) -> Fact:
    """Return why it was compiled again, without the id of the compile whose guard failed."""
    reasons = [m.recompile_reason for m in compile_.metrics if m.recompile_reason]
    if not reasons and records:
        value = reader.json(records[-1])
        reasons = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    if not reasons:
        return NONE
    lines = [line for text in reasons for line in _ID.sub("", text).split("\n") if line.strip()]
    comparable = (without_rank(normalised(line)[0]).replace(identity.name or "\0", identity.device) for line in lines)
    return fact(lines, [line.encode("utf-8", "replace") for line in comparable])


def _graph(compile_: Compile, reader: Reader, graphs: Sequence[tuple[object, int]], identity: RankIdentity) -> Fact:
    if not graphs:
        return NONE
    key, record = graphs[0]
    make = partial(_once, compile_, graph_fact, reader.payload(record, LIMIT), identity)
    return shared(compile_, _graph, (key, identity.name), make)


def _guards(compile_: Compile, reader: Reader, records: Sequence[int], identity: RankIdentity) -> Fact:
    return _once(compile_, guards_fact, reader.payload(records[-1], LIMIT), identity) if records else NONE


def content_of(text: bytes) -> bytes:
    """Return the digest of a text."""
    return hashlib.blake2b(text, digest_size=16).digest()


def _once(compile_: Compile, make: Callable[[bytes, RankIdentity], Fact], text: bytes, identity: RankIdentity) -> Fact:
    left = bare(text, identity)
    return shared(compile_, make, (content_of(left), identity.name), lambda: make(left, identity))


def _code(compile_: Compile, reader: Reader, codes: Sequence[tuple[object, int]], identity: RankIdentity) -> Fact:
    def read(record: int) -> bytes:
        text = bare(reader.payload(record, LIMIT), identity)
        return shared(compile_, code_digest, (content_of(text), identity.name), lambda: code_digest(text, identity))

    digests = [shared(compile_, _code, (key, identity.name), partial(read, record)) for key, record in codes]
    return fact([digest.hex() for digest in digests]) if digests else NONE


def _parity(
    compile_: Compile, reader: Reader, schedules: Sequence[tuple[object, int]], codes: Sequence[tuple[object, int]]
) -> Fact:
    def compare() -> Fact:
        texts = [reader.payload(record, LIMIT) for _, record in codes]
        return parity_fact([reader.payload(record, LIMIT) for _, record in schedules], [t for t in texts if MARK in t])

    return _shared(compile_, _parity, (*schedules, *codes), compare) if schedules and codes else NONE


def _estimates(compile_: Compile, reader: Reader, records: Sequence[tuple[object, int]]) -> Fact:
    def read() -> Fact:
        facts = [estimates_fact(reader.payload(record, LIMIT))[0] for _, record in records]
        return fact([one.text for one in facts], [one.digest for one in facts])

    return _shared(compile_, _estimates, records, read)


def _shared(compile_: Compile, question: object, keyed: Sequence[tuple[object, int]], make: Callable[[], Fact]) -> Fact:
    """Return the fact made from texts, one for all compiles that have the same texts."""
    return shared(compile_, question, tuple(key for key, _ in keyed), make) if keyed else NONE


ORDER = "graph_execution"
AT_ONCE = 1 << 20
"""Bytes of a log, or from the first record of a compile to its last, that are read in one piece."""


class _Cached:
    """Process-wide cache entry, shared by all owners of an equal value."""

    __slots__ = ("course", "facts")

    def __init__(self, facts: tuple[Fact, ...] = (), course: Course | None = None) -> None:
        self.facts = facts
        self.course = course


def course_of(process: Process) -> Course:
    """Return the course of a process. Equal courses of a run are one object."""
    return _course(process).course or Course(())


@part
def _course(process: Process, reader: Reader) -> _Cached:
    if reader.log.scanned <= AT_ONCE:
        reader.hold(0, AT_ONCE)
    device = own_device(process) or ("", -1)
    steps: list[Step] = []
    texts: dict[bytes, str] = {}
    for compile_, code, number in steps_in(process):
        facts = _facts(compile_, *device).facts
        texts.update((one.digest, one.text) for one in facts if one.text)
        step = (code, number, str(process.named_id(compile_.id)), str(compile_.status or ""), tuple([one[0] for one in facts]))
        steps.append(shared(process, Step, step, partial(Step, *step)))
    executed = _executed(process, reader, steps)
    key = tuple(steps), executed
    return _Cached(course=shared(process, Course, key, lambda: Course(key[0], texts, executed)))


@part
def _facts(compile_: Compile, reader: Reader, device: str, index: int) -> _Cached:
    columns, records = reader.log.columns, compile_.records
    if records and not columns.source:
        start, end = columns.offset[records[0]], columns.offset[records[-1]] + columns.head[records[-1]]
        if end - start <= AT_ONCE:
            reader.hold(start, end - start)
    facts = facts_of(compile_, reader, _identity(device, index))
    return _Cached(shared(compile_, facts_of, tuple([one[0] for one in facts]), lambda: facts))


@lru_cache(maxsize=256)
def _identity(device: str, index: int) -> RankIdentity:
    return RankIdentity(device, index, True)


def _executed(process: Process, reader: Reader, steps: Sequence[Step]) -> tuple[int, ...]:
    """Return the newest execution order of graphs as indices into the course."""
    rest = process.compiles.get(NO_ID)
    records: list[int] = [record for record, _ in records_of(rest, (ORDER,))] if rest is not None else []
    if not records:
        return ()
    places = {step.id: place for place, step in enumerate(steps)}
    ran = (text_in(one, "compile_id") for one in list_in(reader.json(records[-1]), "graph_execution_order")[:EXECUTED])
    return tuple(place for compile_id in ran if compile_id is not None and (place := places.get(compile_id)) is not None)


NO_PHASES: Mapping[str, float] = {}
NO_FACETS = (b"",) * len(FACETS)


@part
def times_of(process: Process, reader: Reader) -> Times:
    """Return the compile times of a process, without phases."""
    begin, took = array("d"), array("f")
    for compile_, _, _ in steps_in(process):
        start, seconds = compile_.start_us, compile_.duration_s
        if not compile_.is_closed:
            open_, _ = begun(compile_)
            start, seconds = open_[0].since_at_us if open_ else start, None
        if compile_.facts.backward_unfinished:
            seconds = None
        begin.append(math.nan if start is None else start)
        took.append(math.nan if seconds is None else seconds)
    return Times(begin, took, {})


def bare_course(process: Process) -> Course:
    """Return the course of a process without facets: enough for times, without reading payloads.

    Equal courses are one object.
    """
    return _bare(process).course or Course(())


@part
def _bare(process: Process, reader: Reader) -> _Cached:
    steps = tuple(
        (code, number, str(process.named_id(compile_.id)), str(compile_.status or ""))
        for compile_, code, number in steps_in(process)
    )
    return shared(process, bare_course, steps, lambda: _Cached(course=Course(tuple(Step(*step, NO_FACETS) for step in steps))))


@part
def phases_of(compile_: Compile, reader: Reader) -> dict[str, float]:
    """Map timing event names to their active seconds, forward and backward compile together.

    Events without an end in the log are excluded: their duration is unknown.
    """
    sums = Sums()
    for groups in read_groups((compile_,), ReadStats()):
        for group in groups:
            if not group.open:
                sums.add(group)
    totals = sums.processes.get(id(compile_.process))
    return {name: total.total / 1e6 for name, total in totals.names.items()} if totals is not None else {}


class PhasesOf:
    """Phases of the compiles of a run: from its logs if present, else from the lane."""

    def __init__(self, run: Run) -> None:
        self._processes = {process.key: process for process in run.processes()}
        self._compiles: dict[str, list[Compile]] = {}

    def __call__(self, lane: Lane, place: int) -> Mapping[str, float]:
        """Return the phases of a step of a lane; {} if unknown."""
        if lane.times.phases:  # an index has them, and may have no events
            return {name: seconds[place] for name, seconds in lane.times.phases.items() if not math.isnan(seconds[place])}
        process = self._processes.get(lane.process)
        if process is not None:
            if lane.process not in self._compiles:
                self._compiles[lane.process] = [compile_ for compile_, _, _ in steps_in(process)]
            compiles = self._compiles[lane.process]
            return phases_of(compiles[place]) if place < len(compiles) else NO_PHASES
        return NO_PHASES
