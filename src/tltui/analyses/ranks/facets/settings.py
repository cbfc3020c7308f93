"""Settings of torch under which a compile ran: the configurations in its metrics, each entry a line `recompile_limit 16`, behind a
tab with the paths that the comparison leaves out.

A directory and the like says nothing (`text.diff.normalise`), nor does the number of the own device.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from tltui.analyses.compare.comparing import rules_for
from tltui.analyses.ranks.course import SAID
from tltui.analyses.ranks.facets.fact import NONE, Fact, framed, framed_digest
from tltui.text.diff.normalise import normalised
from tltui.text.diff.own import Own
from tltui.trace.grammar import parse_json

T = TypeVar("T")

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


def settings_fact(dumps: Iterable[bytes], own: Own, keep: Keep[Any]) -> Fact:
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


def _configuration(dump: bytes, own: Own) -> Configuration:
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
