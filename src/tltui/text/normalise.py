"""What differs only because it is another run is no difference.

Object ids and addresses, temporary and cache paths, hashes in names, debug handles, graph ids, times. Each rule puts one
fixed sign in the place of what varies, and what was replaced is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of thing that varies between runs."""

    name: str
    needle: str
    """A text that must be in a line for the rule to apply; cheaper than the expression."""
    pattern: re.Pattern[str]
    sign: str


RULES: tuple[Rule, ...] = (
    Rule("object id", "_id(", re.compile(r"(___check_(?:obj|type)_id\([^\n]*?, )\d{5,}"), r"\1‹id›"),
    Rule("address", "0x", re.compile(r"0x[0-9a-fA-F]{6,16}"), "0x‹address›"),
    Rule("cache path", "torchinductor", re.compile(r"(?:/[\w.@+-]+)*/torchinductor_[\w.-]+(?:/[\w.@+-]+)*"), "‹cache›"),
    Rule("temporary path", "/tmp", re.compile(r"/(?:private/|var/)?tmp/[\w.@+/-]+"), "‹tmp›"),
    Rule("hash", "c", re.compile(r"\bc[a-z2-7]{50,52}\b"), "‹hash›"),
    Rule("hash", "", re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{32,64}\b"), "‹hash›"),
    Rule("debug handle", "debug handles]", re.compile(r"(\[Provenance debug handles\] \S+):\d+"), r"\1:‹n›"),
    Rule("graph id", "graph id: ", re.compile(r"(# graph id: )\d+"), r"\1‹n›"),
    Rule("graph number", "AOT ID", re.compile(r"(# AOT ID: \[')\d+_"), r"\1‹n›_"),
    Rule("generated file", "<eval_with_key>", re.compile(r"<eval_with_key>\.\d+"), "<eval_with_key>.‹n›"),
    Rule("latency", "latency", re.compile(r"(latency = )[\d.]+( us)"), r"\1‹time›\2"),
    Rule("time", "-", re.compile(r"\b\d{4}-\d\d-\d\d[ T_]\d\d[:_]\d\d[:_]\d\d(?:[.,_]\d+)?"), "‹time›"),
    Rule("pid", "pid", re.compile(r"(\bpid[ _:=]+)\d+"), r"\1‹pid›"),
)


def normalised(line: str) -> tuple[str, int]:
    """The line without what only another run changes, and how many things that were."""
    count = 0
    for rule in RULES:
        if rule.needle in line:
            line, found = rule.pattern.subn(rule.sign, line)
            count += found
    return line, count
