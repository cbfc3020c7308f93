"""Inputs of a compile: tensors, symbols, and Python numbers that became symbols."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, list_in, records_of, text_in, whole_in
from tltui.questions.stacks.tracebacks import StackFrame, frames_of, user_frames
from tltui.text.frozen import frozen

_DEVICE = re.compile(r"device\(type='([^']*)'(?:, index=(\d+))?\)")
_SIZE = re.compile(r"^(?P<source>.+)\.size\(\)\[(?P<dim>\d+)\]$")
_EVENTS = (
    "describe_storage", "describe_tensor", "describe_source", "create_symbol", "create_unbacked_symbol",
    "symbolic_shape_specialization",
)  # fmt: skip


@frozen
class Symbol:
    """A symbol of the shape environment."""

    name: str
    source: str | None
    """The expression that it stands for, e.g. `L['x'].size()[0]`; None for an unbacked one."""
    hint: str | None
    range: str | None
    where: StackFrame | None = None
    """The user's line that was being traced."""
    specialized: str | None = None
    """The number that it was fixed to."""
    specialized_why: str | None = None

    @property
    def unbacked(self) -> bool:
        """Whether the value depends on data and so has no hint."""
        return self.hint is None

    @property
    def is_size(self) -> bool:
        """Whether it is a tensor's size, stride or offset rather than a Python number."""
        return self.source is not None and any(word in self.source for word in ("size()", "stride()", "storage_offset"))


@frozen
class TensorInput:
    """A tensor as described by Dynamo."""

    source: str
    dtype: str
    size: tuple[str, ...] | None
    """Symbols stand in place of the sizes that are dynamic. None: not stated."""
    stride: tuple[str, ...] | None
    device: str
    requires_grad: bool = False
    is_parameter: bool = False
    dynamic: tuple[int, ...] = ()
    """Dimensions that the user marked as dynamic."""
    hints: tuple[str, ...] = ()
    """`s77=5` for the symbols of its size."""
    storage_bytes: int | None = None
    note: str = ""
    """Further properties that are not the usual ones: `view`, `nested`, `subclass` …"""


@frozen
class Inputs:
    """The inputs of a compile."""

    tensors: tuple[TensorInput, ...]
    numbers: tuple[Symbol, ...]
    """Python ints and floats that became symbols."""
    symbols: tuple[Symbol, ...]
    """All symbols, the sizes included."""
    unnamed: int
    """Described tensors without a source: bases of views, gradients, parts of subclasses."""


def short_dtype(dtype: str | None) -> str:
    """Shorten `torch.float32` to `float32`."""
    return (dtype or "?").removeprefix("torch.")


def short_device(device: str | None) -> str:
    """Shorten `device(type='cuda', index=0)` to `cuda:0`."""
    match = _DEVICE.search(device or "")
    if match is None:
        return device or "?"
    return match[1] + (f":{match[2]}" if match[2] else "")


def inputs_of(compile_: Compile, reader: Reader | None = None, attempt: int | None = None) -> Inputs:
    """Return the inputs of an attempt; by default of the last one with a description."""
    log = compile_.process.log
    reader = reader or Reader(log)
    records = list(records_of(compile_, _EVENTS))
    if attempt is None:
        attempt = max((log.context(record).attempt or 0 for record, _ in records), default=0)
    collected = _Collected(compile_)
    for record, name in records:
        if (log.context(record).attempt or 0) == attempt:
            collected.take(name, reader.event(record))
    return collected.result()


class _Collected:
    """The records of one attempt during reading."""

    def __init__(self, compile_: Compile) -> None:
        self._process = compile_.process
        self._storages: dict[tuple[object, object], int] = {}
        self._tensors: dict[tuple[object, object], dict[str, Any]] = {}
        self._sources: dict[str, tuple[object, object]] = {}
        self._symbols: dict[str, Symbol] = {}

    def take(self, event: str, fields: dict[str, Any]) -> None:
        """Add one record."""
        key = (_key(fields.get("describer_id")), _key(fields.get("id")))
        if event == "describe_storage":
            size = whole_in(fields, "size")
            if size is not None:
                self._storages[key] = size
        elif event == "describe_tensor":
            self._tensors.setdefault(key, fields)
        elif event == "describe_source":
            if source := text_in(fields, "source"):
                self._sources.setdefault(source, key)
        elif event == "symbolic_shape_specialization":
            name = text_in(fields, "symbol")
            if name in self._symbols:
                value, why = fields.get("value"), text_in(fields, "reason")
                self._symbols[name] = replace(self._symbols[name], specialized=str(value)[:80], specialized_why=why)
        elif name := text_in(fields, "symbol"):
            where = user_frames(frames_of(self._process, list_in(fields, "user_stack")))
            hint = fields.get("val") if event == "create_symbol" else None
            self._symbols.setdefault(
                name,
                Symbol(
                    name,
                    text_in(fields, "source"),
                    None if hint is None else str(hint)[:80],
                    text_in(fields, "vr"),
                    where[0] if where else None,
                ),
            )

    def result(self) -> Inputs:
        """Return the joined records."""
        by_source = {symbol.source: symbol for symbol in self._symbols.values() if symbol.source}
        tensors = tuple(
            self._tensor(source, self._tensors[key], key, by_source)
            for source, key in self._sources.items()
            if key in self._tensors
        )
        numbers = tuple(s for s in self._symbols.values() if s.source is not None and not s.is_size)
        unnamed = len(self._tensors.keys() - set(self._sources.values()))
        return Inputs(tensors, numbers, tuple(self._symbols.values()), unnamed)

    def _tensor(
        self, source: str, fields: dict[str, Any], key: tuple[object, object], symbols: dict[str, Symbol]
    ) -> TensorInput:
        raw = fields.get("size")
        size: tuple[str, ...] | None = None
        hints = []
        if isinstance(raw, list):
            sizes = []
            for dim, value in enumerate(raw):
                symbol = symbols.get(f"{source}.size()[{dim}]")
                if symbol is not None:
                    hints.append(f"{symbol.name}={symbol.hint}")
                sizes.append(symbol.name if symbol is not None else str(value)[:40])
            size = tuple(sizes)
        stride = fields.get("stride")
        return TensorInput(
            source,
            short_dtype(text_in(fields, "dtype")),
            size,
            tuple(str(value)[:40] for value in stride) if isinstance(stride, list) else None,
            short_device(text_in(fields, "device")),
            fields.get("requires_grad") is True,
            fields.get("is_parameter") is True,
            tuple(dim for dim in list_in(fields, "dynamo_dynamic_indices") if isinstance(dim, int)),
            tuple(hints),
            self._storages.get((key[0], _key(fields.get("storage")))),
            _note(fields),
        )


_NOTES = {
    "is_view": "view",
    "is_nested": "nested",
    "is_traceable_wrapper_subclass": "subclass",
    "is_sparse": "sparse",
    "is_functorch_wrapped": "functorch",
    "is_conj": "conj",
    "is_inference": "inference tensor",
}


def _note(fields: dict[str, Any]) -> str:
    return ", ".join(word for key, word in _NOTES.items() if fields.get(key) is True)


def _key(value: object) -> object:
    """Convert an id of any JSON type to a hashable key."""
    return value if isinstance(value, (int, str)) else repr(value)[:80]
