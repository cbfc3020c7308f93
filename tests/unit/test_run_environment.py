"""What a job is started with: the directory of the trace, the environment, the program."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tltui.running.job_trace import Prepared, Refused, TraceOptions, prepare, program_of

NOON = time.strptime("2026-11-22 12:00:01", "%Y-%m-%d %H:%M:%S")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prepared(environ: dict[str, str] | None = None, **wanted: object) -> Prepared:
    return prepare(TraceOptions(**wanted), environ or {}, NOON)  # type: ignore[arg-type]


def added(found: Prepared, environ: dict[str, str] | None = None) -> dict[str, str]:
    return {name: value for name, value in found.environment.items() if (environ or {}).get(name) != value}


def test_a_new_directory_and_provenance(here: Path) -> None:
    user = {"PATH": "/bin", "HOME": "/home/me"}
    found = prepared(user)
    directory = str(here / "tltui-20261122-120001")
    assert found == Prepared(
        {**user, "TORCH_TRACE": directory, "INDUCTOR_PROVENANCE": "1"}, directory, True, "", (f"the trace goes to {directory}",)
    )
    assert os.path.isdir(directory)


def test_two_that_start_in_the_same_second() -> None:
    names = [os.path.basename(prepared().directory) for _ in range(3)]
    assert names == ["tltui-20261122-120001", "tltui-20261122-120001-2", "tltui-20261122-120001-3"]


@pytest.mark.parametrize("name", ["TORCH_TRACE", "TORCH_DTRACE"])
def test_the_directory_that_the_user_set(name: str, here: Path) -> None:
    user = {name: "traces", "INDUCTOR_PROVENANCE": "2"}
    found = prepared(user)
    assert found.environment == user
    assert (found.directory, found.is_new) == (str(here / "traces"), False)
    assert found.messages == (f"{name} is set: the trace goes to {here / 'traces'}",)
    assert os.listdir(here) == [], "torch makes it"


def test_torch_asks_for_dtrace_first(here: Path) -> None:
    assert prepared({"TORCH_TRACE": "a", "TORCH_DTRACE": "b"}).directory == str(here / "b")


@pytest.mark.parametrize("name", ["TORCH_TRACE", "TORCH_DTRACE", "INDUCTOR_PROVENANCE"])
def test_an_empty_variable_is_not_set(name: str) -> None:
    found = prepared({name: ""})
    assert found.is_new
    assert found.environment["TORCH_TRACE"] == found.directory
    assert found.environment["INDUCTOR_PROVENANCE"] == "1"


def test_a_named_directory(here: Path) -> None:
    (here / "there").mkdir()
    for name in ("new/deep", "there"):
        found = prepared(directory=name)
        assert (found.directory, found.is_new, found.environment["TORCH_TRACE"]) == (str(here / name), True, str(here / name))
        assert os.path.isdir(name)


def test_a_named_directory_that_is_not_empty_is_refused(here: Path) -> None:
    (here / "full").mkdir()
    (here / "full" / "a.log").write_text("")
    (here / "file").write_text("")
    with pytest.raises(Refused, match=r"the directory of -o is not empty \(1 file\): 'full'"):
        prepared(directory="full")
    with pytest.raises(Refused, match=r"Not a directory: 'file'"):
        prepared(directory="file")
    with pytest.raises(Refused, match=r"Not a directory: 'file/below'"):
        prepared(directory="file/below")


def test_a_named_directory_and_one_that_was_set(here: Path) -> None:
    why = r"TORCH_TRACE sends the trace to another directory: '.*/a'; leave out -o b, or unset TORCH_TRACE"
    with pytest.raises(Refused, match=why):
        prepared({"TORCH_TRACE": "a"}, directory="b")
    assert prepared({"TORCH_TRACE": "a"}, directory="./a").directory == str(here / "a")


def test_where_no_directory_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(Refused, match=r"cannot create .*: Permission denied; choose another with -o DIR"):
        prepared()


def test_fresh_and_debug() -> None:
    found = prepared(fresh=True, debug=True)
    assert added(found) == {
        "TORCH_TRACE": found.directory, "INDUCTOR_PROVENANCE": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
        "TORCH_COMPILE_DEBUG": "1", "TORCH_COMPILE_DEBUG_DIR": found.directory,
    }  # fmt: skip
    assert len(found.messages) == 1


def test_fresh_and_debug_where_the_user_had_set_something() -> None:
    user = {"TORCH_COMPILE_DEBUG": "0", "TORCH_COMPILE_DEBUG_DIR": "/mine", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0"}
    found = prepared(user, fresh=True, debug=True)
    assert (found.environment["TORCH_COMPILE_DEBUG"], found.environment["TORCH_COMPILE_DEBUG_DIR"]) == ("1", "/mine")
    assert found.messages[1:] == (
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES was 0; --fresh sets it to 1", "TORCH_COMPILE_DEBUG was 0; --debug sets it to 1",
    )  # fmt: skip


def test_logs_are_added_to_those_of_the_user(here: Path) -> None:
    found = prepared({"TORCH_LOGS": "+dynamo"}, logs="dynamo,fusion")
    assert found.environment["TORCH_LOGS"] == "dynamo,fusion,+dynamo", "the last one counts: theirs"
    assert found.logs_file == found.environment["TORCH_LOGS_OUT"] == f"{found.directory}/torch_logs.txt"
    assert prepared(logs="fusion").environment["TORCH_LOGS"] == "fusion"
    assert prepared({"TORCH_LOGS": "+dynamo"}).environment.get("TORCH_LOGS_OUT") is None


def test_logs_go_where_the_user_has_them_go(here: Path) -> None:
    found = prepared({"TORCH_LOGS_OUT": "mine.txt"}, logs="fusion")
    assert (found.logs_file, found.environment["TORCH_LOGS_OUT"]) == (str(here / "mine.txt"), "mine.txt")


def test_the_directory_of_the_logs_is_there_when_torch_opens_them(here: Path) -> None:
    found = prepared({"TORCH_TRACE": "later"}, logs="fusion")
    assert os.path.isdir(os.path.dirname(found.logs_file))
    assert found.logs_file == str(here / "later" / "torch_logs.txt")


def executable(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_program(here: Path) -> None:
    path = str(executable(here / "bin" / "python").parent)
    (here / "train.py").write_text("")
    executable(here / "bin" / "tool.py")
    executable(here / "run.py")
    assert program_of(["torchrun", "a.py"], path) == ("torchrun", "a.py")
    assert program_of(["-m", "a.b", "-x"], path) == ("python", "-m", "a.b", "-x")
    assert program_of(["train.py", "--lr", "3"], path) == ("python", "train.py", "--lr", "3")
    assert program_of(["./train.py"], path) == ("python", "./train.py")
    assert program_of(["./run.py"], path) == ("./run.py",), "it says itself what runs it"
    assert program_of(["run.py"], path) == ("python", "run.py"), "a shell does not look here for a program"
    assert program_of(["tool.py"], path) == ("tool.py",), "on PATH"
    assert program_of(["missing.py"], path) == ("missing.py",), "not found"


def test_the_python_that_a_shell_would_find(here: Path) -> None:
    path = str(executable(here / "bin" / "python3").parent)
    assert program_of(["-m", "a"], path)[0] == "python3"
