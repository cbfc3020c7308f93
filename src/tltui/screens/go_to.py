"""The go-to prompt (`o`): compiles, pages and names that match the text typed so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from tltui.commands import COMMANDS, Where
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, named_in, parse_ref
from tltui.model.run import in_order
from tltui.questions.provenance.graph_names import Names
from tltui.screens.prompts import Question, Row
from tltui.screens.workbench import AppContext
from tltui.tree.name_search import BLOCK, Place, Places, everything, recent
from tltui.work.scheduler import Lane, Steps

ROWS = 10
"""Rows of the list: more cost bytes, and a better word finds sooner."""
AT_ONCE = 0.03
"""Seconds of collecting names before the screen opens; the scheduler goes on with the rest."""
SMALL = 500
"""Names that are collected between two looks at the clock."""
COMMAND = "command:"
"""How a place begins that is a command: its id follows."""


def main_screen_commands() -> list[Place]:
    """The commands of the main screen."""
    kept = [command for command in COMMANDS if command.where in (Where.EVERYWHERE, Where.TREE, Where.DOCUMENT)]
    return [Place(COMMAND + c.id, f"{c.title}  {c.keys_shown()}  command of {c.where.value}") for c in kept]


class GoTo(Question):
    """Answers with an address, or with `COMMAND` and the id of a command."""

    rows = ROWS
    picks_first = True

    def __init__(
        self,
        around: AppContext,
        answered: Callable[[str], object],
        current: Compile | None,
        names: Names | None = None,
        ref: str = "",
        before: Iterable[str] = (),
    ) -> None:
        """`names` are those of the document at `ref`, which is shown; `before`: where one was, the latest first."""
        super().__init__("go to", answered, hint="name, file, artifact or address")
        self._run = run = around.run
        self._scheduler = around.scheduler
        self._places = Places(recent(run, before, around.ascii_only))
        self._matches: list[Place] = []
        self._more: Iterator[Place] | None = everything(run, list(in_order(run)), current, names, ref, around.ascii_only)
        end = time.monotonic() + AT_ONCE
        first: list[Place] = []
        while time.monotonic() < end and self._more is not None:
            some = list(islice(self._more, SMALL))
            first += some
            if len(some) < SMALL:
                self._more = None
        self._places.add([*first, *main_screen_commands()])

    def begin(self, renew: Callable[[], object], answer: Callable[[Callable[[], object]], None]) -> None:
        """Collect the rest."""
        if self._more is not None:
            self._scheduler.do(self._collect(self._more, renew, answer), lane=Lane.GROW, owner=self)

    def _collect(
        self, more: Iterator[Place], renew: Callable[[], object], answer: Callable[[Callable[[], object]], None]
    ) -> Steps:
        """Collect the rest. A log that goes away, or a run that grows meanwhile, leaves what there is."""
        waiting: list[Place] = []
        try:
            while some := list(islice(more, SMALL)):
                waiting += some
                if len(waiting) >= BLOCK:
                    self._places.add(waiting)
                    answer(renew)
                    waiting = []
                yield None
        except (OSError, RuntimeError) as error:
            if isinstance(error, RecursionError):
                raise
        self._places.add(waiting)
        answer(renew)

    def listed(self, text: str) -> Sequence[Row]:
        """The places that fit what was typed, the best first."""
        self._matches = self._places.match(text.strip())
        return [place.pieces for place in self._matches]

    def _typed_ref(self, text: str) -> str:
        """The address that was typed; '' for none."""
        try:
            ref = parse_ref(text)
            is_there = ref.view or self._run.unread(named_in(ref)) or self._run.resolve(ref) is not None
            return str(ref) if text.strip() and is_there else ""
        except BadAddress:
            return ""

    def accepts(self, text: str, place: int | None) -> bool:
        """An address, or a row."""
        return place is not None or bool(self._typed_ref(text))

    def entered(self, text: str, place: int | None) -> None:
        """An exact address, else the row under the cursor."""
        self._scheduler.drop(self)
        self._answered(self._typed_ref(text) or self._matches[place or 0].ref)

    def left(self) -> None:
        """Stop collecting."""
        self._scheduler.drop(self)
