"""What is a rank's own, and so no difference to another rank: its device, its stream, its place in its groups.

Two healthy ranks run the same program, one on `cuda:0` and one on `cuda:1`. Each side of a comparison is told which index is its
own; that index becomes the same sign on both sides. Any other index stays as it is: a rank that uses a second device is a finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tltui.text.diff.normalise import Rule

SIGN = "‹own›"
_DEVICES = re.compile(
    r"\]([a-z]{2,16}):(\d{1,4})(?=\")|device\(type='([a-z]{2,16})', index=(\d{1,4})\)|device='([a-z]{2,16}):(\d{1,4})'"
)
"""The device of a tensor: behind its sizes in a graph, in a description, in generated code."""
_GROUP = re.compile(r"(?<=')(\d{1,9})(?='\)|': \{'size': )")
_GROUP_BARE = re.compile(r"(?<=, )(\d{1,9})(?=\), kwargs = )")


@dataclass(frozen=True, slots=True)
class Own:
    """What one side of a comparison may call its own."""

    device: str = ""
    """The kind of its device, e.g. `cuda`; '' for none."""
    index: int = -1
    of_rank: bool = False
    """Whether the other side is another rank: groups, places in groups and the keys of caches may differ as well."""

    @property
    def name(self) -> str:
        """`cuda:1`, '' without a device."""
        return f"{self.device}:{self.index}" if self.device else ""


NOBODY = Own()


def devices_in(text: str) -> Counter[tuple[str, int]]:
    """How often a text names each device with an index as that of a tensor."""
    found: Counter[tuple[str, int]] = Counter()
    for match in _DEVICES.finditer(text):
        kind, index = (group for group in match.groups() if group is not None)
        found[kind, int(index)] += 1
    return found


def most_used(devices: Mapping[tuple[str, int], int]) -> tuple[str, int] | None:
    """The device that most tensors are on; of equally many the first of its kind."""
    return min(devices, key=lambda device: (-devices[device], device), default=None)


def own_rules(own: Own, text: str) -> tuple[Rule, ...]:
    """The rules for one side, whose whole text is given: groups are numbered in the order in which it names them."""
    found = _device_rules(own.device, own.index) if own.device else ()
    if own.of_rank:
        found += (*_group_rules(text), *_RANK)
    return tuple(rule for rule in found if rule.needle in text and rule.pattern.search(text))


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


_RANK = (
    Rule("own group", "'size': ", re.compile(r"('size': \d{1,9}, 'rank': )\d{1,9}"), rf"\g<1>{SIGN}"),
    Rule("cache key", "", re.compile(r"(?<![A-Za-z0-9])[a-z2-7]{50,53}(?![A-Za-z0-9])"), "‹hash›"),
)
"""Between ranks the keys of a cache differ by device and group, and say no more than what they were made of, which is compared."""


def _group_rules(text: str) -> tuple[Rule, ...]:
    """Groups of ranks that hold the same place on each rank: the world is everybody's, the others are counted."""
    if "_c10d_functional" not in text and "setup_fake_process_groups" not in text:
        return ()
    lines = [line for line in text.split("\n") if "_c10d_functional" in line or "setup_fake" in line]
    named = (match[0] for line in lines for pattern in (_GROUP, _GROUP_BARE) for match in pattern.finditer(line))
    numbers: dict[str, str] = {"0": "0"}
    for name in named:
        numbers.setdefault(name, f"‹group {len(numbers)}›")

    def sign(match: re.Match[str]) -> str:
        return numbers.get(match[0], match[0])

    return tuple(
        Rule("own group", needle, pattern, sign)
        for needle in ("_c10d_functional", "setup_fake")
        for pattern in ((_GROUP, _GROUP_BARE) if needle == "_c10d_functional" else (_GROUP,))
    )
