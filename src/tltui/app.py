"""The app: keymap and screens wired together, what it survives (faults) and what ends it (signals)."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, ClassVar, NoReturn

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.actions import ActionParseResult
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.message import Message
from textual.message_pump import MessagePump

from tltui.commands import BY_ID, QUIT_KEY, keymap_problems
from tltui.config import Config, read_config
from tltui.crash import CODE, fault_line, last_words, place_of, wants_traceback
from tltui.inputs.archives.cache import remove_own
from tltui.messages import Again, Answer, Undrawn
from tltui.model.run import Run
from tltui.running.job import Job
from tltui.screens import child_processes
from tltui.screens.browser import Browser
from tltui.screens.workbench import AppContext, Workbench, front, say
from tltui.sources.discover import Found, NothingFound
from tltui.terminal.frames import Frames
from tltui.text import tokens
from tltui.text.frozen import frozen
from tltui.text.search.child_process import end_all
from tltui.text.tokens import TRUE
from tltui.widgets.key_input import TypeAhead, Typed
from tltui.widgets.themes import wear
from tltui.work.scheduler import Gate, Scheduler


class QuitKey(App[None]):
    """An app that looks at this key before any binding does."""

    is_left_for_sure = False
    """Whether it was left by this key, which does not lead back to a list of runs."""

    def leave_for_sure(self) -> None:
        """Quit."""
        self.is_left_for_sure = True
        self.exit()

    async def on_event(self, event: events.Event) -> None:
        """Handle an event; the key that always quits never reaches a binding."""
        if isinstance(event, events.Key) and event.key == QUIT_KEY:
            self.leave_for_sure()
        else:
            await super().on_event(event)


OFTEN = 20
"""Faults at one place within `SPAN` seconds after which the app ends as it would have at once."""
SPAN = 2.0

DISPATCH = MessagePump._dispatch_message
"""Textual's own."""


class FaultHandling(App[None]):
    """An app that lives on after a fault."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.faults: list[BaseException] = []
        """What went wrong, the last few."""
        self._fault_times: dict[tuple[str, int], deque[float]] = {}
        self._reported_places: set[tuple[str, int]] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        """Where it runs, once it does."""
        self._is_leaving = False
        self._has_begun = False
        MessagePump._dispatch_message = _dispatch  # type: ignore[method-assign]

    def exit(self, *given: Any, **options: Any) -> None:
        """Exit. Widgets are removed in any order from now on: one that is missing is no fault."""
        self._is_leaving = True
        super().exit(*given, **options)

    def report(self, error: BaseException) -> None:
        """Report a fault that costs only the current operation. Thread-safe."""
        self.faults = [*self.faults[-9:], error]
        sentence = fault_line(error)
        try:
            self.post_message(Answer(lambda: say(self, sentence, tokens.ERROR)))
        except RuntimeError:  # the app is ending
            return

    def on_answer(self, message: Answer) -> None:
        """Apply the result of another thread, whatever screen is in front."""
        message.apply()

    def on_undrawn(self, message: Undrawn) -> None:
        """Report a row that could not be drawn, once: drawing is tried again with each frame."""
        place = place_of(message.error)
        if place not in self._reported_places:
            self._reported_places.add(place)
            self.report(message.error)

    def survives(self, error: BaseException) -> bool:
        """Return whether the app goes on after a fault: not when the same one comes again and again."""
        if self._is_leaving:
            return True
        self._has_begun |= any(isinstance(screen, Workbench) and screen.is_mounted for screen in self.screen_stack)
        if not self._has_begun:
            return False  # there is nothing to live for
        times = self._fault_times.setdefault(place_of(error), deque(maxlen=OFTEN))
        now = time.monotonic()
        times.append(now)
        if len(times) == OFTEN and now - times[0] < SPAN:
            return False
        self.report(error)
        return True

    def _handle_exception(self, error: Exception) -> None:
        """Handle what a timer, a callback or drawing raised; Textual would end the app."""
        if not self.survives(error):
            super()._handle_exception(error)
            self._return_code = CODE

    def panic(self, *renderables: RenderableType) -> None:
        """Exit with an error status after a failure that Textual cannot survive."""
        super().panic(*renderables)
        self._return_code = CODE

    def _fatal_error(self) -> None:
        """Print a short message and exit on the current exception.

        Textual would print it with the values of all variables: texts of the trace.
        """
        error = sys.exc_info()[1] or self._exception
        if error is None or wants_traceback():
            super()._fatal_error()
        else:
            self.panic(Text(last_words(error)))


async def _dispatch(self: MessagePump, message: Message) -> None:
    """Dispatch a message in place of Textual's own method: an error in a handler costs this message, not the loop."""
    try:
        await DISPATCH(self, message)
    except Exception as error:
        app = self.app
        if not isinstance(app, FaultHandling) or not app.survives(error):
            raise


Heard = Callable[[int, "FrameType | None"], Any]
SIGNALS = (signal.SIGTERM, signal.SIGHUP)
STOPS = (signal.SIGTSTP, signal.SIGCONT)
PATIENCE = 2.0
"""Seconds that leaving may take."""
_ON_ITS_WAY = 0.02
"""Seconds for a write of another thread that had begun."""
_MODES = (1000, 1003, 1006, 1015, 1016, 2004, 2048, 1004)
RESET = b"".join(b"\x1b[?%dl" % mode for mode in _MODES) + b"\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"
"""Takes back what Textual may have asked of a terminal."""


class _Leaving:
    """What a signal does while the app runs."""

    def __init__(self, app: FaultHandling) -> None:
        self._app = app
        self._terminal = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
        self._before = _attributes(self._terminal)
        self._code = 0
        self._is_ending = False

    def heard(self, number: int, frame: FrameType | None) -> None:
        """Leave. Runs in the main thread, in between whatever it does."""
        if self._is_ending:
            return
        loop = self._app.loop
        if self._code or loop is None or not self._app.is_running:
            self.at_once(128 + number)
        self._code = 128 + number
        signal.signal(signal.SIGALRM, lambda *_: self.at_once(self._code))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        child_processes.terminate_programs()
        loop.call_soon_threadsafe(lambda: self._app.exit(return_code=self._code))

    def at_once(self, code: int) -> NoReturn:
        """Give the terminal back by hand, and end."""
        self._is_ending = True
        child_processes.terminate_programs()
        end_all()
        remove_own()
        try:
            os.write(_claim_terminal(), RESET)
            if self._before is not None:
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)
        except (OSError, termios.error):  # the terminal is gone: nothing is left to be given back
            pass
        os._exit(code)


class _Stops:
    """What SIGTSTP and SIGCONT do beside what Textual does at them.

    Textual takes every SIGCONT for the end of an orderly stop. Behind SIGSTOP, which nobody hears, and where nothing was stopped,
    it would begin to read keys a second time, and keep the terminal as it is now for what it was before.
    """

    def __init__(self, app: FaultHandling, stopped: Heard, continued: Heard) -> None:
        self._app = app
        self._textual_stopped = stopped
        self._textual_continued = continued
        self._is_stopped = False

    def stopped(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGTSTP (ctrl+z)."""
        self._is_stopped = True
        self._textual_stopped(number, frame)

    def continued(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGCONT."""
        if self._is_stopped:
            self._is_stopped = False
            self._textual_continued(number, frame)
        elif self._app.loop is not None and self._app.is_running and not child_processes.has_terminal():
            self._app.loop.call_soon_threadsafe(self._app.call_later, self._again)

    def _again(self) -> None:
        with self._app.suspend():
            """Given back and taken again: whoever had the terminal meanwhile has left it as he liked."""


def handle_stop_signals(app: FaultHandling) -> None:
    """Install the handlers of SIGTSTP and SIGCONT, once the app has the terminal."""
    stopped, continued = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if callable(stopped) and callable(continued):  # not where there is no terminal
        stops = _Stops(app, stopped, continued)
        signal.signal(signal.SIGTSTP, stops.stopped)
        signal.signal(signal.SIGCONT, stops.continued)


def _claim_terminal() -> int:
    """Return a private file descriptor of the terminal: Textual's thread would ask for modes after `RESET`."""
    terminal, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    time.sleep(_ON_ITS_WAY)
    return terminal


def _attributes(terminal: int) -> list[Any] | None:
    try:
        return termios.tcgetattr(terminal)
    except termios.error:
        return None


@contextmanager
def quitting_on_signals(app: FaultHandling) -> Iterator[None]:
    """Quit on `SIGNALS` while the block runs. Signals that `nohup` ignores stay ignored.

    What the app does at `STOPS` ends with the block as well: otherwise it would stay in memory.
    """
    leaving = _Leaving(app)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    at_stops = {number: signal.getsignal(number) for number in STOPS}
    handled = [number for number in SIGNALS if before[number] is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, leaving.heard)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
        for number, handler in at_stops.items():
            signal.signal(number, handler)


SWITCH_INTERVAL = 0.0005
"""Seconds that the scan thread may hold the interpreter before the UI gets it (measured: worst key 20 ms)."""
NO_KEY = "no_key"
"""A key that nobody can press: Textual uses the defaults for a command without keys."""
WITHOUT_COLOURS = "vt"
"""Prefix of the TERM of terminals without colours."""


class WorkbenchApp(FaultHandling, TypeAhead, QuitKey, Frames):
    """An app whose screens are workbenches."""

    CSS_PATH = "styles.tcss"
    TITLE = "tltui"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, run: Run, config: Config, *, theme: str, ascii_only: bool, typed: Typed | None = None) -> None:
        no_colour = os.environ.pop("NO_COLOR", None)  # Textual would turn everything grey; ours is a theme, `mono`
        super().__init__(ansi_color=theme not in TRUE or None, typed=typed)
        if no_colour is not None:
            os.environ["NO_COLOR"] = no_colour
        wear(self, theme)
        self.animation_level = "none"
        self.scheduler = Scheduler(Gate(run.reading), self.report)
        """Does what no key waits for."""
        self._config = config
        self.set_class(ascii_only, "-ascii")

    def begin(self) -> None:
        """Handle signals and the keys of the config file, once the app has the terminal."""
        self.loop = asyncio.get_running_loop()
        handle_stop_signals(self)
        self.set_keymap({name: ",".join(keys) or NO_KEY for name, keys in self._config.keys.items()})

    def intercepts(self, event: events.Key | events.Paste) -> bool:
        """Pass a key to the open prompt before anything else, except for the key that always quits."""
        bench = front(self)
        is_floor = isinstance(event, events.Key) and event.key == QUIT_KEY
        return bench is not None and not is_floor and bench.prompt.handle_key(event)

    def is_asking(self) -> bool:
        """Return whether the front screen has an open prompt."""
        bench = front(self)
        return bench is not None and bench.prompt.is_open

    def typing(self) -> Callable[[str], None] | None:
        """Return the function that inserts typed text into the open prompt, if it takes text."""
        bench = front(self)
        return bench.prompt.type if bench is not None and bench.prompt.takes_text else None

    def awaits_document(self) -> bool:
        """Return whether the focused pane waits for the document that the last key requested."""
        bench = front(self)
        return bench is not None and bench.awaits_document

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """Run the command of a key; a key without one is answered in the line below."""
        is_bound = await super()._check_bindings(key, priority)
        if not (is_bound or priority) and (bench := front(self)) is not None:
            bench.key_without_command(key)
        return is_bound

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run the action of a key. An internal error costs this key, not the program."""
        try:
            return await super().run_action(action, default_namespace, namespaces)
        except Exception as error:
            self.report(error)
            if action == "quit" or (action == "leave" and default_namespace is self.main_screen):
                self.exit()  # what fails to leave leaves
            elif action in ("leave", "close") and default_namespace is self.screen:
                self.pop_screen()
            return True

    @property
    def main_screen(self) -> Workbench[Any]:
        """The screen below all others."""
        raise NotImplementedError

    def pop_screen(self) -> AwaitComplete:
        """Close the front screen; a repeated key press never closes the main screen."""
        if self.screen is self.main_screen:
            return AwaitComplete()
        return super().pop_screen()

    async def action_quit(self) -> None:
        """Handle Textual's own quit command."""
        self.leave_for_sure()


class TltuiApp(WorkbenchApp):
    """The Textual app of a run."""

    def __init__(
        self, run: Run, config: Config, *, theme: str, ascii_only: bool, mouse: bool, job: Job | None = None,
        typed: Typed | None = None,
    ) -> None:  # fmt: skip
        """Create the app; `typed`: the run was opened from a list of runs, and this was typed since."""
        super().__init__(run, config, theme=theme, ascii_only=ascii_only, typed=typed)
        self._is_of_list = typed is not None
        around = AppContext(run, config, self.scheduler, ascii_only, mouse, job=job, is_of_list=self._is_of_list)
        self.browser = Browser(around, self.report)

    @property
    def is_followed(self) -> bool:
        """Whether leaving leads back to a list of runs."""
        return self._is_of_list and not self.is_left_for_sure and not self.return_code

    @property
    def main_screen(self) -> Browser:
        """The screen below all others."""
        return self.browser

    def on_mount(self) -> None:
        """Show the main screen."""
        self.begin()
        self.browser.fit(self.size.width)
        self.push_screen(self.browser)
        self.take_typed()

    async def on_event(self, event: events.Event) -> None:
        """Handle every event first; a key press means that the user has taken over."""
        is_new = isinstance(event, (events.Key, events.MouseDown)) and not event.is_forwarded
        if is_new and self.browser.is_whole:
            self.browser.user_acts()
        await super().on_event(event)

    def on_again(self, message: Again) -> None:
        """Read everything from the beginning, in a new main screen that replaces this one."""
        old = self.browser
        run = Run(message.discovered)
        run.reading = old.trace.reading  # the gate of the scheduler stays
        self.browser = Browser(replace(old.around, run=run), self.report, old)
        old.is_replaced = True
        self.switch_screen(self.browser)

    def leave_for_sure(self) -> None:
        """Quit on ctrl+q, from help too. If a job question is open, a second press leaves the job running."""
        self.is_left_for_sure = True
        if not self.browser.is_mounted or self.browser.attending.is_asking:
            self.exit()
            return
        try:
            self.browser.attending.leave()
        except Exception as error:
            self.report(error)
            self.exit()

    def action_help_quit(self) -> None:
        """Show how to quit on ctrl+c."""
        self.browser.attending.explain_ctrl_c()


def chosen_theme(option: str | None, config: Config) -> str:
    """Return the theme: the option, else the config, else one that the terminal supports."""
    name = option or config.theme
    if os.environ.get("NO_COLOR") and not option:
        return "mono"
    if name != "auto":
        return name
    term, colors = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    if term.startswith(WITHOUT_COLOURS) and not colors:
        return "mono"
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    is_light = background.isdigit() and int(background) in (7, 15)
    if "256" in term or colors in ("truecolor", "24bit"):
        return "light" if is_light else "dark"
    return "ansi-light" if is_light else "ansi-dark"


@frozen
class UiSettings:
    """The settings of the UI: those of the options, else of the config file, as far as the terminal allows."""

    config: Config
    theme: str
    ascii_only: bool
    mouse: bool


def ui_settings(options: argparse.Namespace) -> UiSettings:
    """Return the settings."""
    config = read_config(BY_ID)
    config = replace(config, problems=(*config.problems, *keymap_problems(config.keys)))
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    ascii_only = config.ascii if options.ascii is None and config.ascii is not None else bool(options.ascii)
    mouse = config.mouse if options.no_mouse is None else False
    return UiSettings(config, chosen_theme(options.theme, config), ascii_only or not encoding.startswith("utf"), mouse)


def start(discovered: Found, options: argparse.Namespace, job: Job | None = None) -> int:
    """Run the UI, with the job that was started for it; return the exit code.

    Raises `NothingFound` if the search ends without a log.
    """
    return _ended(discovered, options, job).return_code or 0


def start_of_list(discovered: Found, options: argparse.Namespace, typed: Typed) -> int | None:
    """Run the UI for a run of a list; return the exit code, None to go back to the list.

    `typed`: what was typed since the run was chosen. Raises `NothingFound` if the search ends without a log.
    """
    app = _ended(discovered, options, typed=typed)
    return app.return_code or (0 if app.is_left_for_sure else None)


def _ended(discovered: Found, options: argparse.Namespace, job: Job | None = None, typed: Typed | None = None) -> TltuiApp:
    """Run the app to its end, and return it."""
    ui = ui_settings(options)
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.disable()  # until the first frame is up: what is made until then stays
    app = TltuiApp(
        Run(discovered), ui.config, theme=ui.theme, ascii_only=ui.ascii_only, mouse=ui.mouse, job=job, typed=typed
    )
    with quitting_on_signals(app):
        app.run(mouse=ui.mouse)
    if app.browser.no_log_reason:
        raise NothingFound(app.browser.no_log_reason)
    return app
