"""The key that always quits, whatever the config file says, whichever screen is in front."""

from __future__ import annotations

from textual import events
from textual.app import App

from tltui.keymap import FLOOR


class Floor(App[None]):
    """An app that looks at this key before any binding does."""

    def leave_for_sure(self) -> None:
        """The key was pressed."""
        self.exit()

    async def on_event(self, event: events.Event) -> None:
        """Every event comes through here, keys in turn."""
        if isinstance(event, events.Key) and event.key == FLOOR:
            self.leave_for_sure()
        else:
            await super().on_event(event)
