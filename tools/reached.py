"""A pytest plugin for `mutate.py`: notes which lines of some functions each test reaches, or runs chosen tests in a given order.

`TLTUI_REACHED` is the folder to write to, `TLTUI_REACHABLE` a file: path → first and last line of each function that counts.
`TLTUI_CHOSEN` is a file with the ids of the tests to run, best first.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import hypothesis
import pytest

ENOUGH = 3_000
"""Maximum lines of one function that are noted in one test: a loop repeats its lines."""
MEMORY = 4 << 30
"""Bytes for the tests of a change, which may cause an endless loop."""


class Functions(dict[CodeType, bool]):
    """Whether the lines of a function count."""

    def __init__(self, reachable: dict[str, list[tuple[int, int]]]) -> None:
        super().__init__()
        self.reachable = reachable

    def __missing__(self, code: CodeType) -> bool:
        ranges = self.reachable.get(code.co_filename, ())
        self[code] = counts = any(first <= code.co_firstlineno <= last for first, last in ranges)
        return counts


class Lines:
    """Notes the lines that are reached, by file."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.by_file: dict[str, set[int]] = {}
        self._counts: dict[CodeType, int] = {}

    def call(self, frame: FrameType, event: str, arg: object) -> Any:
        """Trace the call of a function."""
        code = frame.f_code
        if not self.functions[code]:
            return None
        lines = self.by_file.setdefault(code.co_filename, set())
        lines.add(frame.f_lineno)
        if self._counts.get(code, 0) > ENOUGH:
            return None

        def line(frame: FrameType, event: str, arg: object) -> Any:
            lines.add(frame.f_lineno)
            self._counts[code] = count = self._counts.get(code, 0) + 1
            return line if count <= ENOUGH else None

        return line


class Reached:
    """Notes the lines of each test; tests share nothing that would hide a line from the later one."""

    def __init__(self, directory: Path, functions: Functions) -> None:
        self.directory, self.functions = directory, functions
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: set[str] = set()
        self._modules = 0
        self._caches: list[Any] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._forget()
        lines = Lines(self.functions)
        began = time.process_time()
        threading.settrace(lines.call)
        sys.settrace(lines.call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            reached = {path: sorted(numbers) for path, numbers in lines.by_file.items()}
            self.tests[item.nodeid] = {"seconds": time.process_time() - began, "lines": reached}

    def _forget(self) -> None:
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            caches = [cache for cache in gc.get_objects() if isinstance(cache, functools._lru_cache_wrapper)]
            self._caches = [cache for cache in caches if getattr(cache, "__module__", "").startswith(("tltui", "real", "test_"))]
        for cache in self._caches:
            cache.cache_clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note failed tests, which cannot notice a change."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        name = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        passed = {test: entry for test, entry in self.tests.items() if test not in self.failed}
        (self.directory / f"{name}.json").write_text(json.dumps(passed), encoding="utf-8")


class Chosen:
    """Runs these tests only, in this order."""

    def __init__(self, ids: list[str]) -> None:
        self.places = {name: place for place, name in enumerate(ids)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.places), key=lambda item: self.places[item.nodeid])


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin of the environment. Failing properties are not shrunk."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutate", phases=phases, database=None, deadline=None, derandomize=True)
    hypothesis.settings.load_profile("mutate")
    if chosen := os.environ.get("TLTUI_CHOSEN"):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        config.pluginmanager.register(Chosen(json.loads(Path(chosen).read_text(encoding="utf-8"))))
    if directory := os.environ.get("TLTUI_REACHED"):
        reachable = json.loads(Path(os.environ["TLTUI_REACHABLE"]).read_text(encoding="utf-8"))
        config.pluginmanager.register(Reached(Path(directory), Functions(reachable)))
