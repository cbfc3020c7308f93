"""News of one job from several inputs: a graph break stands in the trace and in the text, and is told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from tltui.analyses.news import News, What
from tltui.inputs.table import TRACE
from tltui.model.nodes import CompileKey
from tltui.model.run import Run

OF_ONE = frozenset((
    What.PROCESS, What.MOVED, What.LOST, What.UNREADABLE, What.READABLE, What.OVER,
    What.BACKWARD, What.RESTART, What.UNFINISHED,
))  # fmt: skip
"""About a file, or what a trace alone tells."""

Numbered = tuple[News, int]
"""A piece of news, and which of its kind it is that its log tells of the compile."""


class Once:
    """Remembers what was told of processes that several inputs tell of. `number` comes first, in the order of each log; whether it
    is new can be said when processes have been put together."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._nth: Counter[tuple[int, CompileKey | None, What]] = Counter()
        self._told: set[Hashable] = set()

    def number(self, news: News) -> Numbered:
        """The news with its number."""
        if news.what is not What.BREAK or self._run.joining.is_plain(self._run.models):
            return news, 0
        own = (news.log, news.key, news.what)
        self._nth[own] += 1
        return news, self._nth[own]

    def new(self, numbered: Iterable[Numbered]) -> Iterator[News]:
        """What no other input of its process has told; from then on it is told. A trace tells most: it is asked first."""
        models = self._run.models
        for news, nth in sorted(numbered, key=lambda own: models[own[0].log].form != TRACE):
            if self._is_new(news, nth):
                yield news

    def _is_new(self, news: News, nth: int) -> bool:
        process = next((own for own in self._run.models[news.log].processes if own.key == news.process), None)
        whole = self._run.joining.whole(process) if process is not None else None
        if whole is None or news.what in OF_ONE:
            return True
        what = (whole.key, news.key.id if news.key is not None else None, news.what, nth)
        is_new = what not in self._told
        self._told.add(what)
        return is_new
