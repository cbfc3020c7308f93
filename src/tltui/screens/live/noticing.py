"""What goes wrong while a run grows: one remark in the line below, with the key that goes there."""

from __future__ import annotations

from tltui.analyses.news import News, Watch, What
from tltui.analyses.told_once import Numbered, Once
from tltui.commands import BY_ID
from tltui.model.events import Delta, Event
from tltui.model.status import Status, glyph
from tltui.screens.main_screen import MainScreen
from tltui.text import tokens
from tltui.work.scheduler import Steps

WORST = (What.ERROR, What.EAGER, What.LIMIT, What.BREAK)
"""What is worth a remark, the worst first. What happens to the files is told by itself."""
STYLES = {What.ERROR: tokens.ERROR, What.EAGER: tokens.EAGER, What.LIMIT: tokens.EAGER, What.BREAK: tokens.BREAK}
COMMAND = BY_ID["app.news"]


class Noticing:
    """Watches what is taken over once all that was there has been read."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        self._run = bench.trace
        self._watch: Watch | None = None
        self._latest: News | None = None
        """What `L` leads to: the worst that nobody has gone to, else where it led last."""
        self._once = Once(self._run)
        self._new: list[Numbered] = []
        self._unseen: list[News] = []
        self._told: News | None = None
        """What the line below says, until a key is pressed."""

    def begin(self) -> None:
        """All that was there has been read: from now on what comes is news."""
        self._watch = Watch(self._run, quiet=True)

    def take(self, event: Event, delta: Delta) -> None:
        """Something was taken over."""
        if self._watch is not None:
            self._new += [
                self._once.number(news)
                for news in self._watch.take(event, delta)
                if news.what in WORST and news.key is not None
            ]

    def tell(self) -> None:
        """The screen is brought up to date: say the worst of what is new."""
        if not self._new:
            return
        new, self._new = list(self._once.new(self._new)), []
        if not new:
            return
        self._unseen += new
        self._latest = _worst(self._unseen)
        if self._latest is not self._told:
            self._told = self._latest
            self._bench.scheduler.drop(self)
            self._bench.scheduler.do(self._telling(self._latest, len(self._unseen) - 1), owner=self)

    def read(self) -> None:
        """A key was pressed: what the line below says has been read."""
        self._told = None

    def _telling(self, news: News, others: int) -> Steps:
        from tltui.documents.parts.news import told

        yield None
        text = told(self._run, news).text
        self._bench.answer(lambda: self._say(news, text, others))

    def _say(self, news: News, text: str, others: int) -> None:
        ascii_only = self._bench.ascii_only
        status = {What.ERROR: Status.ERROR, What.BREAK: Status.BREAK}.get(news.what, Status.EAGER)
        key = self._bench.key_of(COMMAND.id)
        rank = f"rank {news.rank} " if news.rank is not None and len(self._run.ranks) > 1 else ""
        more = f" (and {others} more)" if others else ""
        said = f"{key} goes to {glyph(status, ascii_only)} {rank}{news.label} {news.name or ''}{more}: {text}"
        self._bench.tell(said, STYLES[news.what])

    def go(self) -> None:
        """To what the last remark was about."""
        from tltui.documents.parts.news import compile_of

        latest = self._latest
        found = compile_of(self._run, latest) if latest is not None else None
        if latest is None or found is None:
            self._bench.tell("nothing went wrong since this was opened")
            return
        self._unseen = [news for news in self._unseen if news.key != latest.key]
        self._latest = _worst(self._unseen) if self._unseen else latest
        self._bench.go(str(found.ref))
        if self._unseen:
            self._bench.tell(f"{self._bench.key_of(COMMAND.id)} goes to the next of {len(self._unseen)} more")


def _worst(news: list[News]) -> News:
    """The worst; of those that are as bad the latest."""
    return min(reversed(news), key=lambda own: WORST.index(own.what))
