"""Which commands work here and now, and which of them somebody means who types a part of a name.

Pure: the screens say what the situation is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tltui.commands import FOOTER, FOOTER_COMPARE, FOOTER_PROVENANCE, Command, Where, of


@dataclass(frozen=True, slots=True)
class Situation:
    """What there is around the user, as far as commands depend on it."""

    where: Where = Where.TREE
    """The pane with the focus: tree or documents; or a mode: provenance, comparing."""
    shows_both: bool = True
    """Whether tree and document are both in sight."""
    has_compile: bool = False
    """The tree's cursor is on a compile or in one."""
    has_recompiles: bool = False
    shows_graph: bool = False
    """A graph of the compiler, which can be compared with the one that it was made from."""
    """The frame of that compile has others."""
    has_errors: bool = False
    """A compile failed, or its function runs in eager mode."""
    has_breaks: bool = False
    """A compile has a graph break."""
    has_ranks: bool = False
    """There is more than one rank."""
    has_output: bool = False
    """There is what a job printed."""
    is_live: bool = False
    """The logs may still be written."""
    has_orders: bool = False
    """The tables of the page can be put in another order."""
    has_sections: bool = False
    """The document can be folded."""
    has_hits: bool = False
    """Something was searched for in the document."""
    has_units: bool = False
    """Provenance: the compile has more than one lowering."""
    has_past: bool = False
    has_future: bool = False
    """There is somewhere to go back to, and forward again."""


_NEEDS: dict[str, Callable[[Situation], bool]] = {
    **dict.fromkeys(("app.next_error", "app.previous_error"), lambda now: now.has_errors),
    **dict.fromkeys(("app.next_break", "app.previous_break"), lambda now: now.has_breaks),
    **dict.fromkeys(("app.next_recompile", "app.previous_recompile"), lambda now: now.has_recompiles),
    "app.compare_previous": lambda now: now.has_recompiles or now.shows_graph,
    **dict.fromkeys(("app.next_rank", "app.previous_rank"), lambda now: now.has_ranks),
    **dict.fromkeys(("app.next_artifact", "app.previous_artifact", "app.provenance"), lambda now: now.has_compile),
    **dict.fromkeys(("app.other_down", "app.other_up", "app.zoom"), lambda now: now.shows_both),
    **dict.fromkeys(("app.news", "app.follow", "app.processes"), lambda now: now.is_live),
    **dict.fromkeys(("document.fold", "document.fold_all", "document.unfold_all", "document.next_section",
                     "document.previous_section"), lambda now: now.has_sections),
    **dict.fromkeys(("document.next_hit", "document.previous_hit"), lambda now: now.has_hits),
    "app.output": lambda now: now.has_output,
    "app.sort": lambda now: now.has_orders,
    "app.back": lambda now: now.has_past,
    "app.forward": lambda now: now.has_future,
    "provenance.next_unit": lambda now: now.has_units,
}  # fmt: skip
"""What a command must have to do anything at all."""
_NOT_SIDE_BY_SIDE = frozenset(("document.wrap", "document.ask_filter"))
"""Commands of documents that have no meaning while two of them stand side by side."""
_PLAIN = re.compile(r"\.(cursor|page|half|other)_(up|down)$|\.(top|bottom|expand|collapse|enter|close|command_palette)$")
"""Commands that everybody knows by their keys: they come last."""
_MODES = {Where.PROVENANCE: FOOTER_PROVENANCE, Where.COMPARE: FOOTER_COMPARE}
_WORD = re.compile(r"[\w$']+")


def commands_for(now: Situation) -> list[Command]:
    """The commands that do something in a situation, the most useful first."""
    first = {name: place for place, name in enumerate(_MODES.get(now.where, FOOTER))}
    found: dict[str, Command] = {}
    taken: set[str] = set()
    for where in _places(now):
        own = [command for command in of(where) if _works(command, now)]
        # in a mode a key belongs to its own command; what is called the same in two panes is meant of the nearer one
        is_hidden = now.where in _MODES
        added = [each for each in own if each.title not in found and not (is_hidden and taken.issuperset(each.keys))]
        found.update((command.title, command) for command in added)
        taken.update(key for command in added for key in command.keys)
    order = list(found.values())
    return sorted(order, key=lambda command: (_PLAIN.search(command.id) is not None, first.get(command.id, len(first))))


def keys_said(command: Command, now: Situation, keys: Iterable[str] | None = None) -> str:
    """The keys of a command as people read them; of one of the other pane with the pane: here they do something else."""
    said = command.keys_shown(keys)
    is_elsewhere = command.where in (Where.TREE, Where.DOCUMENT) and now.where in (Where.TREE, Where.DOCUMENT)
    if not said or not is_elsewhere or command.where is now.where:
        return said
    return f"{said} in the {'tree' if command.where is Where.TREE else 'document'}"


def _places(now: Situation) -> tuple[Where, ...]:
    """Where commands come from, the nearest first."""
    if now.where in _MODES:
        return now.where, Where.DOCUMENT
    other = Where.DOCUMENT if now.where is Where.TREE else Where.TREE
    return (now.where, Where.EVERYWHERE, other) if now.shows_both else (now.where, Where.EVERYWHERE)


def _works(command: Command, now: Situation) -> bool:
    needs = _NEEDS.get(command.id)
    return (needs is None or needs(now)) and not (now.where is Where.COMPARE and command.id in _NOT_SIDE_BY_SIDE)


def match_commands(
    query: str, commands: Iterable[Command], keys: Callable[[Command], Iterable[str]] = lambda command: command.keys
) -> list[Command]:
    """Those that somebody may mean, the best first: of this key or name, whose name begins so, has words that begin so, or holds
    it; at last those whose help has words that begin so. In the order given where that says no more. `keys` says theirs."""
    typed = query.strip()
    low = typed.lower()
    words = _WORD.findall(low)
    ranked: list[tuple[int, int, Command]] = []
    for place, command in enumerate(commands):
        rank = 0 if typed in command.keys_shown(keys(command)).split() else _rank(low, words, command)
        if rank is not None:
            ranked.append((rank, place, command))
    return [command for _, _, command in sorted(ranked, key=lambda each: each[:2])]


def _rank(low: str, words: list[str], command: Command) -> int | None:
    title = command.title.lower()
    if low == title:
        return 1
    if title.startswith(low):
        return 2
    if not words:
        return None
    if _begin(words, title):
        return 3
    if low in title:
        return 4
    return 5 if _begin(words, f"{title} {command.help.lower()}") else None


def _begin(words: list[str], text: str) -> bool:
    """Whether each word begins a word of the text."""
    there = _WORD.findall(text)
    return all(any(word.startswith(begun) for word in there) for begun in words)
