"""Go to anything that has a name by typing a part of it: ranks, frames, compiles, artifacts, pages, commands, symbols, and what
is named in the document that is shown. Or type an address."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tltui.commands import COMMANDS, Where
from tltui.documents.names import Names
from tltui.documents.tree.places import BLOCK, SHOWN, Place, Places, everything
from tltui.messages import Answer
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.walk import in_order
from tltui.screens.workbench import Surroundings
from tltui.text.sanitize import sanitize
from tltui.text.script import script_for
from tltui.text.width import ELLIPSIS, fit
from tltui.work.scheduler import Lane, Steps

AT_ONCE = 0.03
"""Seconds of collecting names before the screen opens; the scheduler goes on with the rest."""
SMALL = 500
"""Names that are collected between two looks at the clock."""
COMMAND = "command:"
"""How a place begins that is a command: its id follows."""


def commands() -> list[Place]:
    """The commands of the main screen."""
    kept = [command for command in COMMANDS if command.where in (Where.EVERYWHERE, Where.TREE, Where.DOCUMENT)]
    return [Place(COMMAND + c.id, f"{c.title}  {c.keys_shown()}  command of {c.where.value}") for c in kept]


class GoTo(ModalScreen[str | None]):
    """Gives an address, or None after esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel", show=False),
        Binding("down,ctrl+n", "move(1)", "down", show=False, priority=True),
        Binding("up", "move(-1)", "up", show=False, priority=True),
    ]

    def __init__(self, around: Surroundings, current: Compile | None, names: Names | None = None, ref: str = "") -> None:
        """`names` are those of the document at `ref`, which is shown."""
        super().__init__()
        self._run = run = around.run
        self._scheduler = around.scheduler
        self._ascii = around.ascii_only
        self._places = Places()
        self._more: Iterator[Place] | None = everything(run, list(in_order(run)), current, names, ref, around.ascii_only)
        end = time.monotonic() + AT_ONCE
        first: list[Place] = []
        while time.monotonic() < end and self._more is not None:
            some = list(islice(self._more, SMALL))
            first += some
            if len(some) < SMALL:
                self._more = None
        self._places.add([*first, *commands()])
        self._matches: list[Place] = []

    def _collect(self, more: Iterator[Place]) -> Steps:
        """Collect the rest. A log that goes away, or a run that grows meanwhile, leaves what there is."""
        waiting: list[Place] = []
        try:
            while some := list(islice(more, SMALL)):
                waiting += some
                if len(waiting) >= BLOCK:
                    self.post_message(Answer(partial(self._collected, waiting)))
                    waiting = []
                yield None
        except (OSError, RuntimeError) as error:
            if isinstance(error, RecursionError):
                raise
        if waiting:
            self.post_message(Answer(partial(self._collected, waiting)))

    def on_answer(self, message: Answer) -> None:
        """More names."""
        message.apply()

    def compose(self) -> ComposeResult:
        """Input and list."""
        with Vertical(id="goto"):
            yield Input(placeholder="name, file, artifact or address (0/1, 3:0/1:inductor_output_code)", id="goto-input")
            yield OptionList(id="goto-list", markup=False)

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one("#goto-list", OptionList).can_focus = False
        self.query_one(Input).focus()
        if self._more is not None:
            self._scheduler.do(self._collect(self._more), lane=Lane.GROW, owner=self)
        # each line is cut to the width, which is known after the first layout
        self.call_after_refresh(lambda: self._fill(self.query_one(Input).value))

    def on_unmount(self) -> None:
        """Stop collecting."""
        self._scheduler.drop(self)

    def _collected(self, places: list[Place]) -> None:
        """More names: they may be what is being looked for. A line that was chosen stays chosen."""
        self._places.add(places)
        query = self.query_one(Input).value
        listing = self.query_one("#goto-list", OptionList)
        if query and len(self._matches) < SHOWN and not listing.highlighted:
            self._fill(query)

    def on_input_changed(self, event: Input.Changed) -> None:
        """What was typed changed."""
        self._fill(event.value)

    def _fill(self, query: str) -> None:
        self._matches = self._places.match(query.strip())
        listing = self.query_one("#goto-list", OptionList)
        listing.clear_options()
        width = max(listing.size.width - 4, 20)
        script = script_for(self._ascii)
        texts = (fit(script.drawn(sanitize(place.text)), width, script.drawn(ELLIPSIS)) for place in self._matches)
        listing.add_options([Option(Content(text)) for text in texts])
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
