"""Setup of all tests. `pythonpath` in pyproject.toml puts tests/kit on the import path: `import make_trace`, `import real`."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import time
from collections.abc import Iterator

import durations
import pytest
import real

from tltui.cli import GARBAGE
from tltui.settings import SETTINGS

real.age()
STATE = tempfile.TemporaryDirectory(prefix="tltui-state-")
"""What a test leaves behind (the width of a pane, marks) is not for the one who runs it."""
os.environ["XDG_STATE_HOME"] = STATE.name
os.environ["XDG_CONFIG_HOME"] = os.path.join(STATE.name, "config")
for setting in SETTINGS:  # nor does what somebody likes change what a test sees
    os.environ.pop(setting.variable, None)

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:  # what the tests start hears it, also in the background of a shell
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

gc.set_threshold(*GARBAGE)  # as in the program; by default collections take a quarter of the time of the UI tests
LONG = durations.long_tests(durations.read())
EXPENSIVE = durations.expensive_tests(durations.read())


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that the recorded run took long for; a test named on the command line runs without `-m`."""
    if item.nodeid in LONG and not any("::" in argument for argument in item.config.args):
        item.add_marker(LONG[item.nodeid])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the most expensive tests."""
    items.sort(key=lambda item: item.nodeid not in EXPENSIVE)


def pytest_collection_finish() -> None:
    """Take modules and tests out of the garbage collections to come: they stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the time zone to UTC: pages show times of the day."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
