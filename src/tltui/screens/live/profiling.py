"""Profiles beside the logs are read while other things are done: no key waits for them."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from tltui.documents.format import plural
from tltui.screens.main_screen import MainScreen
from tltui.screens.panes import PanesScreen
from tltui.text import cut, tokens
from tltui.work.scheduler import Place, Steps, Task

if TYPE_CHECKING:
    from tltui.analyses.runtime.result import Refused

SOON = 0.5
"""Seconds after which it is told how far it is, and between two such remarks."""


class Profiling:
    """Reads the profiles of a run in the background, each once. On the UI thread."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        self._run = bench.trace
        self._task: Task | None = None
        self._is_stopped = False

    def begin(self) -> None:
        """Read what was not read yet, if there is any and nobody stopped it."""
        if self._run.profiles.unread and not self._is_stopped and not self.is_reading:
            self._task = self._bench.scheduler.do(self._steps(), place=Place.LONG, owner=self)

    @property
    def is_reading(self) -> bool:
        """Whether it reads."""
        return self._task is not None and not self._task.ended.is_set()

    def stop(self) -> bool:
        """Read no more; False where nothing was read."""
        if self._task is None or not self.is_reading:
            return False
        self._bench.scheduler.cancel(self._task)
        self._is_stopped = True
        self._bench.tell(f"the profile is not read: {self._bench.key_of('app.read_again')} reads it")
        return True

    def _steps(self) -> Steps:
        from tltui.analyses.runtime.runtimes import Refused, preparing, runtimes_of  # few runs have a profile

        run = self._run
        told = time.monotonic()
        for part in run.profiles.steps():
            if time.monotonic() - told >= SOON:
                told = time.monotonic()
                self._bench.answer(partial(self._tell, part))
            yield None
        for _ in preparing(run):
            yield None
        yield Place.NODES  # what follows reads nodes
        found = runtimes_of(run)
        self._bench.answer(partial(self._read, tuple(one for one in found if isinstance(one, Refused)), len(found)))

    def _tell(self, part: float) -> None:
        if self.is_reading:
            names = [file.found.name for file in self._run.profiles.unread]
            what = cut.path(names[0], 60) if len(names) == 1 else plural(len(names), "profile")
            self._bench.tell(f"reading {what} … {part:.0%}", tokens.DIM)

    def _read(self, refused: tuple[Refused, ...], count: int) -> None:
        """It is read: what is shown is made again."""
        self._run.version += 1
        if refused:
            self._bench.tell(f"{cut.path(refused[0].profile, 60)}: {refused[0].why}", tokens.WARN)
        else:
            self._bench.tell(f"{plural(count, 'profile')} read", tokens.DIM)
        self._bench.run_changed(False, False)
        for screen in self._bench.app.screen_stack:
            if isinstance(screen, PanesScreen):
                screen.profiles_read()
