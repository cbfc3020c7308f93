"""What is private in Textual and used for the terminal is there, and as it was."""

from __future__ import annotations

import inspect

from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region


def test_frames() -> None:
    """`terminal/frames.py` takes them from here."""
    assert list(inspect.signature(App._display).parameters) == ["self", "screen", "renderable"]
    assert list(inspect.signature(ChopsUpdate).parameters) == ["chops", "spans", "chop_ends"]
    assert list(inspect.signature(LayoutUpdate).parameters) == ["strips", "region"]
    assert set(vars(ChopsUpdate([], [], []))) == {"chops", "spans", "chop_ends"}
    assert set(vars(LayoutUpdate([], Region(0, 0, 1, 1)))) == {"strips", "region"}
    app: App[None] = App()
    for name in ("_driver", "_batch_count", "_running", "_closed", "_exit", "_sync_available"):
        assert hasattr(app, name), name
    assert (SYNC_START, SYNC_END) == ("\x1b[?2026h", "\x1b[?2026l")


def test_the_parser() -> None:
    """`terminal/driver.py` asks it."""
    parser = XTermParser()
    for name in ("last_x", "last_y", "mouse_pixels", "terminal_size", "terminal_pixel_size"):
        assert hasattr(parser, name), name
    assert parser._awaiting.timeout is None
    list(parser.feed("\x1b[99"))
    assert parser._awaiting.timeout is not None, "it waits for more"
    assert [key.key for key in parser._sequence_to_key_events("x", alt=True)] == ["alt+x"]


def test_the_driver() -> None:
    """`terminal/driver.py` overrides it."""
    for name in ("run_input_thread", "disable_input", "start_application_mode", "process_message", "_run_input_thread"):
        assert callable(getattr(LinuxDriver, name)), name
    names = LinuxDriver.__init__.__code__.co_names
    assert {"exit_event", "_key_thread", "_writer_thread"} <= set(names)
