"""Frames of a test runner fold, and its timeout is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_logs import Log
from pages import page
from real import trace
from viewed import initial_text, text

from tltui.text.torch_names import is_runner

PACKAGES = "/opt/venv/lib/python3.11/site-packages"
RUNNERS = (
    "/usr/lib/python3.11/runpy.py",
    f"{PACKAGES}/pytest/__main__.py",
    f"{PACKAGES}/_pytest/main.py",
    f"{PACKAGES}/pluggy/_hooks.py",
    f"{PACKAGES}/_pytest/python.py",
    "/usr/lib/python3.11/unittest/case.py",
    f"{PACKAGES}/pytest_timeout.py",
)
OTHERS = (f"{PACKAGES}/transformers/trainer.py", "/home/user/pytest/test_model.py", "/usr/lib/python3.11/contextlib.py")


@pytest.mark.parametrize("path", [*RUNNERS, "<frozen runpy>", "C:\\Python311\\Lib\\unittest\\case.py"])
def test_a_runner(path: str) -> None:
    assert is_runner(path)


@pytest.mark.parametrize("path", OTHERS)
def test_no_runner(path: str) -> None:
    assert not is_runner(path)


def test_frames_of_a_test_runner_fold(tmp_path: Path) -> None:
    frames = "".join(f'  File "{path}", line 8, in call\n    call()\n' for path in RUNNERS)
    stack = f'{frames}  File "/home/user/test_model.py", line 5, in test_it\n    model(x)\n'
    record = (
        "Graph break in user code at /home/user/test_model.py:5\nGraph Break Reason: Call to `torch._dynamo.graph_break()`\n"
        f"User code traceback:\n{stack}"
    )
    log = Log(tmp_path / "x.log").start().artifact("dynamo_graph_break_reason", record).metrics()
    document = page(log.open(), "@problems", 120)
    assert "7 test runner frames" in text(document)
    folds = [section for section in document.sections() if section.title == "7 test runner frames"]
    assert [(section.folded, section.aside, section.last - section.first) for section in folds] == [(True, True, 7)]
    assert "pluggy" not in initial_text(document)


def test_the_timeout_of_a_test_runner_is_named() -> None:
    run = trace("torch-2.13/outcomes")
    assert "a timeout of the test runner" in " ".join(text(page(run, "0/0")).split())
    assert "a timeout of the test runner" in " ".join(text(page(run, "@problems")).split())
