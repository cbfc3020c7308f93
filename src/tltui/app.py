"""The app: themes, keymap and screens wired together."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from textual import events
from textual.actions import ActionParseResult
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.theme import Theme

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
from tltui.text.tokens import ANSI, COLOURS, COLUMNS, PLAIN, TRUE
from tltui.widgets.key_input import TypeAhead
from tltui.work.scheduler import Gate, Scheduler

NAMES = (*TRUE, *ANSI, "mono")

LOOKS: dict[str, tuple[str, str, str]] = {
    "bar-look": ("none", "reverse", "reverse"),
    "cursor-look": ("none", "reverse", "reverse"),
    "cursor-away-look": ("none", "underline", "underline"),
    "number-cursor-look": ("bold", "bold", "bold"),
    "dim-look": ("none", "dim", "dim"),
    "focus-look": ("bold", "bold reverse", "bold reverse"),
    "selection-look": ("none", "none", "bold reverse"),
    "hit-look": ("none", "not reverse", "bold underline"),
    "hit-current-look": ("bold", "bold not reverse", "bold reverse underline"),
    "match-look": ("none", "bold", "bold"),
    "pinned-look": ("none", "bold underline", "bold underline"),
    "band-look": ("none", "none", "bold"),
    "match-mark-look": ("bold", "bold", "reverse"),
    "keyword-look": ("none", "none", "bold"),
    "function-look": ("none", "bold", "none"),
    "other-look": ("none", "dim", "dim"),
}
"""Name → the `text-style` in the first three, in the `ansi` ones, in `mono`."""

_SHADED = ("primary", "secondary", "background", "primary-background", "secondary-background", "foreground", "panel", "boost",
           "surface", "warning", "error", "success", "accent")  # fmt: skip
_SHADES = ("darken-1", "darken-2", "darken-3", "lighten-1", "lighten-2", "lighten-3", "muted")
_TEXTUAL = {
    "text": "ink", "text-muted": "dim", "text-disabled": "dim", "text-primary": "accent", "text-secondary": "accent",
    "text-accent": "accent", "text-success": "tok-ok", "text-warning": "tok-break", "text-error": "tok-error",
    "primary": "accent", "secondary": "accent", "accent": "accent", "success": "tok-ok", "warning": "tok-break",
    "error": "tok-error", "foreground": "ink", "foreground-muted": "dim", "foreground-disabled": "dim", "background": "page",
    "surface": "page", "surface-active": "cursor-away", "panel": "bar", "boost": "page", "primary-background": "page",
    "secondary-background": "page", "border": "rule-focus", "border-blurred": "rule",
    "block-cursor-foreground": "cursor-ink", "block-cursor-background": "cursor", "block-cursor-blurred-foreground": "cursor-ink",
    "block-cursor-blurred-background": "cursor", "block-hover-background": "cursor-away",
    "input-cursor-background": "ink", "input-cursor-foreground": "page",
    "input-selection-background": "selection", "input-selection-foreground": "selection-ink",
    "screen-selection-background": "selection", "screen-selection-foreground": "selection-ink",
    "scrollbar": "rule", "scrollbar-hover": "rule", "scrollbar-active": "rule", "scrollbar-background": "page",
    "scrollbar-background-hover": "page", "scrollbar-background-active": "page", "scrollbar-corner-color": "page",
    "link-background": "page", "link-background-hover": "page", "link-color": "tok-link", "link-color-hover": "tok-link",
    "footer-foreground": "ink", "footer-background": "bar", "footer-key-foreground": "accent", "footer-key-background": "bar",
    "footer-description-foreground": "ink", "footer-description-background": "bar", "footer-item-background": "bar",
    "button-foreground": "ink", "button-color-foreground": "ink", "ansi-background": "page", "ansi-foreground": "ink",
    **{f"markdown-h{level}-color": "tok-heading" for level in range(1, 7)},
    **{f"markdown-h{level}-background": "page" for level in range(1, 7)},
}  # fmt: skip
"""What Textual and its own widgets call what we have a name for."""
_TEXTUAL_LOOKS = {
    "block-cursor-text-style": "cursor-look", "block-cursor-blurred-text-style": "cursor-look",
}  # fmt: skip
_TEXTUAL_FIXED = {
    "link-style": "underline", "link-style-hover": "bold", "button-focus-text-style": "bold reverse",
    **{f"markdown-h{level}-text-style": "bold" for level in range(1, 7)},
}  # fmt: skip


@lru_cache
def variables(name: str) -> dict[str, str]:
    """What every `$name` of the style sheets, ours and Textual's, is in a theme."""
    column = COLUMNS.index(name) if name in COLUMNS else -1
    ours = {key: row[column] if column >= 0 else PLAIN for key, row in COLOURS.items()}
    kind = 0 if name in TRUE else 1 if name in ANSI else 2
    looks = {key: row[kind] for key, row in LOOKS.items()}
    textual = {key: ours[source] for key, source in _TEXTUAL.items()}
    shades = {f"{key}-{shade}": textual[key] for key in _SHADED for shade in _SHADES if f"{key}-{shade}" not in textual}
    shades |= {f"{key}-muted": ours["cursor-away"] for key in ("primary", "secondary", "accent", "warning", "error", "success")}
    cursor = {"input-cursor-text-style": "none" if kind == 0 else "reverse"}
    more = {key: looks[source] for key, source in _TEXTUAL_LOOKS.items()}
    return {**shades, **textual, **ours, **looks, **more, **cursor, **_TEXTUAL_FIXED}


def theme(name: str) -> Theme:
    """One of `NAMES`."""
    known = variables(name)
    return Theme(
        name, primary=known["primary"], secondary=known["secondary"], warning=known["warning"], error=known["error"],
        success=known["success"], accent=known["accent"], foreground=known["foreground"], background=known["background"],
        surface=known["surface"], panel=known["panel"], boost=known["boost"], dark="light" not in name, variables=known,
        ansi=name not in TRUE,
    )  # fmt: skip


def wear(app: App[Any], name: str) -> None:
    """Let an app look like a theme from its first frame on: called before it runs, its style sheets are read once."""
    for each in NAMES:
        app.register_theme(theme(each))
    app.set_reactive(App.theme, name)
    app.stylesheet.set_variables(app.get_css_variables())


SWITCH_INTERVAL = 0.0005
"""Seconds that the scan thread may hold the interpreter before the UI gets it (measured: worst key 20 ms)."""
NO_KEY = "no_key"
"""What nobody can press: to Textual a command of a keymap without keys has its defaults."""
WITHOUT_COLOURS = "vt"
"""How the TERM of a terminal begins that has none."""


class TltuiApp(FaultHandling, TypeAhead, QuitKey, Frames):
    """The program."""

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

    def on_mount(self) -> None:
        """Everything is in place: show the main screen."""
        self.loop = asyncio.get_running_loop()
        handle_stop_signals(self)
        self.set_class(self.browser.ascii_only, "-ascii")
        self.set_keymap({name: ",".join(keys) or NO_KEY for name, keys in self._config.keys.items()})
        self.push_screen(self.browser)

    async def on_event(self, event: events.Event) -> None:
        """Every event comes through here; a key means that the user has taken over."""
        is_new = isinstance(event, (events.Key, events.MouseDown)) and not event.is_forwarded
        if is_new and self.browser.is_whole:
            self.browser.user_acts()
        await super().on_event(event)

    def intercepts(self, event: events.Key | events.Paste) -> bool:
        """What is asked gets the keys before anything else, but for the one that always quits."""
        bench = front(self)
        is_floor = isinstance(event, events.Key) and event.key == QUIT_KEY
        return bench is not None and not is_floor and bench.prompt.take(event)

    def is_asking(self) -> bool:
        """Whether the screen in front asks something."""
        bench = front(self)
        return bench is not None and bench.prompt.is_open

    def typing(self) -> Callable[[str], None] | None:
        """Insert typed text into the line of what is asked, where that is a text."""
        bench = front(self)
        return bench.prompt.type if bench is not None and bench.prompt.takes_text else None

    def awaits_document(self) -> bool:
        """Whether what the last key asked for is being made for the pane that has the focus."""
        bench = front(self)
        return bench is not None and bench.awaits_document

    def on_again(self, message: Again) -> None:
        """Everything is read from its beginning: by a main screen of its own, in the place of this one."""
        old = self.browser
        run = Run(message.found)
        run.reading = old.trace.reading  # the gate of the scheduler stays
        self.browser = Browser(replace(old.around, run=run), self.report, old)
        old.is_replaced = True
        self.switch_screen(self.browser)

    def pop_screen(self) -> AwaitComplete:
        """Close the screen in front. A second key that closes what is closed already leaves the main screen where it is."""
        if self.screen is self.browser:
            return AwaitComplete()
        return super().pop_screen()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Every key comes through here. A fault of ours costs this key, not the program."""
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
        """ctrl+q: leave, from help too. Where that asks about a job, pressed again leaves it running."""
        if not self.browser.is_mounted or self.browser.attending.is_asking:
            self.exit()
            return
        try:
            self.browser.attending.leave()
        except Exception as error:
            self.report(error)
            self.exit()

    async def action_quit(self) -> None:
        """Textual's own command."""
        self.leave_for_sure()

    def action_help_quit(self) -> None:
        """ctrl+c: say how to leave."""
        self.browser.attending.tell_ctrl_c()


def chosen_theme(asked: str | None, config: Config) -> str:
    """The theme: what was asked for, else the config's, else what the terminal can do."""
    name = asked or config.theme
    if os.environ.get("NO_COLOR") and not asked:
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
    """Run the UI, with a job that was started for it; the exit code. Raises `NothingFound` where that turns out then."""
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
