"""The app: keymap and screens wired together."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.actions import ActionParseResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.dom import DOMNode

from tltui.commands import BY_ID, QUIT_KEY, keymap_problems
from tltui.config import Config, read_config
from tltui.messages import Again
from tltui.model.run import Run
from tltui.running.job import Job
from tltui.screens.browser import Browser
from tltui.screens.faults_and_signals import FaultHandling, QuitKey, handle_stop_signals, quitting_on_signals
from tltui.screens.workbench import AppContext, front
from tltui.sources.discover import Found, NothingFound
from tltui.terminal.frames import Frames
from tltui.text.tokens import TRUE
from tltui.widgets.key_input import TypeAhead
from tltui.widgets.looks import wear
from tltui.work.scheduler import Gate, Scheduler

SWITCH_INTERVAL = 0.0005
"""Seconds that the scan thread may hold the interpreter before the UI gets it (measured: worst key 20 ms)."""
NO_KEY = "no_key"
"""A key that nobody can press: Textual uses the defaults for a command without keys."""
WITHOUT_COLOURS = "vt"
"""Prefix of the TERM of terminals without colours."""


class TltuiApp(FaultHandling, TypeAhead, QuitKey, Frames):
    """The Textual app."""

    CSS_PATH = "styles.tcss"
    TITLE = "tltui"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self, run: Run, config: Config, *, theme: str, ascii_only: bool, mouse: bool, job: Job | None = None
    ) -> None:
        no_colour = os.environ.pop("NO_COLOR", None)  # Textual would turn everything grey; ours is a theme, `mono`
        super().__init__(ansi_color=theme not in TRUE or None)
        if no_colour is not None:
            os.environ["NO_COLOR"] = no_colour
        wear(self, theme)
        self.animation_level = "none"
        self.scheduler = Scheduler(Gate(run.reading), self.report)
        """Does what no key waits for."""
        self.browser = Browser(AppContext(run, config, self.scheduler, ascii_only, mouse, job=job), self.report)
        self._config = config
        self.set_class(ascii_only, "-ascii")

    def on_mount(self) -> None:
        """Show the main screen."""
        self.loop = asyncio.get_running_loop()
        handle_stop_signals(self)
        self.set_keymap({name: ",".join(keys) or NO_KEY for name, keys in self._config.keys.items()})
        self.browser.fit(self.size.width)
        self.browser.fit(self.size.width)
        self.push_screen(self.browser)

    async def on_event(self, event: events.Event) -> None:
        """Handle every event first; a key press means that the user has taken over."""
        is_new = isinstance(event, (events.Key, events.MouseDown)) and not event.is_forwarded
        if is_new and self.browser.is_whole:
            self.browser.user_acts()
        await super().on_event(event)

    def intercepts(self, event: events.Key | events.Paste) -> bool:
        """Pass a key to the open prompt before anything else, except for the key that always quits."""
        bench = front(self)
        is_floor = isinstance(event, events.Key) and event.key == QUIT_KEY
        return bench is not None and not is_floor and bench.prompt.take(event)

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

    def on_again(self, message: Again) -> None:
        """Read everything from the beginning, in a new main screen that replaces this one."""
        old = self.browser
        run = Run(message.discovered)
        run.reading = old.trace.reading  # the gate of the scheduler stays
        self.browser = Browser(replace(old.around, run=run), self.report, old)
        old.is_replaced = True
        self.switch_screen(self.browser)

    def pop_screen(self) -> AwaitComplete:
        """Close the front screen; a repeated key press never closes the main screen."""
        if self.screen is self.browser:
            return AwaitComplete()
        return super().pop_screen()

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
            if action == "quit" or (action == "leave" and default_namespace is self.browser):
                self.exit()  # what fails to leave leaves
            elif action in ("leave", "close") and default_namespace is self.screen:
                self.pop_screen()
            return True

    def leave_for_sure(self) -> None:
        """Quit on ctrl+q, from help too. If a job question is open, a second press leaves the job running."""
        if not self.browser.is_mounted or self.browser.attending.is_asking:
            self.exit()
            return
        try:
            self.browser.attending.leave()
        except Exception as error:
            self.report(error)
            self.exit()

    async def action_quit(self) -> None:
        """Handle Textual's own quit command."""
        self.leave_for_sure()

    def action_help_quit(self) -> None:
        """Show how to quit on ctrl+c."""
        self.browser.attending.tell_ctrl_c()


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


def start(found: Found, options: argparse.Namespace, job: Job | None = None) -> int:
    """Run the UI, with the job that was started for it; return the exit code.

    Raises `NothingFound` if the search ends without a log.
    """
    config = read_config(BY_ID)
    config = replace(config, problems=(*config.problems, *keymap_problems(config.keys)))
    theme = chosen_theme(options.theme, config)
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    ascii_only = config.ascii if options.ascii is None and config.ascii is not None else bool(options.ascii)
    ascii_only = ascii_only or not encoding.startswith("utf")
    mouse = config.mouse if options.no_mouse is None else False
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.disable()  # until the first frame is up: what is made until then stays
    app = TltuiApp(Run(found), config, theme=theme, ascii_only=ascii_only, mouse=mouse, job=job)
    with quitting_on_signals(app):
        app.run(mouse=mouse)
    if app.browser.nothing:
        raise NothingFound(app.browser.nothing)
    return app.return_code or 0
