"""Tables that Inductor prints on stderr after it tuned an operation: `AUTOTUNE mm(512x64, 64x32)`.

Source: `log_results` in torch/_inductor/select_algorithm.py of torch 2.4 to 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from math import isfinite

from tltui.text.frozen import frozen, mutable

NEEDLE = b"AUTOTUNE "
LONGEST_BLOCK = 2000
"""Lines of a table; torch prints ten choices by default."""
_HEAD = re.compile(r"AUTOTUNE (?P<op>[\w.:]{1,100})\((?P<shape>[^()\n]{0,1000})\)\s*$")
_CLOCK = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ] ?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?")
"""The time that a log collector prints before a line; it differs within a table."""
_TENSORS = re.compile(r"(?P<name>strides|dtypes): (?P<value>.{0,2000})$")
_TIME = r"(?P<ms>\d{1,12}\.\d{1,9}|inf|nan) ms (?:\d+(?:\.\d+)?%|nan%|<DIVIDED BY ZERO ERROR>)"
_CHOICE = re.compile(rf"  (?P<name>\S{{1,300}}) {_TIME} ?(?P<description>.*)$")
_END = re.compile(
    r"(?:SubProcess|SingleProcess) AUTOTUNE (?:benchmarking )?takes (?P<benchmark>\d{1,9}\.\d+) seconds"
    r"(?: and (?P<precompile>\d{1,9}\.\d+) seconds precompiling(?: for (?P<choices>\d{1,9}) choices)?)?"
    r"(?: and (?P<prescreen>\d{1,9}\.\d+) seconds prescreening)?"
)


@frozen
class Choice:
    """An implementation that was benchmarked."""

    name: str
    time_us: float | None
    """Microseconds; None if it failed or timed out (torch prints `inf`)."""
    description: str
    """Its parameters in torch's words."""


@frozen
class PrintedTable:
    """One table."""

    op: str
    shape: str
    """Sizes of the inputs: `16x64, 64x32`."""
    strides: str
    dtypes: str
    choices: tuple[Choice, ...]
    """As printed, the fastest first: torch prints ten at most by default."""
    benchmark_s: float | None
    """None where the table is cut before its last line."""
    precompile_s: float | None
    choice_count: int | None
    offset: int
    """Bytes from the beginning of the file."""


@mutable
class _Block:
    op: str
    shape: str
    offset: int
    tensors: dict[str, str] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    lines: int = 0

    def done(self, end: re.Match[str] | None = None) -> PrintedTable:
        """Return the table; `end`: its last line."""
        fields = end.groupdict() if end is not None else {}
        benchmark, precompile, count = (fields.get(name) for name in ("benchmark", "precompile", "choices"))
        return PrintedTable(
            self.op, self.shape, self.tensors.get("strides", ""), self.tensors.get("dtypes", ""), tuple(self.choices),
            float(benchmark) if benchmark else None, float(precompile) if precompile else None, int(count) if count else None,
            self.offset,
        )  # fmt: skip


class TableReader:
    """Collects the tables of lines in file order. Lines of other writers may be in between; a prefix belongs to its writer."""

    def __init__(self) -> None:
        self._tables: list[PrintedTable] = []
        self._open: dict[str, _Block] = {}

    @property
    def is_open(self) -> bool:
        """Whether a table may go on with the next line."""
        return bool(self._open)

    def read(self, offset: int, line: str) -> None:
        """Read the next line."""
        line = _CLOCK.sub("", line.rstrip("\r\n"))
        at = line.find("AUTOTUNE ")
        if at >= 0 and (head := _HEAD.match(line, at)):
            prefix = line[:at]
            if (block := self._open.pop(prefix, None)) is not None:
                self._tables.append(block.done())
            self._open[prefix] = _Block(head["op"], head["shape"], offset)
            return
        for prefix, block in list(self._open.items()):
            if line.startswith(prefix) and self._goes_on(prefix, block, line[len(prefix) :]):
                return

    def tables(self) -> tuple[PrintedTable, ...]:
        """Return the tables so far, those without an end last."""
        return (*self._tables, *(block.done() for block in self._open.values() if block.choices))

    def _goes_on(self, prefix: str, block: _Block, line: str) -> bool:
        block.lines += 1
        if match := _CHOICE.match(line):
            time_ms = float(match["ms"])
            block.choices.append(Choice(match["name"], time_ms * 1e3 if isfinite(time_ms) else None, match["description"].strip()))
        elif match := _TENSORS.match(line):
            block.tensors[match["name"]] = match["value"].strip()
        elif (end := _END.match(line)) or block.lines > LONGEST_BLOCK:
            self._tables.append(block.done(end))
            del self._open[prefix]
        else:
            return False
        return True


def tables_in(lines: Iterable[str]) -> tuple[PrintedTable, ...]:
    """Return the tables of lines."""
    reader, offset = TableReader(), 0
    for line in lines:
        reader.read(offset, line)
        offset += len(line.encode("utf-8", "replace")) + 1
    return reader.tables()
