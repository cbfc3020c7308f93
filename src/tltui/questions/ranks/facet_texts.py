"""Facets of a compile as rank-independent lines: inputs, schedules, settings, graphs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from tltui.model.record_reader import list_in, text_in
from tltui.questions.compare.comparable_lines import rules_for, side_of
from tltui.questions.ranks.rank_course import NONE, SAID, Fact, digest_of, fact, framed, framed_digest, plain
from tltui.text.graphs.fx_graph import parse
from tltui.text.normalisation import RankIdentity, normalised
from tltui.trace.grammar import parse_json

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
KEPT = 8192
Known = dict[bytes, tuple[bytes, str]]
_TENSORS: dict[str, Known] = {}
"""By the name of the own device."""
_SOURCES: Known = {}


def inputs_fact(tensors: Iterable[bytes], sources: Iterable[bytes], own: RankIdentity) -> Fact:
    """Return the inputs from the first lines of their records, one per line: `L['x']: float16 · [8, 4] · stride [4, 1] · cuda`."""
    described: dict[tuple[bytes, bytes], str] = {}
    known = _TENSORS.setdefault(own.name, {})
    for line in tensors:
        start = line.find(_MARK)
        end = line.find(_VIEW, start)
        last = line.find(_DESCRIBER, max(end, start))
        if start < 0 or last < 0:
            continue
        number, told = _known(known, line[start : end if end >= 0 else last], own, _tensor)
        described[line[last + len(_DESCRIBER) : line.find(b"}", last)], number] = told
    lines = []
    for line in sources:
        start = line.find(_SOURCE)
        end = line.find(b'"}', start)
        if start < 0 or end < 0:
            continue
        whose, source = _known(_SOURCES, line[start:end], own, _source)
        describer, _, number = whose.partition(b" ")
        if (found := described.get((describer, number))) is not None:
            lines.append(f"{source}: {found}")
    lines.sort()
    return plain(*lines) if lines else NONE


def _known(
    known: Known, part: bytes, own: RankIdentity, read: Callable[[bytes, RankIdentity], tuple[bytes, str]]
) -> tuple[bytes, str]:
    """All ranks describe the same tensors: each different description is read once."""
    found = known.get(part)
    if found is None:
        if len(known) >= KEPT:
            known.clear()
        found = known[part] = read(part, own)
    return found


def _tensor(part: bytes, own: RankIdentity) -> tuple[bytes, str]:
    """Parse the id and description of `"describe_tensor": {"id": 0, …`."""
    try:
        value = parse_json(part[len(_MARK) :] + b"}")
    except ValueError:
        return b"?", part.decode("utf-8", "replace")
    if not isinstance(value, dict):
        return b"?", ""
    words = [_word(name, value[name], own) for name in FIRST if name in value]
    flags = [name if value[name] is True else f"{name} {value[name]}" for name in value if name not in OTHER and name not in FIRST]
    return str(value.get("id")).encode(), PARTS.join((*words, *flags))


def _word(name: str, value: Any, own: RankIdentity) -> str:
    if name == "dtype":
        return str(value).removeprefix("torch.")
    if name == "stride":
        return f"stride {value}"
    if name == "device":
        text = str(value).removeprefix("device(type='").removesuffix(")").replace("', index=", ":").removesuffix("'")
        return own.device if text == own.name else text
    return str(value)


def _source(part: bytes, own: RankIdentity) -> tuple[bytes, str]:
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
    found = []
    for mark in CONFIGS:
        start = line.find(mark)
        if start >= 0:
            end = line.find(_END, start + len(mark))
            found.append(line[start : end if end >= 0 else line.rfind(b'"')])
    for mark in FLAGS:
        start = line.find(mark)
        if start >= 0:
            found.append(line[start : line.find(b",", start)])
    return tuple(found)


class Configuration(NamedTuple):
    """The entries of a configuration."""

    name: str
    names: frozenset[str]
    entries: tuple[tuple[str, str, str], ...]
    """Of each entry its name, its value, and the value without what only another run or rank changes."""


class Described(NamedTuple):
    """The lines of a configuration."""

    lines: str
    compared: bytes
    """What is compared of the lines, as `digest_of` takes it in."""


Keep = Callable[[Hashable, Callable[[], T]], T]
"""What was made for a key before, else what is made now: most compiles have most of their configurations in common."""


def settings_fact(dumps: Iterable[bytes], own: RankIdentity, keep: Keep[Any]) -> Fact:
    """Join what `dumps_in` found. Entries of equal names in two configurations have the configuration before them."""
    configurations = [keep((dump, own.name), partial(_configuration, dump, own)) for dump in dumps]
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
            described.append(keep((dump, own.name, prefixed), partial(_described, configuration, prefixed)))
    return Fact(framed_digest(one.compared for one in described), "\n".join(one.lines for one in described)[:SAID])


def _configuration(dump: bytes, own: RankIdentity) -> Configuration:
    entries = []
    for name, value in _entries(dump).items():
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=repr)
        entries.append((name, text, normalised(text, rules_for(text, own))[0] if len(text) > 3 else text))
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
    """Name → value of a configuration; of a flag itself."""
    try:
        value = parse_json(b"{" + dump + (b'"}' if b'": "' in dump else b"}"))
        name, held = next(iter(value.items()))
        inner = parse_json(held.encode("utf-8", "surrogatepass")) if isinstance(held, str) else held
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
GUARDS = "guards"
_RANK = re.compile(r"(?i)(rank\w{0,20}['\")\]]{0,3} == )\d+")
"""Number of a rank in a guard: it differs on every rank without consequence."""


def bare(text: bytes, own: RankIdentity) -> bytes:
    """Strip addresses, cache paths and the rank's device number from a text by a fast byte search.

    Equal results are equal in everything that ranks can share.
    """
    for needle, pattern, sign in _IDS:
        if needle in text:
            text = pattern.sub(sign, text)
    for needle, pattern, sign in _own_patterns(own):
        if needle in text:
            text = pattern.sub(sign, text)
    return text


@lru_cache(maxsize=256)
def _own_patterns(own: RankIdentity) -> tuple[tuple[bytes, re.Pattern[bytes], bytes], ...]:
    if not own.device:
        return ()
    kind, n = own.device.encode(), b"%d" % own.index
    texts = (kind + b":", b"index=", b"device=", b"stream", b"get_raw_stream(", b"_DeviceGuard(", b"set_device(", b"triton/")
    signs = b"\xe2\x80\xb9own\xe2\x80\xba"
    return tuple((text + n, re.compile(re.escape(text + n) + rb"(?![\w.])"), text + signs) for text in texts)


def graph_fact(text: bytes, own: RankIdentity) -> Fact:
    """Return a Dynamo graph without comments, ids and the rank's device."""
    graph = text.decode("utf-8", "replace")
    if not graph.strip():
        return NONE
    nodes = len(parse(graph.split("\n")).nodes)
    return fact([f"{nodes} node{'s' * (nodes != 1)}"], [canonical(graph, own)])


def canonical(text: str, own: RankIdentity) -> bytes:
    """Normalize a graph: without comments, empty lines, ids and the rank identity."""
    plain = _COMMENT.sub("", text + "\n")
    line, _ = normalised(plain, rules_for(plain, own))
    return line.encode("utf-8", "replace")


def guards_fact(text: bytes, own: RankIdentity) -> Fact:
    """Return the guards of a tree in source order, normalized as in `tltui diff`, one per line."""
    if not text.strip():
        return NONE
    side = side_of(text.decode("utf-8", "replace"), GUARDS, own)
    keys = [without_rank(str(key)) for key, line in zip(side.keys, side.lines, strict=True) if "+- " in line]
    return fact([_guard(key) for key in keys], [digest_of(key.encode("utf-8", "replace") for key in keys)])


def without_rank(text: str) -> str:
    """Normalize guards on a variable named rank: `G['rank'] == 3` holds on rank 3 only."""
    return _RANK.sub(r"\1‹rank›", text)


def _guard(line: str) -> str:
    return line.partition("+- ")[2].partition("  # ")[0].strip() if "+- " in line else line.strip()


def code_digest(text: bytes, own: RankIdentity) -> bytes:
    """Return the digest of generated code, normalized as in `tltui diff`, without source line comments."""
    plain = text.decode("utf-8", "replace")
    line, _ = normalised(plain, rules_for(plain, own))
    return digest_of([line.encode("utf-8", "replace")])
