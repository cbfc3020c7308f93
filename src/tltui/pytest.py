"""Pytest plugin that checks torch.compile in tests. Only `-p tltui.pytest` loads it.

    def test_model(torch_compiles):
        ...
        torch_compiles.assert_no_recompiles()

    @pytest.mark.torch_compile(recompiles=1, breaks=0, errors=0)
    def test_other_model():
        ...

The plugin records each test with the fixture or the marker, from before its fixtures are set up to the end of the test
(`testing.py`). Other tests are unaffected, unless `--tltui-limits` is given. This module imports torch and the readers of
traces only when a test needs them. See docs/ci.md.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.questions.check.limits import Limit
    from tltui.testing import Recording

FIXTURE, MARKER = "torch_compiles", "torch_compile"
GROUP = "tltui (torch.compile)"


class TorchCompileError(AssertionError):
    """A test's limits on torch.compile are exceeded. The text has the reasons."""


class NothingCompiled(pytest.PytestWarning):
    """A test has limits on torch.compile, but nothing was compiled in it."""


@dataclass
class TorchCompiles:
    """Compiles of torch in a test so far: the fixture `torch_compiles`."""

    directory: Path | None
    """Directory of the test's logs; None without torch."""
    test: str
    limits: Sequence[Limit] = ()
    """Limits of the marker and the command line, checked at the end of the test."""
    is_requested: bool = True
    """Whether the test itself requests recording, by the fixture or a marker."""
    keeps_logs: bool = False
    """Whether the logs stay when the test passes."""
    recording: Recording | None = field(default=None, repr=False)

    @property
    def compiles(self) -> int:
        """Return the number of compiles, including recompiles and failures."""
        run = self.run()
        return sum(compile_.is_compile for compile_ in run.compiles()) if run is not None else 0

    def run(self) -> Run | None:
        """Open the trace of the test; None if torch has written none."""
        from tltui.testing import run_in

        return run_in(str(self.directory)) if self.directory is not None else None

    def count(self, name: str) -> float:
        """Return the value of a measure of `tltui check`: `count("recompiles")`."""
        from tltui.testing import check_limits, limits_from

        run = self.run()
        return check_limits(run, limits_from(f"{name}=0")).limits[0].value if run is not None else 0.0

    def assert_limits(self, limits: str) -> None:
        """Fail if a limit is exceeded: `assert_limits("error,eager,break=1,recompiles=2")`, as in `tltui check --fail-on`."""
        __tracebackhide__ = True
        from tltui.testing import limits_from

        if why := self._why(limits_from(limits)):
            raise TorchCompileError(why)

    def assert_no_recompiles(self) -> None:
        """Fail if a function recompiled."""
        __tracebackhide__ = True
        self.assert_limits("recompiles=0")

    def assert_no_breaks(self) -> None:
        """Fail if a graph break occurred."""
        __tracebackhide__ = True
        self.assert_limits("break=0")

    def assert_no_errors(self) -> None:
        """Fail if a compile failed, or a function fell back to eager mode."""
        __tracebackhide__ = True
        self.assert_limits("error=0,eager=0")

    def _why(self, limits: Sequence[Limit]) -> str:
        """Return why the limits are exceeded, '' if they are not."""
        from tltui.testing import check_limits, failure_message

        run = self.run()
        if run is None:
            if self.is_requested:
                text = f"torch compiled nothing in {self.test}, so its limits had no effect"
                warnings.warn(NothingCompiled(text), stacklevel=3)
            return ""
        return failure_message(run, check_limits(run, limits), self.test, str(self.directory))

    def end(self) -> str:
        """Stop writing; return why the recording is incomplete, else ''."""
        from tltui.testing import Unrecordable

        recording, self.recording = self.recording, None
        try:
            if recording is not None:
                recording.end()
        except Unrecordable as error:
            return f"tltui: {error}"
        return ""

    def exceeded(self) -> str:
        """Return why the test exceeds the limits of its marker and the command line, '' if it does not."""
        return self._why(self.limits) if self.limits else ""


ASKED = pytest.StashKey["tuple[tuple[Limit, ...], bool]"]()
"""The limits of a test, and whether the test itself requests recording."""
OURS = pytest.StashKey[TorchCompiles]()
EVERYWHERE = pytest.StashKey["tuple[Limit, ...]"]()
"""The limits of the command line."""
WHY_NOT = pytest.StashKey[str]()
"""Why torch cannot be imported, '' if it can."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tltui", GROUP)
    group.addoption("--tltui-limits", metavar="LIMITS", default="",
                    help="limits for every test, as in tltui check --fail-on (error,eager,break,recompiles=1). Imports torch and "
                         "records each test; a test's torch_compile marker overrides these limits")  # fmt: skip
    group.addoption("--tltui-keep", metavar="DIR", default="",
                    help="keep the trace of every recorded test in DIR/TEST; open it with tltui DIR/TEST (default: keep only "
                         "traces of failed tests, in pytest's tmp_path)")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Read the options. Raises `pytest.UsageError`."""
    config.addinivalue_line(
        "markers",
        "torch_compile(*limits, recompiles=N, breaks=N, errors=N, …): record torch.compile in the test and fail if a count "
        "exceeds N. Names as in tltui check --fail-on. Default: no errors, breaks or recompiles (tltui)",
    )
    config.stash[EVERYWHERE] = ()
    if text := config.getoption("--tltui-limits"):
        from tltui.questions.check.limits import BadLimit
        from tltui.testing import limits_from

        try:
            config.stash[EVERYWHERE] = limits_from(str(text))
        except BadLimit as bad:
            raise pytest.UsageError(f"--tltui-limits: {bad}") from None


def pytest_report_header(config: pytest.Config) -> str:
    """Return which tests are recorded, and how."""
    scope = "every test" if config.stash[EVERYWHERE] else f"tests with the fixture {FIXTURE} or the marker {MARKER}"
    keep = config.getoption("--tltui-keep")
    where = f"traces are kept in {keep}" if keep else "traces of failed tests are kept"
    return f"tltui: records {scope} with a separate log handler, without changing torch's logging; {where}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Find the tests to record; the fixture comes first in them, so that compiles of other fixtures are recorded too."""
    everywhere = config.stash[EVERYWHERE]
    for item in items:
        names = getattr(item, "fixturenames", None)
        is_requested = names is not None and (FIXTURE in names or item.get_closest_marker(MARKER) is not None)
        if names is not None and (is_requested or everywhere):
            item.stash[ASKED] = (everywhere, is_requested)
            item.fixturenames = [FIXTURE, *(name for name in names if name != FIXTURE)]  # type: ignore[attr-defined]


@pytest.fixture
def torch_compiles(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TorchCompiles]:
    """Record what torch compiles in this test from here on: assert_no_recompiles(), assert_no_breaks(), assert_no_errors(), …"""
    item = request.node
    everywhere, is_requested = item.stash.get(ASKED, ((), True))
    ours = TorchCompiles(None, item.nodeid, _limits(item, everywhere), is_requested)
    why = _why_not(item.config)
    if why and is_requested:
        pytest.skip(f"torch cannot be imported: {why}")
    if not why:
        keep = str(item.config.getoption("--tltui-keep"))
        ours.directory, ours.keeps_logs = _directory(keep, item.nodeid, tmp_path_factory), bool(keep)
        ours.recording = _begun(ours.directory)
    item.stash[OURS] = ours
    yield ours
    ours.end()  # where the test was skipped, or another fixture failed
    if ours.directory is not None and (not ours.keeps_logs or not os.listdir(ours.directory)):
        shutil.rmtree(ours.directory, ignore_errors=True)


def _limits(item: pytest.Item, everywhere: Sequence[Limit]) -> Sequence[Limit]:
    """Return the limits of the command line, the class and the test; the nearest wins."""
    markers = list(item.iter_markers(MARKER))
    if not markers:
        return everywhere
    from tltui.questions.check.limits import BadLimit
    from tltui.testing import marker_limits, merge_limits

    try:
        return merge_limits(everywhere, *(marker_limits(marker.args, marker.kwargs) for marker in reversed(markers)))
    except BadLimit as bad:
        why = str(bad)
    pytest.fail(f"the marker {MARKER}: {why}", pytrace=False)  # not in the handler: its error would be told twice


def _why_not(config: pytest.Config) -> str:
    """Return why torch cannot be imported; computed once."""
    if WHY_NOT not in config.stash:
        try:
            import_module("torch")
            config.stash[WHY_NOT] = ""
        except Exception as error:  # an import of torch fails in many ways
            config.stash[WHY_NOT] = str(error) or type(error).__name__
    return config.stash[WHY_NOT]


def _directory(keep: str, test: str, factory: pytest.TempPathFactory) -> Path:
    """Create a new directory for the logs of a test."""
    from tltui.text.safe_files import safe_name

    name = safe_name(test)
    if not keep:
        return factory.mktemp(f"tltui-{name}"[:60])
    number = 1
    while True:
        path = Path(keep).absolute() / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            number += 1


def _begun(directory: Path) -> Recording:
    """Start a recording."""
    from tltui.testing import Recording, Unrecordable

    try:
        recording = Recording(str(directory))
    except Unrecordable as error:
        pytest.fail(f"tltui: {error}", pytrace=False)
    recording.begin()
    return recording


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Check the limits of a test at its end. If the test itself fails, they are added to its report."""
    if (ours := item.stash.get(OURS, None)) is not None and ours.recording is not None:
        ours.recording.mute()
    try:
        result = yield
    except pytest.skip.Exception:
        raise
    except BaseException as error:
        if ours is not None:
            ours.keeps_logs = True
            if (why := ours.end() or ours.exceeded()) and not isinstance(error, TorchCompileError):
                item.add_report_section("call", "tltui", why)
        raise
    if ours is None:  # it may have asked for the fixture by `request.getfixturevalue`
        ours = item.stash.get(OURS, None)
    if ours is not None and (why := ours.end() or ours.exceeded()):
        ours.keeps_logs = True
        pytest.fail(why, pytrace=False)
    return result
