"""The tensors that a compile was given, as `describe_tensor` and `describe_source` tell them: what each is, by its source.

`torch/_subclasses/meta_utils.py` numbers tensors and storages for each describer, and describers for the process: numbers say only
which source belongs to which tensor. A tensor without a source is no input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tltui.analyses.ranks.facets.fact import NONE, Fact, plain
from tltui.text.diff.own import Own
from tltui.trace.grammar import parse_json

_MARK = b'"describe_tensor": '
_SOURCE = b'"describe_source": '
_VIEW, _DESCRIBER = b', "view_func": "', b', "describer_id": '
OTHER = frozenset((
    "id", "describer_id", "storage", "ndim", "view_func", "base", "grad", "attrs", "ctx", "type", "data", "autograd_meta_from",
    "fake_mode", "is_leaf", "is_view", "parent",
))  # fmt: skip
"""Numbers of other tensors, and what follows from the rest."""
FIRST = ("dtype", "size", "stride", "device")
PARTS = " · "
KEPT = 8192
Known = dict[bytes, tuple[bytes, str]]
_TENSORS: dict[str, Known] = {}
"""By the name of the own device."""
_SOURCES: Known = {}


def inputs_fact(tensors: Iterable[bytes], sources: Iterable[bytes], own: Own) -> Fact:
    """From the first lines of their records. Each input is a line: `L['x']: float16 · [8, 4] · stride [4, 1] · cuda`."""
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


def _known(known: Known, part: bytes, own: Own, read: Callable[[bytes, Own], tuple[bytes, str]]) -> tuple[bytes, str]:
    """All ranks describe the same tensors: each different description is read once."""
    found = known.get(part)
    if found is None:
        if len(known) >= KEPT:
            known.clear()
        found = known[part] = read(part, own)
    return found


def _tensor(part: bytes, own: Own) -> tuple[bytes, str]:
    """(number, what it is) of `"describe_tensor": {"id": 0, …`."""
    try:
        value = parse_json(part[len(_MARK) :] + b"}")
    except ValueError:
        return b"?", part.decode("utf-8", "replace")
    if not isinstance(value, dict):
        return b"?", ""
    words = [_word(name, value[name], own) for name in FIRST if name in value]
    flags = [name if value[name] is True else f"{name} {value[name]}" for name in value if name not in OTHER and name not in FIRST]
    return str(value.get("id")).encode(), PARTS.join((*words, *flags))


def _word(name: str, value: Any, own: Own) -> str:
    if name == "dtype":
        return str(value).removeprefix("torch.")
    if name == "stride":
        return f"stride {value}"
    if name == "device":
        text = str(value).removeprefix("device(type='").removesuffix(")").replace("', index=", ":").removesuffix("'")
        return own.device if text == own.name else text
    return str(value)


def _source(part: bytes, own: Own) -> tuple[bytes, str]:
    """(`describer number`, source) of `"describe_source": {"describer_id": 0, "id": 0, "source": "L['x']`."""
    try:
        value = parse_json(part[len(_SOURCE) :] + b'"}')
    except ValueError:
        return b"", ""
    if not isinstance(value, dict):
        return b"", ""
    return f"{value.get('describer_id')} {value.get('id')}".encode(), str(value.get("source"))
