"""Normalisation of texts before comparison: differences between runs, ranks and devices removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern


@frozen
class Rule:
    """One kind of thing that varies between runs."""

    name: str
    needle: str
    """A text that must be in a line for the rule to apply; cheaper than the expression."""
    pattern: re.Pattern[str]
    sign: str | Callable[[re.Match[str]], str]


_PACKAGES = ("/site-packages/", "/dist-packages/", "/torch/")


def _in_directory(match: re.Match[str]) -> str:
    """Return a file without its directory; an installed file keeps the path within its package."""
    path = match[0]
    for mark in _PACKAGES:
        place = path.rfind(mark)
        if place >= 0:
            return "‹dir›/" + path[place + (1 if mark == "/torch/" else len(mark)) :]
    return "‹dir›/" + path.rpartition("/")[2]


_SETTING = r"(?:dir|path|root|file|cache|DIR|PATH|ROOT|FILE|CACHE)\w{0,20}['\"\]]{0,3} ?[:=] ?['\"]"
_DIRECTORY = lazy_pattern(rf"({_SETTING})/(?![^'\"\n]*\.py['\"])[^'\"\n]*")
"""A setting whose name says that it is a place; the name of a source file is more than that."""
_OBJECT = lazy_pattern(r"(?<![A-Za-z0-9.])(?:9[345]\d{12}|1(?:3[89]|40|8[78])\d{12}|281\d{12})(?![A-Za-z0-9]|\.\d)")
"""Where 64-bit Linux puts heap, libraries and stack: 0x55…, 0x7e… and 0x7f…, on ARM 0xaaaa… and 0xffff…"""
_PART = r"[\w.@+~#%-]"
_BEGINS = r"(?<![\w./@+~#%-])"
_GENERATED = lazy_pattern(rf"{_BEGINS}(?:{_PART}*/)+c[a-z2-7]{{50,52}}(?:\.\w{{1,10}})+(?![\w/])")
_SOURCE = lazy_pattern(rf"{_BEGINS}(?:{_PART}*/)+{_PART}+\.py(?![\w/])")
_QUOTED = lazy_pattern(r"""(?:(?<=File: )|(?<=File ")|(?<=File \\"))/[^"\n:\\]{0,1000}\.py(?=["\\:])""")
_INSTALLED = lazy_pattern(rf"{_BEGINS}(?:/{_PART}+){{1,30}}?/(?:site|dist)-packages/")
_TIME = lazy_pattern(r"^( *\"(?:\w*_)?(?:ns|us|ms|event_time|start_time|end_time)\": )-?[\d.]+(?:e[+-]?\d+)?", re.MULTILINE)
"""A time that was measured, by the name of its field: limits and other settings are in seconds."""
# No expression may take more than linear time on a hostile line: what repeats is bounded, or begins at a fixed word.
RULES: tuple[Rule, ...] = (
    Rule("object id", "___check_", lazy_pattern(r"(___check_\w{1,60}\([^\n()]{0,400}?, )\d{6,}"), r"\1‹id›"),
    Rule("object id", "", _OBJECT, "‹id›"),
    Rule("address", "0x", lazy_pattern(r"0x[0-9a-fA-F]{6,16}"), "0x‹address›"),
    Rule("directory", "'/", _DIRECTORY, r"\1‹path›"),
    Rule("directory", '"/', _DIRECTORY, r"\1‹path›"),
    Rule("cache path", "torchinductor_", lazy_pattern(r"(?:/[\w.@+-]{1,255}){0,20}/torchinductor_[\w.@+/-]*"), "‹cache›"),
    Rule("cache path", "/c", _GENERATED, "‹cache›"),
    Rule("directory", "File", _QUOTED, _in_directory),
    Rule("directory", ".py", _SOURCE, _in_directory),
    Rule("directory", "-packages/", _INSTALLED, "‹dir›/"),
    Rule("temporary path", "/tmp", lazy_pattern(r"(?<![\w.])/(?:private/|var/)?tmp/[\w.@+/-]+"), "‹tmp›"),
    Rule("temporary path", "/var/folders/", lazy_pattern(r"/(?:private/)?var/folders/[\w.@+/-]+"), "‹tmp›"),
    Rule("hash", "c", lazy_pattern(r"c(?<![A-Za-z0-9]c)[a-z2-7]{50,52}(?![A-Za-z0-9])"), "‹hash›"),
    Rule("hash", "", lazy_pattern(r"(?<![A-Za-z0-9])(?=[a-f]{0,64}\d)[0-9a-f]{32,64}(?![A-Za-z0-9])"), "‹hash›"),
    Rule("unique id", "", lazy_pattern(r"(?<![A-Za-z0-9])[0-9a-f]{8}([-_])(?:[0-9a-f]{4}\1){3}[0-9a-f]{12}(?![^\W_])"), "‹uuid›"),
    Rule("global", "__", lazy_pattern(r"(__builtins_dict__|__compiled_fn|__resume_at_\d{1,9})_\d{1,9}"), r"\1_‹n›"),
    Rule("debug handle", "debug handles]", lazy_pattern(r"(\[Provenance debug handles\] \S{1,400}?):\d+"), r"\1:‹n›"),
    Rule("debug handle", "debug_handle", lazy_pattern(r"(debug_handle\w{0,20}['\"]?[ :=(]{1,4})\d+"), r"\1‹n›"),
    Rule("graph id", "graph id: ", lazy_pattern(r"(# graph id: )\d+"), r"\1‹n›"),
    Rule("graph id", "graph_id", lazy_pattern(r"(graph_id['\"]?[ :=]{1,3})\d+"), r"\1‹n›"),
    Rule("graph number", "AOT ID", lazy_pattern(r"(# AOT ID: \[')\d+_"), r"\1‹n›_"),
    Rule("generated file", "<eval_with_key>", lazy_pattern(r"<eval_with_key>\.\d+"), "<eval_with_key>.‹n›"),
    Rule("time", '": ', _TIME, r"\1‹time›"),
    Rule("latency", "latency", lazy_pattern(r"(latency = )[\d.]+( us)"), r"\1‹time›\2"),
    Rule("address", "DATA_PTR", lazy_pattern(r"(DATA_PTR\W{1,8})\d+"), r"\1‹address›"),
    Rule("trace directory", "TORCH_TRACE", lazy_pattern(r"(TORCH_TRACE\W{1,8})[^'\"\s]+"), r"\1‹path›"),
    Rule("time", "-", lazy_pattern(r"(?<!\d)\d{4}-\d\d-\d\d[ T_]\d\d[:_]\d\d[:_]\d\d(?:[.,_]\d+)?"), "‹time›"),
    Rule("pid", "pid", lazy_pattern(r"(\bpid[ _:=]{1,3})\d+"), r"\1‹pid›"),
)
_NEEDED = {"/c": lazy_pattern(r"c[a-z2-7]{50}"), "-": lazy_pattern(r"-\d\d-\d\d[ T_]")}
"""Needle → an expression that matches wherever a rule with this needle does, and begins with a fixed letter, which is faster."""


def _letters(letters: str, others: str = "") -> bytes:
    """Return a table for `bytes.translate`: `h` for these letters, `-` for others, a blank for the rest."""
    table = bytearray(b" " * 256)
    table[ord("\n")] = ord("\n")
    for sign, group in (("h", letters), ("-", others)):
        for letter in group:
            table[ord(letter)] = ord(sign)
    return bytes(table)


_HEX, _BASE32 = _letters("0123456789abcdef", "-_"), _letters("abcdefghijklmnopqrstuvwxyz234567")
_HEX_RUNS = (b"h" * 14, b"h" * 8 + b"-" + b"h" * 4 + b"-")
_KEY_RUN = b"h" * 50


def _has_run(text: str, table: bytes, runs: Sequence[bytes]) -> bool:
    """Return whether a text has one of these sequences of letters; much faster than an expression for them."""
    if len(text) < min(map(len, runs)):
        return False
    shape = text.encode("utf-8", "replace").translate(table)
    return any(run in shape for run in runs)


_SET = lazy_pattern(r"\{('[^'{}\n]{0,200}'(?:, '[^'{}\n]{0,200}')+)\}")


def rules_of(text: str) -> tuple[Rule, ...]:
    """Return the rules that match anywhere in a text, so that each line is tested against few of them."""
    absent = {needle for needle, needed in _NEEDED.items() if not needed.search(text)}
    if not _has_run(text, _HEX, _HEX_RUNS):
        absent.add("")
    return tuple(r for r in RULES if r.needle not in absent and r.needle in text and r.pattern.search(text))


def normalised(line: str, rules: Sequence[Rule] = RULES) -> tuple[str, int]:
    """Return the line without run-specific parts, and the number of replacements."""
    count = 0
    for rule in rules:
        if rule.needle in line:
            line, replaced = rule.pattern.subn(rule.sign, line)
            count += replaced
    if "{'" in line:
        line = _SET.sub(_in_order, line)
    return line, count


def _in_order(match: re.Match[str]) -> str:
    """Return a printed set of strings sorted: Python's set order depends on the run."""
    return "{" + ", ".join(sorted(match[1].split(", "))) + "}"


SIGN = "‹own›"
_DEVICES = lazy_pattern(
    r"\]([a-z]{2,16}):(\d{1,4})(?=\")|device\(type='([a-z]{2,16})', index=(\d{1,4})\)|device='([a-z]{2,16}):(\d{1,4})'"
)
"""The device of a tensor: behind its sizes in a graph, in a description, in generated code."""
_GROUP = lazy_pattern(r"(?<=')(\d{1,9})(?='\)|': \{'size': )")
_GROUP_BARE = lazy_pattern(r"(?<=, )(\d{1,9})(?=\), kwargs = )")


@frozen
class RankIdentity:
    """The rank-specific values of one side of a comparison."""

    device: str = ""
    """The kind of its device, e.g. `cuda`; '' for none."""
    index: int = -1
    of_rank: bool = False
    """Whether the other side is another rank: groups, places in groups and the keys of caches may differ as well."""

    @property
    def name(self) -> str:
        """`cuda:1`, '' without a device."""
        return f"{self.device}:{self.index}" if self.device else ""


NOBODY = RankIdentity()


def devices_in(text: str) -> Counter[tuple[str, int]]:
    """How often a text names each device with an index as that of a tensor."""
    counts: Counter[tuple[str, int]] = Counter()
    for match in _DEVICES.finditer(text):
        kind, index = (group for group in match.groups() if group is not None)
        counts[kind, int(index)] += 1
    return counts


def most_used(devices: Mapping[tuple[str, int], int]) -> tuple[str, int] | None:
    """Return the device that holds most tensors; among equals the first of its kind."""
    return min(devices, key=lambda device: (-devices[device], device), default=None)


def own_rules(identity: RankIdentity, text: str) -> tuple[Rule, ...]:
    """Return the rules for one side from its full text; process groups are numbered in order of occurrence."""
    rules = _device_rules(identity.device, identity.index) if identity.device else ()
    if identity.of_rank:
        rules += (*_group_rules(text), _OWN_GROUP)
        rules += (_CACHE_KEY,) if _has_run(text, _BASE32, (_KEY_RUN,)) else ()
    return tuple(rule for rule in rules if rule.needle in text and rule.pattern.search(text))


@lru_cache(maxsize=256)
def _device_rules(kind: str, index: int) -> tuple[Rule, ...]:
    name, n = re.escape(kind), f"{index}(?![\\w.])"
    patterns = (
        (f"{kind}:{index}", rf"(?<![A-Za-z0-9])({name}:){n}"),
        ("index=", rf"(type='{name}', index=){n}"),
        ("device=", rf"(torch\.\w{{1,30}}, device=){n}"),  # the guard of a tensor
        ("stream", rf"(?<![A-Za-z0-9])((?:raw_)?stream){n}"),
        ("stream", rf"(_stream\(){n}"),
        ("Guard", rf"(Guard(?: \w{{1,40}})?\(){n}"),
        ("set_", rf"(\bset_(?:device|index)\(){n}"),
        (f"{kind}.device(", rf"({name}\.device\(){n}"),
        ("device_type_", rf"(device_type_{name}, ){n}"),
        ("/attempt_", rf"(/attempt_\d{{1,4}}/){n}"),
        ("triton/", rf"(triton/){n}(?=/)"),
    )
    return tuple(Rule("own device", needle, re.compile(pattern), rf"\g<1>{SIGN}") for needle, pattern in patterns)


_OWN_GROUP = Rule("own group", "'size': ", lazy_pattern(r"('size': \d{1,9}, 'rank': )\d{1,9}"), rf"\g<1>{SIGN}")
_CACHE_KEY = Rule("cache key", "", lazy_pattern(r"(?<![A-Za-z0-9])[a-z2-7]{50,53}(?![A-Za-z0-9])"), "‹hash›")
"""Between ranks the keys of a cache differ by device and group, and say no more than what they were made of, which is compared."""


def _group_rules(text: str) -> tuple[Rule, ...]:
    """Return rules for process groups that have the same role on each rank; the world group keeps its name, others are numbered."""
    if "_c10d_functional" not in text and "setup_fake_process_groups" not in text:
        return ()
    lines = [line for line in text.split("\n") if "_c10d_functional" in line or "setup_fake" in line]
    groups = (match[0] for line in lines for pattern in (_GROUP, _GROUP_BARE) for match in pattern.finditer(line))
    numbers: dict[str, str] = {"0": "0"}
    for name in groups:
        numbers.setdefault(name, f"‹group {len(numbers)}›")

    def sign(match: re.Match[str]) -> str:
        return numbers.get(match[0], match[0])

    return tuple(
        Rule("own group", needle, pattern, sign)
        for needle in ("_c10d_functional", "setup_fake")
        for pattern in ((_GROUP, _GROUP_BARE) if needle == "_c10d_functional" else (_GROUP,))
    )
