"""Settings of torch under which a compile ran: the configurations in its metrics, each entry a line `recompile_limit 16`, behind a
tab with the paths that the comparison leaves out.

A directory and the like says nothing (`text.diff.normalise`), nor does the number of the own device.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tltui.analyses.compare.comparing import rules_for
from tltui.analyses.ranks.facets.fact import NONE, Fact, fact
from tltui.text.diff.normalise import normalised
from tltui.text.diff.own import Own
from tltui.trace.grammar import parse_json

CONFIGS = (b'"dynamo_config": "', b'"inductor_config": "', b'"functorch_config": "', b'"compiler_config": "')
"""Whole configurations: JSON in a string (`tltui.analyses.metrics.fields.CONFIGS`)."""
FLAGS = (b'"config_suppress_errors": ', b'"config_inline_inbuilt_nn_modules": ', b'"specialize_float": ')
_END = b'", "'
VALUE = 80


def dumps_in(line: bytes) -> tuple[bytes, ...]:
    """The configurations in the first line of a record of metrics, as they stand there. Quotes within one are escaped, so `", "`
    ends it."""
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


class Setting(NamedTuple):
    """An entry of a configuration."""

    name: str
    value: str
    compared: str
    """The value without what only another run or rank changes."""


Configuration = tuple[str, tuple[Setting, ...]]
"""The name of a configuration, and its entries."""


def configuration(dump: bytes, own: Own) -> Configuration:
    """Read one of the configurations of `dumps_in`."""
    settings = []
    for name, value in _entries(dump).items():
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=repr)
        settings.append(Setting(name, text, normalised(text, rules_for(text, own))[0] if len(text) > 3 else text))
    return dump[1 : dump.index(b'":')].decode(), tuple(settings)


def settings_fact(configurations: Sequence[Configuration]) -> Fact:
    """Join the configurations of a compile. Entries of equal names in two of them have the configuration before them."""
    lines: list[str] = []
    compared: list[bytes] = []
    count = Counter(setting.name for _, settings in configurations for setting in settings)
    for config, settings in configurations:
        for name, value, same in settings:
            label = f"{config}.{name}" if count[name] > 1 else name
            line = f"{label} {same}"[:VALUE]
            compared.append(line.encode("utf-8", "replace"))
            lines.append(line if same == value or "\t" in line + value else f"{line}\t{label} {value}"[: 2 * VALUE])
    return fact(lines, compared) if lines else NONE


def _entries(dump: bytes) -> dict[str, object]:
    """Name → value of a configuration; of a flag itself."""
    try:
        value = parse_json(b"{" + dump + (b'"}' if b'": "' in dump else b"}"))
        name, held = next(iter(value.items()))
        inner = parse_json(held.encode("utf-8", "surrogatepass")) if isinstance(held, str) else held
    except (ValueError, StopIteration):
        return {}
    return inner if isinstance(inner, dict) else {name: inner}
