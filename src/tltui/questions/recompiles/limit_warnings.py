"""The recompile limit in TORCH_LOGS text: torch's warning, which it prints by default."""

from __future__ import annotations

import re

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, address, records_of
from tltui.model.status import LIMIT
from tltui.text.frozen import frozen

_HIT = re.compile(r"torch\._dynamo hit config\.(?P<setting>\w+) \((?P<limit>\d{1,18})\)")
_REASON = re.compile(r"^ +last reason: (?P<reason>.*?)(?=^To log all recompilation reasons|\Z)", re.DOTALL | re.MULTILINE)
_STACK = "User stack trace:"
_NONE = frozenset(("", "None", "Unable to find recompilation reasons"))


@frozen
class LimitWarning:
    """One such warning."""

    ref: str
    """The address of the record."""
    setting: str
    """`recompile_limit`, `accumulated_recompile_limit`; `cache_size_limit` before torch 2.7."""
    limit: int
    reason: str
    """The guard that failed last, with its user stack, as `recompile_reasons` has it; '' where torch found none."""


@part
def limit_warning(compile_: Compile, reader: Reader) -> LimitWarning | None:
    """Return the warning that torch refused a compile; None for none."""
    for record, _ in records_of(compile_, (LIMIT,)):
        text = reader.payload(record).decode("utf-8", "replace")
        if hit := _HIT.match(text):
            match = _REASON.search(text)
            reason = _stripped(match["reason"]) if match else ""
            return LimitWarning(address(compile_, record, LIMIT), hit["setting"], int(hit["limit"]), reason)
    return None


def _stripped(reason: str) -> str:
    """Remove blanks at the end; '' for torch's words that no reason is known."""
    text = reason.rstrip()
    return "" if text.partition(_STACK)[0].strip() in _NONE else text
