"""A run that grows: new records on the screen at most twice a second, remarks on what goes wrong, profiles read meanwhile."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.timer import Timer

from tltui.commands import BY_ID
from tltui.documents.format import plural
from tltui.messages import Scanned
from tltui.model.follow import Follower
from tltui.model.input_joining import REST, JoinResult
from tltui.model.process_evidence import Steps as JoinSteps
from tltui.model.run import Added, Delta, Event, Lost, Nothing, Unreadable, settle_joined
from tltui.model.status import Status, glyph
from tltui.questions.news.run_news import News, NewsKind, Numbered, Once, Watch
from tltui.screens.main_screen import MainScreen
from tltui.screens.workbench import PanesScreen
from tltui.sources.discover import Discovery, FoundLog
from tltui.text import formatting, tokens
from tltui.trace.files import NO_LONGER
from tltui.tree.header import QUIET, Live, Silent, silence
from tltui.work.reader_threads import Scan
from tltui.work.scheduler import SLICE, Place, Steps, Task

if TYPE_CHECKING:
    from tltui.questions.runtime.profile_results import Refused

WORST = (NewsKind.ERROR, NewsKind.EAGER, NewsKind.LIMIT, NewsKind.BREAK)
"""What is worth a remark, the worst first. What happens to the files is told by itself."""
STYLES = {NewsKind.ERROR: tokens.ERROR, NewsKind.EAGER: tokens.EAGER, NewsKind.LIMIT: tokens.EAGER, NewsKind.BREAK: tokens.BREAK}
COMMAND = BY_ID["app.news"]


class Remarks:
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
        self._shown: News | None = None
        """What the line below says, until a key is pressed."""

    def begin(self) -> None:
        """Watch for news from now on: everything initially present has been read."""
        self._watch = Watch(self._run, quiet=True)

    def add(self, event: Event, delta: Delta) -> None:
        """Add the news of an event."""
        if self._watch is not None:
            self._new += [
                self._once.number(news)
                for news in self._watch.read_event(event, delta)
                if news.kind in WORST and news.key is not None
            ]

    def announce(self) -> None:
        """Show the worst of the new news."""
        if not self._new:
            return
        new, self._new = list(self._once.new(self._new)), []
        if not new:
            return
        self._unseen += new
        self._latest = _worst(self._unseen)
        if self._latest is not self._shown:
            self._shown = self._latest
            self._bench.scheduler.drop(self)
            self._bench.scheduler.do(self._describe(self._latest, len(self._unseen) - 1), owner=self)

    def read(self) -> None:
        """Note that the shown message has been read."""
        self._shown = None

    def _describe(self, news: News, others: int) -> Steps:
        from tltui.questions.news.news_sections import sentence_of

        yield None
        text = sentence_of(self._run, news).text
        self._bench.answer(lambda: self._say(news, text, others))

    def _say(self, news: News, text: str, others: int) -> None:
        ascii_only = self._bench.ascii_only
        status = {NewsKind.ERROR: Status.ERROR, NewsKind.BREAK: Status.BREAK}.get(news.kind, Status.EAGER)
        key = self._bench.key_of(COMMAND.id)
        rank = f"rank {news.rank} " if news.rank is not None and len(self._run.ranks) > 1 else ""
        more = f" (and {others} more)" if others else ""
        sentence = f"{key} goes to {glyph(status, ascii_only)} {rank}{news.label} {news.name or ''}{more}: {text}"
        self._bench.show_message(sentence, STYLES[news.kind])

    def go(self) -> None:
        """Go to the compile of the last message."""
        from tltui.questions.news.news_sections import compile_of

        latest = self._latest
        compile_ = compile_of(self._run, latest) if latest is not None else None
        if latest is None or compile_ is None:
            self._bench.show_message("no new problems since the trace was opened")
            return
        self._unseen = [news for news in self._unseen if news.key != latest.key]
        self._latest = _worst(self._unseen) if self._unseen else latest
        self._bench.go(str(compile_.ref))
        if self._unseen:
            self._bench.show_message(f"{self._bench.key_of(COMMAND.id)} goes to the next problem; {len(self._unseen)} left")


def _worst(news: list[News]) -> News:
    """Return the worst news, of equally bad ones the latest."""
    return min(reversed(news), key=lambda entry: WORST.index(entry.kind))


SOON = 0.5
"""Seconds after which it is told how far it is, and between two such remarks."""


FIRST_ROWS = 1.0
"""Seconds after which the first rows of a profile are shown that takes longer."""


class ProfileReading:
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
        self._bench.show_message(f"profile not read yet; press {self._bench.key_of('app.read_again')} to read it")
        return True

    def _steps(self) -> Steps:
        from tltui.questions.runtime.profile_results import Refused
        from tltui.questions.runtime.profile_sums import first_rows, preparing, runtimes_of  # few runs have a profile

        run = self._run
        began_s = reported_s = time.monotonic()
        for part in run.profiles.steps():
            if run.profiles.first is None and run.profiles.reading is not None and time.monotonic() - began_s >= FIRST_ROWS:
                run.profiles.first = first_rows(run.profiles.reading)
                self._bench.answer(self._show_first)
            if time.monotonic() - reported_s >= SOON:
                reported_s = time.monotonic()
                self._bench.answer(partial(self._report_progress, part))
            yield None
        self._bench.answer(self._report_joining)
        for _ in preparing(run):
            yield None
        yield Place.NODES  # what follows reads nodes
        profiles = runtimes_of(run)
        self._bench.answer(partial(self._read, tuple(one for one in profiles if isinstance(one, Refused)), len(profiles)))

    def _show_first(self) -> None:
        if self.is_reading and not self._is_stopped:
            self._run.version += 1
            self._bench.run_changed(False, False)

    def _report_progress(self, part: float) -> None:
        if self.is_reading and not self._is_stopped:  # a stopped task goes on to the end of its slice
            names = [file.export.name for file in self._run.profiles.unread]
            profile = formatting.path(names[0], 60) if len(names) == 1 else plural(len(names), "profile")
            self._bench.show_message(f"reading {profile} … {part:.0%}", tokens.DIM)

    def _report_joining(self) -> None:
        if self.is_reading and not self._is_stopped:
            self._bench.show_message("joining the profile with the trace …", tokens.DIM)

    def _read(self, refused: tuple[Refused, ...], count: int) -> None:
        """Update the screens after reading profiles."""
        self._run.version += 1
        if refused:
            self._bench.show_message(f"{formatting.path(refused[0].profile, 60)}: {refused[0].reason}", tokens.WARN)
        else:
            self._bench.show_message(f"{plural(count, 'profile')} read", tokens.DIM)
        self._bench.run_changed(False, False)
        self._bench.name_panes()
        for screen in self._bench.app.screen_stack:
            if isinstance(screen, PanesScreen):
                screen.profiles_read()


REDRAW = 0.5
"""Seconds between two redraws."""
AGAIN = 0.005
"""Seconds after which the UI thread asks again for the run, which is being read."""
YOUNG = 60.0
"""A log that was written to so many seconds before it was opened is followed."""
CLOCK = 5.0
"""Seconds between two looks at how long nothing has come."""


class LiveUpdates:
    """Takes over what the scan finds. All of it on the UI thread."""

    def __init__(
        self,
        bench: MainScreen,
        faulted: Callable[[BaseException], object],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        before: LiveUpdates | None = None,
    ) -> None:
        """Create the updates; `before`: those that this one replaces to read everything again."""
        self._bench = bench
        self._faulted = faulted
        self._run = bench.trace
        self._clock = clock
        self._waiting: deque[tuple[Event | None, ...]] = deque()
        discovered = self._run.discovered
        discovery = None if discovered.is_over else discovered.discovery or Discovery(discovered.paths)
        follower = Follower(self._run, discovery, faulted=faulted)
        self._scan = Scan(follower, lambda events: bench.post_message(Scanned(events)), faulted, self._say_grown)
        self._drawn = 0.0
        self._drawing: Timer | None = None
        self._joining: Task | None = None
        self._can_join = True
        self._ticking: Timer | None = None
        self._is_new = False
        self._is_read = False
        """Everything that was there in the beginning has been read, and is shown."""
        self._is_whole = self._is_last = False
        self._grown = False
        self._was_live: bool = before is not None and before._was_live
        self.remark = ""
        self._now = now
        ages = {log.name: self._age(log) for log in discovered.logs}
        self._last = {number: clock() - ages.get(model.log.path, 0.0) for number, model in enumerate(self._run.models)}
        """When a record last came, by the number of the log."""
        self._is_asked = before is not None  # whether to follow is decided: the logs that were found later do not matter
        self._follows: bool = self._is_young() if before is None else not discovered.is_over and before._follows
        self._asked_for: list[tuple[frozenset[str], Callable[[], object]]] = []
        self.noticing = Remarks(bench)
        self.profiling = ProfileReading(bench)
        self._inside: dict[int, str] = {}
        """What the processes of silent logs are inside of, by the number of the log; '' of one that has nothing open."""

    # beginning and end

    def start(self) -> None:
        """Begin to read."""
        self._scan.follow(self._follows)
        self._scan.start()
        self._tick()

    def stop(self) -> None:
        """Read no more."""
        self._scan.stop()

    def _age(self, log: FoundLog) -> float:
        return max(self._now() - log.ended, 0.0)

    def _is_young(self) -> bool:
        """Return whether the job may be running, by the age of its logs."""
        discovered = self._run.discovered
        return not discovered.is_over and (not discovered.logs or min(map(self._age, discovered.logs)) < YOUNG)

    def toggle(self) -> None:
        """Follow, or do not."""
        self._follows, self._is_asked = not self._follows, True
        self._grown = False
        self._scan.follow(self._follows)
        if self._follows and self._run.finished and self._is_read:
            self._bench.show_message("following; all logs are complete, but new ones may appear")
        else:
            self._bench.show_message("following the job's logs" if self._follows else "stopped following")
        self._bench.say_run()
        self._tick()

    def read_also(self, logs: Sequence[FoundLog], then: Callable[[], object]) -> None:
        """Read logs that were left out; then, when they are in the tree, do something."""
        self._asked_for.append((frozenset(log.name for log in logs), then))
        self._scan.want(logs)

    # what comes

    def take_over(self, events: tuple[Event | None, ...]) -> None:
        """Take over what was read; None among it: all that was there has been read."""
        self._waiting.append(events)
        self._go_on()

    def _go_on(self) -> None:
        """Apply waiting events, a little later while a task reads the run."""
        while self._waiting:
            with self._bench.scheduler.gate.at_once() as may:
                events = self._waiting.popleft() if may else ()
                for event in events:
                    try:
                        if event is not None:
                            self._apply(event)
                    except Exception as error:  # it costs this batch: those behind it are waited for
                        self._faulted(error)
            if not may:
                self._bench.set_timer(AGAIN, self._go_on)
                return
            self._scan.applied()
            is_read, is_all = self._run.is_read, None in events
            is_whole, self._is_whole = is_read and not self._is_whole, is_read or self._is_whole
            if is_all or is_whole or self._are_there():
                self._is_last |= is_all
                self._draw()
            else:
                self._draw_soon()

    def _apply(self, event: Event) -> None:
        if isinstance(event, Nothing):
            self._bench.exit_without_log(event.reason)
            return
        number = getattr(event, "log", -1)
        before = len(self._run.models[number].log) if number >= 0 else 0
        delta = self._run.update(event)
        self._is_new |= delta.new
        if isinstance(event, Added) and not self._is_read:
            self._last[len(self._run.models) - 1] = self._clock() - self._age(event.entry)
        if number >= 0 and len(self._run.models[number].log) > before and self._is_read:
            self._last[number] = self._clock()
            self._inside.pop(number, None)
            self._was_live = True
        if not self._asked_for:  # what was there before is no news
            self.noticing.add(event, delta)
        if self._is_read:
            self._report_file_event(event)

    def _report_file_event(self, event: Event) -> None:
        """Show a message on a changed or unreadable file, with the key that reads it again."""
        if isinstance(event, Lost) or (isinstance(event, Unreadable) and event.reason):
            why = event.reason.removeprefix(NO_LONGER)
            self._bench.show_message(f"log changed; press ctrl+r to read it again: {why} · {self._whose(event.log)}", tokens.WARN)

    def _whose(self, number: int) -> str:
        model = self._run.models[number]
        processes = model.processes
        name = os.path.basename(model.log.path)
        several = len(self._run.ranks) > 1
        return f"rank {processes[0].rank}: {name}" if several and processes and processes[0].rank is not None else name

    def _are_there(self) -> list[tuple[frozenset[str], Callable[[], object]]]:
        """Return the requests whose logs have been read."""
        if not self._asked_for:
            return []
        read = {model.log.path for model in self._run.models if model.log.ended or model.log.waiting}
        return [wish for wish in self._asked_for if wish[0] <= read]

    def _draw_soon(self) -> None:
        """Schedule a redraw, at most twice a second."""
        left = REDRAW - (self._clock() - self._drawn)
        if left <= 0:
            self._draw()
        elif self._drawing is None:
            self._drawing = self._bench.set_timer(left, self._draw)

    def _draw(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        with self._bench.scheduler.gate.at_once() as may:
            if may:
                self._drawn = self._clock()
                is_joined = not (self._run.is_read and (self._is_new or self._is_last)) or self._join()
                first = is_joined and self._is_last and not self._is_read
                self._is_read |= first
                if first and not self._is_asked and self._follows != self._is_young():
                    self._follows = not self._follows
                    self._scan.follow(self._follows)
                is_new, self._is_new = self._is_new, is_joined and self._run.joining.is_behind
        if not may or self._is_new:
            self._drawing = self._bench.set_timer(REST if may else AGAIN, self._draw)
        if not may:
            return
        self._bench.run_changed(is_new, first)
        for wish in self._are_there():
            self._asked_for.remove(wish)
            wish[1]()
        if first:
            self.noticing.begin()
        self.noticing.announce()
        if self._is_read:
            self.profiling.begin()

    def _join(self) -> bool:
        """Join the inputs of each process; return whether that is done. What takes longer than a slice is left to the scheduler."""
        if self._joining is not None and not self._joining.ended.is_set():
            return False
        if not self._can_join:
            return True
        steps, end = self._run.join(), time.monotonic() + SLICE
        try:
            next(steps)  # ends here if nothing has changed, however busy the machine is: else each join would lead to the next
            while time.monotonic() < end:
                next(steps)
        except StopIteration as done:
            settle_joined(self._run, done.value)
            return True
        self._joining = self._bench.scheduler.do(self._join_further(steps), owner=self, fault=self._not_joined)
        return False

    def _join_further(self, steps: JoinSteps[JoinResult | None]) -> Steps:
        result: JoinResult | None = None
        while True:
            try:
                next(steps)
            except StopIteration as done:
                result = done.value
                break
            except BaseException:
                self._can_join = False  # before the task ends: the next attempt would fail as well
                raise
            yield None
        self._bench.answer(partial(self._joined, result))

    def _not_joined(self, error: BaseException) -> None:
        """Report an error, and show the inputs as they are."""
        self._faulted(error)
        self._bench.answer(partial(self._joined, None))

    def _joined(self, result: JoinResult | None) -> None:
        """Show the joined processes, a little later while a task reads the run."""
        with self._bench.scheduler.gate.at_once() as may:
            if may:
                settle_joined(self._run, result)
        if not may:
            self._bench.set_timer(AGAIN, partial(self._joined, result))
            return
        self._is_new = True
        self._draw()

    def _say_grown(self) -> None:
        """Show that files have grown while they are not followed; runs on the reading thread."""

        def say() -> None:
            self._grown = True
            self._bench.say_run()

        self._bench.answer(say)

    # how it stands

    def live(self) -> Live:
        """Return the state for the line above."""
        quiet = self._quiet()
        silent = self._silent(quiet)
        return Live(
            follows=self._follows,
            grown=self._grown,
            quiet=bool(quiet) and min(quiet.values()) >= QUIET,
            silent=silent,
            was_live=self._was_live,
            remark=self.remark,
        )

    def _quiet(self) -> dict[int, float]:
        """Return the seconds without a record of each log that has not ended."""
        now = self._clock()
        return {n: now - self._last.setdefault(n, now) for n, model in enumerate(self._run.models) if not model.log.ended}

    def _silent(self, quiet: dict[int, float]) -> Silent | None:
        long = {number: seconds for number, seconds in quiet.items() if silence(seconds)}
        from tltui.model.ref import ranges

        # those with nothing open train, or wait for the others: that is no news
        busy = {number: seconds for number, seconds in long.items() if self._inside.get(number)}
        if not busy:
            return None
        ranks = {process.rank for number in busy for process in self._run.models[number].processes if process.rank is not None}
        who = ""
        if len(self._run.models) > 1:
            who = f"rank{'s' * (len(ranks) > 1)} {ranges(ranks)}" if ranks else plural(len(busy), "process", "processes")
        inside = {self._inside[number] for number in busy}
        return Silent(who, silence(min(busy.values())), inside.pop() if len(inside) == 1 else "a compile")

    def _look_inside(self, numbers: list[int]) -> Steps:
        """Find out what the processes of some logs are in the middle of."""
        from tltui.questions.hang.open_phases import inside

        phases = {}
        for number in numbers:
            open_now = [one for process in self._run.models[number].processes if (one := inside(process)) is not None]
            phases[number] = open_now[0].trail if open_now else ""
            yield None

        def store() -> None:
            self._inside |= phases
            self._bench.say_run()

        self._bench.answer(store)

    def _tick(self) -> None:
        """Look at the clock now and then: the line above changes when nothing has come for long, and only then."""
        if self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        if self._run.finished and self._is_read:
            return
        self._ticking = self._bench.set_timer(CLOCK, self._tick)
        if not self._is_read:
            return
        self._was_live = True  # it was said to go on, without a record too: its end is worth saying
        new = [number for number, seconds in self._quiet().items() if silence(seconds) and number not in self._inside]
        if new:
            self._inside |= dict.fromkeys(new, "")
            self._bench.scheduler.do(self._look_inside(new), owner=self)
        self._bench.say_run()
