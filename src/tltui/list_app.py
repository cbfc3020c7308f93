"""The app of a list of runs. Choosing a run ends it; the app of the run (`tltui.app`) comes next, and then the list again."""

from __future__ import annotations

import argparse
import gc
import sys

from textual import events

from tltui.app import SWITCH_INTERVAL, UiSettings, WorkbenchApp, quitting_on_signals, ui_settings
from tltui.model.run import Run
from tltui.screens.run_list import RunChoice, RunListScreen
from tltui.screens.workbench import AppContext
from tltui.sources.discover import Found
from tltui.terminal.driver import forget_parsers


class RunListApp(WorkbenchApp):
    """The Textual app of a list of runs."""

    def __init__(self, choice: RunChoice, ui: UiSettings) -> None:
        run = Run(Found((choice.directory,), (), ()))  # without logs: those of a run are opened by its own app
        super().__init__(run, ui.config, theme=ui.theme, ascii_only=ui.ascii_only, typed=choice.typed)
        self.list_screen = RunListScreen(AppContext(run, ui.config, self.scheduler, ui.ascii_only, ui.mouse), choice, self.report)

    @property
    def main_screen(self) -> RunListScreen:
        """The screen below all others."""
        return self.list_screen

    @property
    def is_followed(self) -> bool:
        """Whether the app of a run comes next."""
        return self.list_screen.choice.is_made

    def on_mount(self) -> None:
        """Show the list."""
        self.begin()
        self.push_screen(self.list_screen)
        self.take_typed()

    async def on_event(self, event: events.Event) -> None:
        """Handle every event first: a message in the line below ends with the next key, and the list moves no more by itself."""
        if isinstance(event, (events.Key, events.MouseDown, events.MouseScrollDown, events.MouseScrollUp)):
            self.list_screen.is_at_start = False
        is_new = isinstance(event, (events.Key, events.MouseDown)) and not event.is_forwarded
        if is_new and self.list_screen.is_whole:
            self.list_screen.status.quiet()
        await super().on_event(event)

    def action_help_quit(self) -> None:
        """Show how to quit on ctrl+c."""
        self.list_screen.show_message("q quits tltui; y copies")


def free_run() -> None:
    """Free the memory of a run whose app has ended."""
    forget_parsers()
    gc.unfreeze()  # the app froze what there was at its first frame
    gc.collect()


def choose_run(choice: RunChoice, options: argparse.Namespace) -> int:
    """Show a list until a run is chosen or the list is left; return the exit code. The run that was chosen last is read again."""
    ui = ui_settings(options)
    sys.setswitchinterval(SWITCH_INTERVAL)
    app = RunListApp(choice, ui)
    choice.is_made = False
    if choice.chosen:
        choice.unread = [choice.chosen, *(name for name in choice.unread if name != choice.chosen)]
    with quitting_on_signals(app):
        app.run(mouse=ui.mouse)
    return app.return_code or 0
