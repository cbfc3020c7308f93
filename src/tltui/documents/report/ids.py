"""Addresses → ids of the sections of a file: letters, digits and hyphens, each once, the same for the same run."""

from __future__ import annotations

import re

_OTHER = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 60


class Ids:
    """Gives each address an id of its own.

    >>> ids = Ids()
    >>> ids.of("0:0/1"), ids.of("0:0/1:dynamo_output_graph#2"), ids.of("@problems"), ids.of("0:0-1")
    ('at-0-0-1', 'at-0-0-1-dynamo-output-graph-2', 'problems', 'at-0-0-1-x2')
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, ref: str) -> str:
        """The id of an address."""
        known = self._known.get(ref)
        if known is None:
            known = self._known[ref] = self._free(ref)
        return known

    def _free(self, ref: str) -> str:
        words = _OTHER.sub("-", ref)[:_LONGEST].strip("-").lower() or "run"
        name = words if ref.startswith("@") and words[0].isalpha() else f"at-{words}"
        number, free = 1, name
        while free in self._taken:
            number += 1
            free = f"{name}-x{number}"
        self._taken.add(free)
        return free
