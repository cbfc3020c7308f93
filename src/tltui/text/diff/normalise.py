"""What differs only because it is another run is no difference.

Object ids and addresses, temporary and cache paths, hashes in names, debug handles, graph ids, times, the order of sets. Each
rule puts one fixed sign in the place of what varies, and what was replaced is counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of thing that varies between runs."""

    name: str
    needle: str
    """A text that must be in a line for the rule to apply; cheaper than the expression."""
    pattern: re.Pattern[str]
    sign: str


# No expression may take more than linear time on a hostile line: what repeats is bounded, or begins at a fixed word.
RULES: tuple[Rule, ...] = (
    Rule("object id", "___check_", re.compile(r"(___check_\w{1,60}\([^\n()]{0,400}?, )\d{6,}"), r"\1‹id›"),
    # where 64-bit Linux puts heap, libraries and stack: 0x55…, 0x7e… and 0x7f…, on ARM 0xaaaa… and 0xffff…
    Rule("object id", "", re.compile(r"(?<![\w.])(?:9[345]\d{12}|1(?:3[89]|40|8[78])\d{12}|281\d{12})(?![\w.])"), "‹id›"),
    Rule("address", "0x", re.compile(r"0x[0-9a-fA-F]{6,16}"), "0x‹address›"),
    Rule("cache path", "torchinductor_", re.compile(r"(?:/[\w.@+-]{1,255}){0,20}/torchinductor_[\w.@+/-]*"), "‹cache›"),
    Rule("temporary path", "/tmp", re.compile(r"(?<![\w.])/(?:private/|var/)?tmp/[\w.@+/-]+"), "‹tmp›"),
    Rule("temporary path", "/var/folders/", re.compile(r"/(?:private/)?var/folders/[\w.@+/-]+"), "‹tmp›"),
    Rule("hash", "c", re.compile(r"c(?<![A-Za-z0-9]c)[a-z2-7]{50,52}(?![A-Za-z0-9])"), "‹hash›"),
    Rule("hash", "", re.compile(r"(?<![A-Za-z0-9])(?=[a-f]{0,64}\d)[0-9a-f]{32,64}(?![A-Za-z0-9])"), "‹hash›"),
    Rule("unique id", "", re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{8}([-_])(?:[0-9a-f]{4}\1){3}[0-9a-f]{12}(?![^\W_])"), "‹uuid›"),
    Rule("global", "__", re.compile(r"(__builtins_dict__|__compiled_fn|__resume_at_\d{1,9})_\d{1,9}"), r"\1_‹n›"),
    Rule("debug handle", "debug handles]", re.compile(r"(\[Provenance debug handles\] \S{1,400}?):\d+"), r"\1:‹n›"),
    Rule("debug handle", "debug_handle", re.compile(r"(debug_handle\w{0,20}['\"]?[ :=(]{1,4})\d+"), r"\1‹n›"),
    Rule("graph id", "graph id: ", re.compile(r"(# graph id: )\d+"), r"\1‹n›"),
    Rule("graph id", "graph_id", re.compile(r"(graph_id['\"]?[ :=]{1,3})\d+"), r"\1‹n›"),
    Rule("graph number", "AOT ID", re.compile(r"(# AOT ID: \[')\d+_"), r"\1‹n›_"),
    Rule("generated file", "<eval_with_key>", re.compile(r"<eval_with_key>\.\d+"), "<eval_with_key>.‹n›"),
    Rule("latency", "latency", re.compile(r"(latency = )[\d.]+( us)"), r"\1‹time›\2"),
    Rule("address", "DATA_PTR", re.compile(r"(DATA_PTR\W{1,8})\d+"), r"\1‹address›"),
    Rule("trace directory", "TORCH_TRACE", re.compile(r"(TORCH_TRACE\W{1,8})[^'\"\s]+"), r"\1‹path›"),
    Rule("time", "-", re.compile(r"(?<!\d)\d{4}-\d\d-\d\d[ T_]\d\d[:_]\d\d[:_]\d\d(?:[.,_]\d+)?"), "‹time›"),
    Rule("pid", "pid", re.compile(r"(\bpid[ _:=]{1,3})\d+"), r"\1‹pid›"),
)
_RUNS = re.compile(r"[0-9a-f]{14}|[0-9a-f]{8}[-_][0-9a-f]{4}[-_]")
_SET = re.compile(r"\{('[^'{}\n]{0,200}'(?:, '[^'{}\n]{0,200}')+)\}")


def rules_of(text: str) -> tuple[Rule, ...]:
    """The rules that have anything to do in a text: searched once as a whole, so that each line is asked few of them."""
    has_runs = _RUNS.search(text) is not None  # what rules without a needle look for
    return tuple(r for r in RULES if (r.needle in text if r.needle else has_runs) and r.pattern.search(text))


def normalised(line: str, rules: Sequence[Rule] = RULES) -> tuple[str, int]:
    """The line without what only another run changes, and how many things that were."""
    count = 0
    for rule in rules:
        if rule.needle in line:
            line, found = rule.pattern.subn(rule.sign, line)
            count += found
    if "{'" in line:
        line = _SET.sub(_in_order, line)
    return line, count


def _in_order(match: re.Match[str]) -> str:
    """A set of strings in the order of the alphabet: Python's own order depends on the run."""
    return "{" + ", ".join(sorted(match[1].split(", "))) + "}"
