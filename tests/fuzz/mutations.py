"""Small logs made of records of real ones, damaged in every way that we know of. A case depends on its seed and number alone."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from make_trace import small
from real import LOGS

TRACES = frozenset((
    "aoti", "breaks", "ca", "cache_hit", "cache_keys", "cache_miss", "ddp", "ddp_split", "draft_export", "dyn", "errors",
    "export_draft", "export_failed", "reasons", "recompiles", "regional_inductor", "shapes", "train", "twice_a",
    "twice_b", "vllm_like",
))  # fmt: skip
"""Where the records come from: not from traces that are added later, or each would change all cases."""
LARGEST = 6_000
"""Bytes of a record that is taken from a real log: it is what stands in it that is read, not how much."""
HEAD = re.compile(rb"V\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\n]*?:\d+\] (?=\{)")
TEXTS = (
    "\x1b[31mred\x1b[0m", "\x1b]0;owned\x07", "\x1b]52;c;ZXZpbA==\x07", "\x9b2J", "\u202eevil\u202c", "\u2066x\u2069",
    "\x00", "a\rb", "\x07\x08\x7f", "\ud800", "\udfff\ud800", "\ufeff", "\u200b\u200d", "x" * 3000, "\n\n\t\n",
    "e\u0301" * 20, "漢字" * 30, "\u2028x\u2029", "\U000e0041", "%s%n{0}{x!r}", "[bold red]markup[/]", "[/",
    "../../../etc/passwd", "/", "", " ", "a:b:c#1@L5", "0/1", "-1", "NaN", "%00", "\\", "`" * 40, "1e999", "(" * 400,
    "[" * 400, "((a+)+)+$", "==>", "| " * 100, "\t" * 50, "'" * 7, '"' * 7, "@", "@run", "norank:", "#",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    -1, 0, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**25, 10**400, 1e308, -1e308, 5e-324, 0.5,
    float("nan"), float("inf"), True, False, None,
)  # fmt: skip
IDS: tuple[Any, ...] = (
    0, 1, 2, 3, 7, 40, 2**31, 2**63, 10**30, -1, "3", "x", 1.0, 1.5, None, True, [], {}, 1e300,
)  # fmt: skip
EVENTS = (
    "artifact", "compilation_metrics", "bwd_compilation_metrics", "dynamo_start", "dynamo_guards", "chromium_event",
    "graph_dump", "link", "dynamo_output_graph", "inductor_output_code", "aot_forward_graph",
    "symbolic_shape_specialization", "guard_added", "create_symbol", "expression_created",
    "propagate_real_tensors_provenance", "missing_fake_kernel", "describe_tensor", "exported_program", "str",
    "inductor_provenance_tracking_node_mappings", "dynamo_cpp_guards_str", "dump_file", "optimize_ddp_split_child",
    "stack",
)  # fmt: skip
NAMES = (
    "recompile_reasons", "dynamo_graph_break_reason", "dynamo_error", "torch_version", "fx_graph_cache_miss",
    "aotautograd_cache_hit", "inductor_provenance_tracking_kernel_stack_traces", "vllm_compilation_config",
    "before_post_grad_graph", "cudagraph_skip", "x" * 300,
)  # fmt: skip
PAYLOADS = (
    b"", b"\n", b"\x00" * 100, b"\xff\xfe\xfd", b"[" * 3000, b'{"a":' * 3000, b"null", b"[]", b"{}", b'"x"', b"1",
    b"NaN", b"-", b"\r\n" * 20, b"x" * 20_000, b"\x1b[2J" * 50, b"\xed\xa0\x80" * 20, b"[1,", b'{"a": 1e999}',
    b"[[],{}]", b"[null,null]", b"def f(",
    b"class GraphModule(torch.nn.Module):\n    def forward(self, " + b"x, " * 300 + b"):\n",
    b"TREE_GUARD_MANAGER:\n" + b"| " * 200 + b"+- X\n",
)  # fmt: skip


@dataclass(slots=True)
class Piece:
    """Bytes of the log, a record if it was left alone."""

    data: bytes
    alone: bool = True


@dataclass(slots=True)
class Case:
    """A damaged log."""

    data: bytes = b""
    untouched: list[tuple[int, bytes]] = field(default_factory=list)
    """Records that were left alone, with what surrounds them: where they must be found, and what they are."""
    notes: list[str] = field(default_factory=list)
    """The mutations."""


@cache
def material() -> tuple[tuple[bytes, ...], ...]:
    """The records of each log that are not too large."""
    logs = [log.read_bytes() for log in LOGS if "tlparse" in log.parts or TRACES & set(log.parts)] + [small()]
    split = [re.split(rb"(?<=\n)(?=V\d{4} )", data) for data in logs]
    return tuple(tuple(r for r in records if len(r) <= LARGEST and HEAD.match(r) and r.endswith(b"\n")) for records in split)


def cut(record: bytes) -> tuple[bytes, Any, bytes | None]:
    """(what stands before the envelope, the envelope, the payload). The envelope is None where there is none."""
    line, _, body = record.partition(b"\n")
    match = HEAD.match(line)
    if match is None:
        return line, None, None
    try:
        envelope = json.loads(line[match.end() :])
    except (ValueError, RecursionError):
        return line, None, None
    lines = body.removesuffix(b"\n").split(b"\n")
    payload = b"\n".join(line.removeprefix(b"\t") for line in lines) if body else None
    return match[0], envelope if isinstance(envelope, dict) else None, payload


def joined(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None, good: bool = True) -> bytes:
    """A record; with `good` its md5 is that of its payload."""
    if isinstance(envelope, dict) and payload is not None and good:
        envelope = {key: value for key, value in envelope.items() if key != "has_payload"}
        envelope["has_payload"] = hashlib.md5(payload, usedforsecurity=False).hexdigest()
    text = json.dumps(envelope, ensure_ascii=rng.random() < 0.7)
    line = text.encode("utf-8", "surrogatepass" if rng.random() < 0.5 else "replace").replace(b"\n", b" ")
    return head + line + b"\n" + (b"" if payload is None else b"\t" + payload.replace(b"\n", b"\n\t") + b"\n")


def text(rng: random.Random) -> str:
    return rng.choice(TEXTS) if rng.random() < 0.7 else rng.choice(TEXTS) + rng.choice(TEXTS)


def value(rng: random.Random, depth: int = 0) -> Any:
    pick = rng.randrange(7)
    if pick < 2 or depth > 2:
        return rng.choice(NUMBERS)
    if pick < 4:
        return text(rng)
    if pick == 4:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if pick == 5:
        return {text(rng)[:40]: value(rng, depth + 1) for _ in range(rng.randrange(4))}
    nested: Any = 1
    for _ in range(rng.choice((5, 100, 400))):
        nested = [nested] if rng.random() < 0.5 else {"a": nested}
    return nested


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All places of a JSON value: what holds it, and its key there."""
    stack = [tree]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            yield node, key
            stack.append(node[key])


def changed(rng: random.Random, tree: Any) -> Any:
    """Some places of a JSON value become something else."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        found = [place for place, _ in zip(places(tree), range(2000), strict=False)]
        if not found:
            return value(rng)
        node, key = rng.choice(found)
        old, how = node[key], rng.randrange(6)
        if how == 0 and isinstance(old, str):
            at = rng.randrange(len(old) + 1)
            node[key] = old[:at] + text(rng) + old[at:]
        elif how == 1:
            del node[key]
        elif how == 2 and isinstance(node, dict):
            node[text(rng)] = old
        elif how == 3 and isinstance(node, list):
            node.extend([old] * rng.choice((1, 3, 30)))
        elif how == 4 and isinstance(old, (int, float)):
            node[key] = rng.choice((*NUMBERS, str(old), -old, [old]))
        elif how == 5 and isinstance(old, str):
            node[key] = rng.choice((len(old), [old], {old[:20]: old}, None, ""))
        else:
            node[key] = value(rng)
    return tree


# what may be done to one record: the new one, None where it cannot be done

Change = Callable[[random.Random, bytes, Any, "bytes | None"], "bytes | None"]


def envelope_changed(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    return joined(rng, head, changed(rng, envelope), payload, rng.random() < 0.7)


def ids_changed(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    for key in rng.sample(("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt"), rng.choice((1, 2, 5))):
        if rng.random() < 0.3:
            envelope.pop(key, None)
        else:
            envelope[key] = rng.choice(IDS)
    return joined(rng, head, envelope, payload)


def renamed(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    event = next(iter(envelope), None)
    named = envelope.get("artifact")
    if isinstance(named, dict) and rng.random() < 0.6:
        named["name"] = rng.choice((*NAMES, *EVENTS, text(rng)))
        return joined(rng, head, envelope, payload)
    return joined(rng, head, {(rng.choice(EVENTS) if key == event else key): item for key, item in envelope.items()}, payload)


def key_twice(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    whole = joined(rng, head, envelope, payload)
    line, end, rest = whole.partition(b"}\n")
    again = {"frame_id": 5, rng.choice(("artifact", "str", "stack")): value(rng)}
    return line + b", " + json.dumps(again).encode()[1:-1] + end + rest


def prefix_changed(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    number = str(rng.choice((0, 1, 2**31, 10**30, 10**3999))).encode()
    long = b"\x1b[2J\xff " + b"p" * rng.choice((1, 500, 5000)) + b":1]"
    day = rng.choice((b"V9999 99", b"V0000 00", b"V0229 25"))
    head = rng.choice((
        head.replace(b"V", b"E", 1), head.replace(b"V", b"Q", 1), head.replace(b":", b"", 1), b"[rank3]: " + head,
        b"\xef\xbb\xbf" + head, re.sub(rb"(\.\d{6}) \d+", rb"\1 " + number, head), re.sub(rb"^V\d{4} \d\d", day, head),
        re.sub(rb"(?<=\.\d{6} \d).*\]", lambda _: long, head),
    ))  # fmt: skip
    return joined(rng, head, envelope, payload)


def payload_json_changed(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    try:
        tree = changed(rng, json.loads(payload or b""))
    except (ValueError, RecursionError):
        return None
    new = json.dumps(tree, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1))).encode("utf-8", "surrogatepass")
    return joined(rng, head, envelope, new, rng.random() < 0.9)


def payload_text_changed(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    if payload is None:
        return None
    for _ in range(rng.choice((1, 1, 3, 10))):
        at = rng.randrange(len(payload) + 1)
        to, how = min(len(payload), at + rng.choice((1, 5, 40, 400))), rng.randrange(7)
        if how == 0:
            payload = payload[:at] + text(rng).encode("utf-8", "surrogatepass") + payload[at:]
        elif how == 1:
            payload = payload[:at] + payload[to:]
        elif how == 2:
            payload = payload[:at] + payload[at:to] * rng.choice((2, 10)) + payload[to:]
        elif how == 3:
            payload = payload[:at] + bytes([rng.choice(b"()[]{}'\"#:\\=\n\x00\xff,.-/0")]) + payload[at:]
        elif how == 4:
            number = b"1" + b"0" * rng.choice((0, 12, 30, 5000))
            payload = re.sub(rb"\d+", lambda match, number=number: number if rng.random() < 0.05 else match[0], payload)  # type: ignore[misc]
        elif how == 5:
            lines = payload.split(b"\n")
            rng.shuffle(lines)
            payload = b"\n".join(lines)
        elif names := re.findall(rb"[A-Za-z_]\w+", payload):
            payload = payload.replace(rng.choice(names), rng.choice(names), rng.choice((1, 3, -1)))
        payload = payload[: 4 * LARGEST]
    return joined(rng, head, envelope, payload, rng.random() < 0.9)


def other_payload(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    other = cut(rng.choice(rng.choice(material())))[2] if rng.random() < 0.5 else None
    return joined(rng, head, envelope, rng.choice(PAYLOADS) if other is None else other, rng.random() < 0.9)


def md5_changed(rng: random.Random, head: bytes, envelope: Any, payload: bytes | None) -> bytes | None:
    declared = str(envelope.get("has_payload"))
    envelope["has_payload"] = rng.choice(("0" * 32, "", "zz", declared.upper(), 5, None, True, [], {}, "\x1b[2J"))
    return joined(rng, head, envelope, payload, good=False)


CHANGES: tuple[Change, ...] = (
    envelope_changed, envelope_changed, envelope_changed, ids_changed, ids_changed, renamed, key_twice, prefix_changed,
    payload_json_changed, payload_json_changed, payload_text_changed, payload_text_changed, other_payload, md5_changed,
)  # fmt: skip


# what may be done to their order


def dropped(rng: random.Random, pieces: list[Piece]) -> None:
    for _ in range(min(rng.choice((1, 1, 5, 30)), len(pieces) - 1)):
        del pieces[rng.randrange(len(pieces))]


def strings_dropped(rng: random.Random, pieces: list[Piece]) -> None:
    pieces[:] = [piece for piece in pieces if b'{"str": [' not in piece.data[:400]] or pieces


def repeated(rng: random.Random, pieces: list[Piece]) -> None:
    piece = rng.choice(pieces)
    for _ in range(rng.choice((1, 2, 30))):
        pieces.insert(rng.randrange(len(pieces) + 1), Piece(piece.data, piece.alone))


def reordered(rng: random.Random, pieces: list[Piece]) -> None:
    if rng.random() < 0.3:
        rng.shuffle(pieces)
    else:
        i, j = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        pieces[i], pieces[j] = pieces[j], pieces[i]


def spliced(rng: random.Random, pieces: list[Piece]) -> None:
    other = rng.choice(material())
    for record in rng.sample(other, min(len(other), rng.choice((1, 5, 15)))):
        pieces.insert(rng.randrange(len(pieces) + 1), Piece(record))


def torn(rng: random.Random, pieces: list[Piece]) -> None:
    piece, other = rng.choice(pieces), rng.choice(pieces).data
    piece.data = piece.data[: rng.randrange(len(piece.data))] + other[rng.randrange(len(other)) :]
    piece.alone = False


ORDERS: tuple[Callable[[random.Random, list[Piece]], None], ...] = (dropped, strings_dropped, repeated, reordered, spliced, torn)


# what may be done to bytes, wherever they stand


def bytes_changed(rng: random.Random, pieces: list[Piece]) -> str:
    piece = rng.choice(pieces)
    if not piece.data:  # changed before, to nothing
        return "none"
    data, at = piece.data, rng.randrange(len(piece.data))
    to = min(len(data), at + rng.choice((1, 2, 20, 1000)))
    ways: dict[str, Callable[[], bytes]] = {
        "flip": lambda: data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
        "cut": lambda: data[:at] + data[to:],
        "insert": lambda: data[:at] + text(rng).encode("utf-8", "surrogatepass") + data[at:],
        "nuls": lambda: data[:at] + b"\x00" * rng.choice((1, 300)) + data[at:],
        "tabs": lambda: data[:at] + b"\n\t" * rng.choice((1, 30)) + data[at:],
        "line ends": lambda: data[:at] + rng.choice((b"\n", b"\n\n", b"\r", b"\n\r\n")) + data[at:],
        "crlf": lambda: data.replace(b"\n", b"\r\n"),
        "record inside": lambda: data[:at] + rng.choice(pieces).data + data[at:],
        "end lost": lambda: data[:at],
    }
    name = rng.choice(list(ways))
    piece.data, piece.alone = ways[name](), False
    return name


def made(seed: int, number: int) -> Case:
    """The case of a seed and a number."""
    rng = random.Random(f"{seed}/{number}")
    case = Case()
    pieces = [Piece(record) for record in sample(rng)]
    for _ in range(rng.choice((1, 1, 2, 4, 10, 25))):
        if rng.random() < 0.3:
            order = rng.choice(ORDERS)
            order(rng, pieces)
            case.notes.append(order.__name__)
            continue
        piece, change = rng.choice(pieces), rng.choice(CHANGES)
        head, envelope, payload = cut(piece.data)
        try:
            new = change(rng, head, envelope, payload) if envelope is not None else None
        except RecursionError:
            continue
        if new is not None and len(new) < 8 * LARGEST:
            piece.data, piece.alone = new, False
            case.notes.append(change.__name__)
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        case.notes.append(bytes_changed(rng, pieces))
    lay_out(rng, pieces, case)
    return case


def sample(rng: random.Random) -> list[bytes]:
    """Some records of a log, in order: strings, and not too many of the dull ones that most of a log are."""
    records = rng.choice(material())
    limit = rng.choice((2_000, 6_000, 12_000, 24_000))
    dull = {n for n, r in enumerate(records) if b'"chromium_event"' in r[:300] or b'"describe_' in r[:300]}
    strings = [n for n, r in enumerate(records) if b'{"str": [' in r[:400]][:30]
    rest = [n for n in range(len(records)) if n not in dull and n not in set(strings)]
    start = rng.randrange(len(rest)) if rest else 0
    rest = rest[start:] + rest[:start] if rng.random() < 0.5 else rng.sample(rest, len(rest))
    chosen, size = set(strings), sum(len(records[n]) for n in strings)
    for n in [*rng.sample(sorted(dull), min(len(dull), 10)), *rest]:
        if size + len(records[n]) <= limit or not chosen:
            chosen.add(n)
            size += len(records[n])
    return [records[n] for n in sorted(chosen)]


def lay_out(rng: random.Random, pieces: list[Piece], case: Case) -> None:
    """The bytes of the log, and which records are sure to be found: those between a line end and what begins as a line does."""
    at = 0
    for n, piece in enumerate(pieces):
        before = n == 0 or pieces[n - 1].data.endswith(b"\n")
        after = n + 1 == len(pieces) or pieces[n + 1].data[:1] not in (b"\t", b"\n", b"\r", b"\x00", b" ", b"")
        if piece.alone and before and after:
            case.untouched.append((at, piece.data))
        at += len(piece.data)
    case.data = b"".join(piece.data for piece in pieces)
    if rng.random() < 0.1:
        case.data = case.data[:-1]
        case.untouched = [(at, record) for at, record in case.untouched if at + len(record) <= len(case.data)]
