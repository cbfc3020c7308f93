"""Go to a compile or an artifact by typing a part of its name, its file, or its address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import Matcher
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tltui.documents.outline import compile_node, label
from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.model.walk import in_order
from tltui.text.sanitize import sanitize
from tltui.text.width import fit

SHOWN = 200


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere to go."""

    ref: str
    text: str


ALL_ARTIFACTS = 500
"""Compiles up to which the artifacts of all of them are offered."""


def places(run: Run, current: Compile | None) -> list[Place]:
    """Everything that can be gone to: the artifacts of the current compile first, then all compiles, then their artifacts (of
    a run with very many compiles only those of the current one)."""
    found = _artifacts(current) if current is not None else []
    compiles = list(in_order(run))
    found += _compiles(compiles)
    if len(compiles) <= ALL_ARTIFACTS:
        found += [place for compile_ in compiles if compile_ is not current for place in _artifacts(compile_)]
    return found


def _artifacts(compile_: Compile) -> list[Place]:
    return [Place(str(a.ref), f"{a.ref}  {a.kind.title}") for a in artifacts_of(compile_)]


def _compiles(compiles: list[Compile]) -> list[Place]:
    found = []
    for compile_ in compiles:
        said = label(compile_node(compile_))
        text = "".join(p if isinstance(p, str) else p[0] for p in (*said.left, *said.detail))
        name = "" if len(compile_.frame.compiles) == 1 else f"  {compile_.frame.code[0] or ''}"
        found.append(Place(str(compile_.ref), f"{compile_.ref}  {text}{name}"))
    return found


def matching(found: Sequence[Place], query: str) -> list[Place]:
    """The best places for what was typed. The whole list is searched for the letters; only `SHOWN` of them are ranked."""
    if not query:
        return list(found[:SHOWN])
    low = query.lower()
    inside = [place for place in found if low in place.text.lower()]
    if len(inside) < SHOWN:
        letters = [letter for letter in low if not letter.isspace()]
        inside += [p for p in found if low not in p.text.lower() and _in_order(letters, p.text.lower())][: SHOWN * 4]
    matcher = Matcher(query)
    ranked = sorted(inside[: SHOWN * 4], key=lambda place: (-(low in place.text.lower()), -matcher.match(place.text)))
    return ranked[:SHOWN]


def _in_order(letters: list[str], text: str) -> bool:
    at = 0
    for letter in letters:
        at = text.find(letter, at) + 1
        if not at:
            return False
    return True


class GoTo(ModalScreen[str | None]):
    """Gives an address, or None after esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel", show=False),
        Binding("down,ctrl+n", "move(1)", "down", show=False, priority=True),
        Binding("up", "move(-1)", "up", show=False, priority=True),
    ]

    def __init__(self, run: Run, current: Compile | None) -> None:
        super().__init__()
        self._run = run
        self._places = places(run, current)
        self._matches: list[Place] = []

    def compose(self) -> ComposeResult:
        """Input and list."""
        with Vertical(id="goto"):
            yield Input(placeholder="name, file, artifact or address (0/1, 3:0/1:inductor_output_code)", id="goto-input")
            yield OptionList(id="goto-list", markup=False)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one("#goto-list", OptionList).can_focus = False
        self.query_one(Input).focus()
        # an OptionList that is filled before it has its width keeps what it cut
        self.call_after_refresh(lambda: self._fill(self.query_one(Input).value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """What was typed changed."""
        self._fill(event.value)

    def _fill(self, query: str) -> None:
        self._matches = matching(self._places, query.strip())
        listing = self.query_one("#goto-list", OptionList)
        listing.clear_options()
        width = max(listing.size.width - 4, 20)
        listing.add_options([Option(Content(fit(sanitize(place.text), width, "…"))) for place in self._matches])
        if self._matches:
            listing.highlighted = 0
        elif query:
            listing.add_option(Option(Content("nothing like this; an address is taken as it is"), disabled=True))

    def action_move(self, by: int) -> None:
        """Another line of the list."""
        listing = self.query_one("#goto-list", OptionList)
        if self._matches:
            listing.highlighted = ((listing.highlighted or 0) + by) % len(self._matches)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: an exact address, else the highlighted line."""
        event.stop()
        try:
            ref = parse_ref(event.value)
            if event.value.strip() and (ref.view or self._run.resolve(ref) is not None):
                self.dismiss(str(ref))
                return
        except BadAddress:
            pass
        chosen = self.query_one("#goto-list", OptionList).highlighted
        if self._matches and chosen is not None:
            self.dismiss(self._matches[chosen].ref)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        self.dismiss(self._matches[event.option_index].ref)

    def action_cancel(self) -> None:
        """Esc."""
        self.dismiss(None)
