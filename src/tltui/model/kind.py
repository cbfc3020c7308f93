"""The row type of the table of record kinds in `kinds.py`.

The table itself is in the modules `kinds_*.py`, one for each part of the compiler, so that an expert of one part can check it.
This module only defines the fields of a row.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from tltui.model.torch_versions import ALWAYS, Minor, Span
from tltui.text.frozen import frozen


class Phase(enum.Enum):
    """The part of the compiler that wrote a record, in the order of compilation."""

    COMPILED_AUTOGRAD = ("compiled_autograd", "Compiled autograd")
    DYNAMO = ("dynamo", "Dynamo")
    INPUTS = ("inputs", "Inputs")
    SYMBOLS = ("symbols", "Symbolic shapes")
    EXPORT = ("export", "Export")
    PRE_GRAD = ("pre_grad", "Pre-grad passes")
    AUTOGRAD = ("autograd", "AOTAutograd")
    INDUCTOR = ("inductor", "Inductor")
    DISTRIBUTED = ("distributed", "Distributed")
    VLLM = ("vllm", "vLLM")
    CACHE = ("cache", "Caches")
    RUNTIME = ("runtime", "Runtime wrappers")
    GUARDS = ("guards", "Guards")
    METRICS = ("metrics", "Metrics")
    TRACE = ("trace", "Trace")
    OTHER = ("other", "Other")

    def __init__(self, key: str, title: str) -> None:
        self.key = key
        self.title = title

    @property
    def order(self) -> int:
        """Place of the phase in the compiler's work, from 0."""
        return _PHASE_ORDER[self]


_PHASE_ORDER: dict[Phase, int] = {phase: place for place, phase in enumerate(Phase)}

LANGUAGES: frozenset[str] = frozenset(
    {"fx", "output_code", "cpp", "guards", "traceback", "json", "bytecode", "python", "ir", "text"}
)


@frozen
class Kind:
    """One kind of record.

    `name` is the event key, or the name of an `artifact` or `graph_dump`. A row for a family of names (an
    f-string in torch) has a glob there, `*_ORIGINAL_BYTECODE`; the kind that `kind_of` makes from it has the real name.

    `artifact`: a record with a payload that is neither a chromium event nor metrics. `per_unit`: whether one lowering (forward,
    backward, inference) writes it, from its `fx_graph_runnable` on; records of AOTAutograd precede their units and are not
    `per_unit`. `language`: the language of its document; `json` is the claim of the record, and its text may still not be JSON
    (`recompile_reasons`). `span`: the versions of torch that write it.
    """

    name: str
    title: str
    phase: Phase
    language: str
    order: int
    artifact: bool
    help: str
    per_unit: bool
    span: Span = ALWAYS

    @property
    def generic(self) -> bool:
        """Whether nothing is known about it but its name."""
        return self.phase is Phase.OTHER


@frozen
class Row:
    """A row of the table as it is written down: the place in its list is its order.

    `since`, `until`: the first and the last minor version of torch that has it in its sources, among those from 2.4 to 2.15;
    without, it is older, or still there. What no release has (builds between two had it) has neither.
    """

    name: str
    language: str
    title: str
    help: str
    artifact: bool = True
    per_unit: bool = False
    since: Minor | None = None
    until: Minor | None = None


def section(phase: Phase, rows: Iterable[Row], first: int = 0) -> tuple[Kind, ...]:
    """Return the kinds of one phase, ordered as written, from place `first` on."""
    return tuple(
        Kind(
            row.name, row.title, phase, row.language, order, row.artifact, row.help, row.per_unit, Span(row.since, row.until)
        )
        for order, row in enumerate(rows, first)
    )  # fmt: skip
