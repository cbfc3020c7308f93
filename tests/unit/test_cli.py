"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pty
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest
from golden import assert_golden
from real import opened
from results import result_in

from tltui.cli import COMMANDS, main
from tltui.cli.registry import OTHERS, grouped
from tltui.documents.envelope import SCHEMA_VERSION
from tltui.model.artifacts import artifacts_of
from tltui.model.follow import open_run
from tltui.questions.artifacts.page import raw_bytes
from tltui.sources.discover import discover
from tltui.text.sanitize import sanitize
from tltui.trace.log import Check

TRACES = Path(__file__).resolve().parents[1] / "traces"
ALL = sorted(
    [*(TRACES / "torch-2.13").iterdir()]
    + [path for path in (TRACES / "tlparse").iterdir() if path.suffix in (".log", ".txt") or path.is_dir()]
)
SOURCES = str(Path(inspect.getfile(main)).parents[2])
BREAKS, TRAIN, DDP = (str(TRACES / "torch-2.13" / name) for name in ("breaks", "train", "ddp"))


def label(path: Path) -> str:
    return str(path.relative_to(TRACES)).replace(os.sep, "_")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A width that does not depend on the terminal, and no settings of whoever runs the tests."""
    for name in ("TORCH_TRACE", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")


class Command:
    """Runs a command in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[bytes]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        return self.raw(*arguments, code=code).decode()

    def raw(self, *arguments: str, code: int = 0) -> bytes:
        try:
            found = main(arguments)
        except SystemExit as end:
            assert isinstance(end.code, int)
            found = end.code
        out, err = self._capsys.readouterr()
        self.err = err.decode()
        assert "Traceback" not in self.err
        assert found == code, self.err
        return out

    def json(self, *arguments: str) -> Any:
        return result_in(self.raw(*arguments))


@pytest.fixture
def tltui(capsysbinary: pytest.CaptureFixture[bytes]) -> Command:
    return Command(capsysbinary)


def run_apart(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """In a process of its own, with a cleared environment."""
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "COLUMNS": "100", "HOME": "/dev/null", **(env or {})}
    command = [sys.executable, "-m", "tltui", *arguments]
    quiet = subprocess.DEVNULL
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean, stdin=quiet, check=False)


def in_a_shell(line: str) -> subprocess.CompletedProcess[str]:
    """`tltui` and the rest of a line for bash."""
    command = ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m tltui {line}"]
    env = os.environ | {"PYTHONPATH": SOURCES}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, check=False)


# ls


@pytest.mark.parametrize("path", ALL, ids=label)
def test_ls(path: Path, tltui: Command) -> None:
    text = tltui("ls", str(path))
    assert_golden(f"ls/{label(path)}", text)
    assert max(map(len, text.splitlines())) <= 100


def test_ls_ascii_and_colour(tltui: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tltui("ls", BREAKS, "--ascii")
    assert text.isascii()
    assert "\x1b" not in text
    coloured = tltui("ls", BREAKS, "--color")
    assert "\x1b[33m⚑ \x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in tltui("ls", BREAKS)


ARTIFACT = {"ref": str, "name": str, "unit": (str, None), "attempt": int, "stored_bytes": int, "md5": (str, None)}
CHECKED = {"size_bytes": int, "line_count": int, "md5_ok": (bool, None)}
COMPILE = {
    "id": str, "ref": str, "epoch": (int, None), "status": (str, None), "tlparse_status": (str, None), "frame": (dict, None),
    "duration_s": (float, int, None), "attempts": list, "facts": dict, "artifacts": list,
}  # fmt: skip
PROCESS = {
    "pid": int, "file": str, "started_at": (str, None), "torch_version": (str, None), "damaged_records": int, "compiles": list,
}  # fmt: skip


def conforms(value: dict[str, Any], schema: dict[str, Any]) -> None:
    assert list(value) == list(schema)
    for key, kinds in schema.items():
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        assert (value[key] is None and None in allowed) or type(value[key]) in allowed, (key, value[key])


@pytest.mark.parametrize("path", ALL, ids=label)
def test_ls_json(path: Path, tltui: Command) -> None:
    listing = tltui.json("ls", str(path), "--json")
    assert listing["path"] == str(path)
    assert listing["skipped"] == []
    refs = []
    for rank in listing["ranks"]:
        assert list(rank) == ["rank", "processes"]
        for process in rank["processes"]:
            conforms(process, PROCESS)
            assert process["damaged_records"] == 0
            for compile_ in process["compiles"]:
                conforms(compile_, COMPILE)
                assert compile_["status"] in ("ok", "break", "empty", "error", "eager", "unfinished", None)
                assert compile_["tlparse_status"] in ("ok", "break", "empty", "error", "missing", None)
                refs.append(compile_["ref"])
                if compile_["frame"]:
                    assert list(compile_["frame"]) == ["name", "file", "line"]
                for artifact in compile_["artifacts"]:
                    conforms(artifact, ARTIFACT)
                    refs.append(artifact["ref"])
    assert len(set(refs)) == len(refs), "an address is that of one place"
    run = open_run(discover([str(path)]))
    for ref in refs:
        node = run.resolve(ref)
        assert node is not None
        assert str(node.ref) == ref


@pytest.mark.parametrize("path", ALL, ids=label)
def test_ls_check(path: Path, tltui: Command) -> None:
    listing = tltui.json("ls", str(path), "--json", "--check")
    artifacts = [
        artifact
        for rank in listing["ranks"]
        for process in rank["processes"]
        for compile_ in process["compiles"]
        for artifact in compile_["artifacts"]
    ]
    for artifact in artifacts:
        conforms(artifact, ARTIFACT | CHECKED)
        assert (artifact["md5"] is None) == (artifact["md5_ok"] is None)
        if path.name != "export.log":  # its md5 is wrong in the original too
            assert artifact["md5_ok"] in (True, None), artifact["ref"]
            if artifact["stored_bytes"]:
                assert artifact["stored_bytes"] == artifact["size_bytes"] + artifact["line_count"], "a tab for each line"
    assert artifacts


def test_records_without_an_id_stand_under_dashes(tltui: Command) -> None:
    compiles = tltui.json("ls", BREAKS, "--json")["ranks"][0]["processes"][0]["compiles"]
    (without,) = [compile_ for compile_ in compiles if compile_["id"] == "[-/-]"]
    assert (without["ref"], without["status"]) == ("none", None)
    assert [artifact["name"] for artifact in without["artifacts"]] == ["torch_version"]


def test_ls_of_a_directory_tells_what_it_left_out(tmp_path: Path, tltui: Command) -> None:
    mt.write(tmp_path, mt.compiled() + mt.metrics()[:50], "good.log")
    mt.write(tmp_path, ("a line of text" * 9).encode("utf-16-le"), "wide.log")
    text = tltui("ls", str(tmp_path))
    assert "wide.log: UTF-16 text without a byte order mark; convert it to UTF-8 first" in text
    assert "1 damaged record: tltui damage " in text


# show


def test_show_an_artifact(tltui: Command) -> None:
    text = tltui("show", BREAKS, "0/0:dynamo_graph_break_reason")
    assert text.startswith("Graph break in user code at")
    assert tltui("show", BREAKS, "[0/0]:dynamo_graph_break_reason") == text


def test_show_overviews(tltui: Command) -> None:
    shown = [tltui("show", BREAKS), tltui("show", BREAKS, "0/0"), tltui("show", DDP, "1:"), tltui("show", BREAKS, "none")]
    assert len(set(shown)) == 4
    assert "graph break" in shown[1]


def test_show_unit(tltui: Command) -> None:
    forward = tltui("show", TRAIN, "0/0:inductor_output_code", "--unit", "forward")
    backward = tltui("show", TRAIN, "0/0:inductor_output_code", "--unit", "backward")
    assert forward.startswith("# AOT ID: ['0_forward']")
    assert backward.startswith("# AOT ID: ['0_backward']")
    tltui("show", TRAIN, "0/0:inductor_output_code", "--unit", "sideways", code=2)
    assert tltui.err == "tltui: unknown unit of 0/0: 'sideways'\n  units: forward, backward\n"
    tltui("show", TRAIN, "0/0:nothing", "--unit", "forward", code=2)
    assert "0/0 has no nothing in its forward unit\n  artifacts: " in tltui.err
    tltui("show", TRAIN, "0/0", "--unit", "forward", code=2)
    assert "--unit needs the address of an artifact" in tltui.err


def test_show_raw(tltui: Command) -> None:
    run = opened(TRAIN)
    for ref in ("0/0:inductor_output_code#2", "0/0:dynamo_cpp_guards_str", "none:torch_version"):
        raw = tltui.raw("show", TRAIN, ref, "--raw")
        node = run.resolve(ref)
        assert hashlib.md5(raw).hexdigest() == node.log.md5(node.record)  # type: ignore[union-attr]
    line = tltui.raw("show", TRAIN, "0/0:compilation_metrics", "--raw")
    assert line.startswith(b"V")
    assert b'{"compilation_metrics": {' in line
    tltui("show", TRAIN, "0/0", "--raw", code=2)
    assert "--raw needs the address of an artifact" in tltui.err


def test_raw_bytes_of_every_artifact_have_their_md5() -> None:
    run = opened(TRACES)
    count = 0
    for compile_ in run.compiles():
        for artifact in artifacts_of(compile_):
            checked = artifact.log.check(artifact.record)
            if checked is not None and checked.check is Check.GOOD:
                raw = b"".join(raw_bytes(run, artifact.ref))
                assert hashlib.md5(raw).hexdigest() == checked.declared
                assert len(raw) == checked.size
                count += 1
    assert count > 300


def test_raw_is_not_sanitised_and_text_is(tmp_path: Path, tltui: Command) -> None:
    payload = "\x1b[31mred\x00\r\n\tx\n"
    path = str(mt.write(tmp_path, mt.artifact("a", payload, frame=0, compile=0)))
    assert tltui.raw("show", path, "0/0:a", "--raw") == payload.encode()
    assert tltui("show", path, "0/0:a") == "␛[31mred␀␍\n    x\n\n"


def test_raw_of_a_large_payload_comes_in_pieces(tmp_path: Path, tltui: Command) -> None:
    payload = "".join(f"line {number} of a large payload\n" for number in range(400_000))
    path = str(mt.write(tmp_path, mt.artifact("a", payload, frame=0, compile=0)))
    assert tltui.raw("show", path, "0/0:a", "--raw") == payload.encode()
    crlf = str(mt.write(tmp_path, mt.artifact("a", payload, frame=0, compile=0).replace(b"\n", b"\r\n"), "crlf.log"))
    assert tltui.raw("show", crlf, "0/0:a", "--raw") == payload.encode()


def test_show_json(tltui: Command) -> None:
    found = json.loads(tltui("show", TRAIN, "0/0:inductor_output_code#1", "--json"))
    assert {name: found[name] for name in found if name != "result"} == {
        "view": "show", "schema_version": SCHEMA_VERSION, "run": "train", "ref": "0/0:inductor_output_code#1",
    }  # fmt: skip
    shown = found["result"]
    assert {key: shown[key] for key in ("name", "unit", "attempt", "badge")} == {
        "name": "inductor_output_code", "unit": "forward", "attempt": 0, "badge": "md5 ✓",
    }  # fmt: skip
    assert shown["text"].startswith("# AOT ID: ['0_forward']")
    for ref in ([], ["0/0"], ["none"], ["0/0:compilation_metrics"]):
        assert tltui.json("show", TRAIN, *ref, "--json")


# records and damage


def test_records(tltui: Command) -> None:
    lines = tltui("records", BREAKS).splitlines()
    run = opened(BREAKS)
    log = run.models[0].log
    assert len(lines) == len(log)
    assert [int(line.split()[0]) for line in lines] == list(range(1, len(log) + 1))
    assert "torch_version" in "\n".join(lines[:3])
    own = tltui("records", BREAKS, "0/0").splitlines()
    assert 0 < len(own) < len(lines)
    assert set(own) <= set(lines)
    (other,) = [process for process in opened(DDP).processes() if process.rank == 1]
    assert tltui("records", DDP, "1:").count("\n") == len(other.log)


def test_records_json(tltui: Command) -> None:
    found = tltui.json("records", BREAKS, "--json")
    log = opened(BREAKS).models[0].log
    assert [row["offset_bytes"] for row in found["records"]] == list(log.columns.offset)
    assert list(found["records"][0]) == [
        "record", "file", "offset_bytes", "time", "pid", "id", "attempt", "event", "name", "site", "envelope_bytes",
        "payload_bytes",
    ]  # fmt: skip
    data = Path(log.path).read_bytes()
    for row in found["records"][:50]:
        assert data[row["offset_bytes"] :].startswith(b"V" + row["time"].replace("-", "").encode())
        assert row["site"].encode() in data[row["offset_bytes"] : row["offset_bytes"] + 400]


def test_damage(tmp_path: Path, tltui: Command) -> None:
    assert "Nothing is damaged." in tltui("damage", BREAKS)
    assert tltui.json("damage", BREAKS, "--json")["damaged"] == []
    path = mt.write(tmp_path, mt.compiled() + mt.artifact("bad", "x", declared="0" * 32) + b"text\n" + mt.compiled(1))
    text = tltui("damage", str(path))
    assert "2 damaged records in 1 log" in text
    assert "its payload does not match its md5" in text
    assert "a line that belongs to no record" in text
    found = tltui.json("damage", str(path), "--json")
    assert [(item["record"], item["offset_bytes"]) for item in found["damaged"]] == [
        (10, len(mt.compiled())),
        (11, len(mt.compiled()) + len(mt.artifact("bad", "x", declared="0" * 32))),
    ]
    assert found["md5_checked"] is True


# extract


def test_extract(tmp_path: Path, tltui: Command) -> None:
    out = tmp_path / "out"
    listed = tltui("extract", TRAIN, "-o", str(out)).splitlines()
    written = sorted(path for path in out.rglob("*") if path.is_file())
    assert sorted(line.rpartition("  ")[0] for line in listed) == [str(path) for path in written]
    assert (out / "norank" / "0_0" / "inductor_output_code_2.py").read_text().startswith("# AOT ID: ['0_backward']")
    assert (out / "norank" / "none" / "torch_version.json").exists()


def test_extract_some(tmp_path: Path, tltui: Command) -> None:
    tltui("extract", TRAIN, "-o", str(tmp_path), "0/0:aot_joint_graph", "none")
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {"norank/0_0/aot_joint_graph.py", "norank/none/torch_version.json"}
    tltui("extract", TRAIN, "-o", str(tmp_path / "new"), "0/0:nothing", code=2)
    assert "unknown address: '0/0:nothing'" in tltui.err
    assert not (tmp_path / "new").exists(), "nothing is made for an address that leads nowhere"


def test_extract_keeps_ranks_apart(tmp_path: Path, tltui: Command) -> None:
    tltui("extract", DDP, "-o", str(tmp_path))
    assert (tmp_path / "rank_0" / "4_0").is_dir()
    assert (tmp_path / "rank_1" / "4_0").is_dir()


def hostile(directory: Path) -> str:
    names = ["../../x", "/abs/x", "y" * 300, "nul\x00", "..", "a/b", "a_b", "A_B"]
    return str(mt.write(directory, b"".join(mt.artifact(name, name, frame=0, compile=0) for name in names)))


def test_extract_writes_nowhere_else(tmp_path: Path, tltui: Command) -> None:
    out = tmp_path / "a" / "out"
    path = hostile(tmp_path / "in")
    assert len(tltui("extract", path, "-o", str(out)).splitlines()) == 8
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path / "in", out / "norank" / "0_0"}
    assert len(list((out / "norank" / "0_0").iterdir())) == 8, "names that become equal are told apart"


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_extract_refuses_links_that_lead_out(tmp_path: Path, tltui: Command, force: list[str]) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    path = hostile(tmp_path / "in")
    outside.mkdir()
    out.mkdir()
    (out / "norank").symlink_to(outside, target_is_directory=True)
    tltui("extract", path, "-o", str(out), *force, code=2)
    assert "symbolic link" in tltui.err
    assert list(outside.iterdir()) == []
    (out / "norank").unlink()
    (out / "norank" / "0_0").mkdir(parents=True)
    (outside / "victim").write_text("keep me")
    (out / "norank" / "0_0" / "a_b.txt").symlink_to(outside / "victim")
    tltui("extract", path, "-o", str(out), "0/0:a_b", *force, code=0 if force else 2)
    assert (outside / "victim").read_text() == "keep me"


def test_extract_overwrites_only_with_force(tmp_path: Path, tltui: Command) -> None:
    path, out = hostile(tmp_path / "in"), tmp_path / "out"
    tltui("extract", path, "-o", str(out), "0/0:a_b")
    target = out / "norank" / "0_0" / "a_b.txt"
    target.write_text("mine")
    tltui("extract", path, "-o", str(out), "0/0:a_b", code=2)
    assert tltui.err == f"tltui: exists: '{target}'\n  --force replaces it\n"
    assert target.read_text() == "mine"
    tltui("extract", path, "-o", str(out), "0/0:a_b", "--force")
    assert target.read_text() == "a_b"
    os.unlink(target)
    os.mkfifo(target)
    tltui("extract", path, "-o", str(out), "0/0:a_b", "--force")
    assert stat.S_ISREG(os.stat(target).st_mode), "a pipe is replaced, not written into"
    tltui("extract", path, "-o", path, code=2)
    assert tltui.err == f"tltui: is not a directory: '{path}'\n  give a new directory, or one that exists\n"


@pytest.mark.parametrize("command", ["extract {log} -o {out}", "timing {log} --perfetto {out}/a", "bundle {log} -o {out}/a"])
def test_a_full_disk_leaves_no_part_of_a_file(command: str, tmp_path: Path) -> None:
    """A limit on the size of a file fails as a full disk does: in the midst of a file."""
    data = mt.artifact("small", "x", frame=0, compile=0) + mt.artifact("large", "line\n" * 20_000, frame=0, compile=0)
    data += b"".join(mt.chromium("n" * 1000, phase, frame=0, compile=0) for phase in "BE" * 40)
    log, out = mt.write(tmp_path, data), tmp_path / "out"
    out.mkdir()
    line = f"ulimit -f 30; {sys.executable} -m tltui {command.format(log=log, out=out)}"
    env = os.environ | {"PYTHONPATH": SOURCES, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, env=env, check=False)
    target = out / "norank/0_0/large.txt" if "extract" in command else out / "a"
    assert (done.returncode, done.stderr) == (2, f"tltui: File too large: '{target}'\n")
    left = [path for path in out.rglob("*") if path.is_file()]
    assert left == ([out / "norank/0_0/small.txt"] if "extract" in command else [])


# errors


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", TRAIN, "0/7"], ["unknown address: '0/7'\n  near it: 0/0"]),
        (["show", TRAIN, "0/0:inductor_output_cod"], ["artifacts of 0/0: inductor_output_code"]),
        (["show", TRAIN, "0/0:inductor_output_code"], ["#1 (forward), 0/0:inductor_output_code#2 (backward), or add --unit"]),
        (["show", DDP, "4/0"], ["ambiguous address", "0:4/0 (rank 0), 1:4/0 (rank 1), or add --rank"]),
        (["show", TRAIN, "nonsense"], ["No such file or directory: 'nonsense'\n  not an address either; examples: 0/1"]),
        (["show", TRAIN, "0/0", "0/1"], ["too many addresses: '0/0 0/1'"]),
        (["show", TRAIN, "9:"], ["unknown rank: '9'\n  ranks of this run: norank"]),
        (["records", TRAIN, "0/7"], ["unknown address: '0/7'"]),
        (["ls", "/nowhere/trace"], ["No such file or directory: '/nowhere/trace'"]),
        (["ls", str(TRACES / "scripts")], ["no trace, TORCH_LOGS text, debug directory or tlparse output found"]),
        (["ls", "--nonsense"], ["unknown option of tltui ls: '--nonsense'\n  see tltui ls --help"]),
        (["extract", TRAIN], ["missing -o DIR"]),
        (["/nowhere/trace"], ["No such file or directory: '/nowhere/trace'"]),
        (["--demo", "summary"], ["a command comes first: 'summary'\n  tltui summary PATH"]),
        ([TRAIN, "problems"], [f"a command comes first: 'problems'\n  tltui problems {TRAIN}"]),
        (["sumary", TRAIN, "-o", "x.md"], ["unknown command (and no such file): 'sumary'\n  did you mean tltui summary?"]),
        (["reprot", TRAIN], ["did you mean tltui repro or tltui report?"]),
    ],
    ids=lambda value: " ".join(os.path.basename(text) for text in value) if isinstance(value, list) else None,
)
def test_errors(arguments: list[str], told: list[str], tltui: Command) -> None:
    assert tltui(*arguments, code=2) == ""
    for text in told:
        assert text in tltui.err


def test_a_log_that_vanishes_is_an_error_of_its_own(tmp_path: Path, tltui: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from tltui.model.follow import Follower
    from tltui.trace import files

    path = mt.write(tmp_path, mt.compiled())
    read = Follower.read

    def vanish(self: Follower, size: int) -> Any:
        path.unlink()
        monkeypatch.setattr(files, "_descriptors", files._Descriptors())
        return read(self, size)

    monkeypatch.setattr(Follower, "read", vanish)
    text = tltui("damage", str(path))
    assert "could not be read completely: No such file or directory" in text


@pytest.mark.parametrize("name", [*COMMANDS, ""])
def test_help(name: str, tltui: Command) -> None:
    text = tltui(*([name] if name else []), "--help")
    assert text.startswith("usage: tltui")
    assert "example" in text
    assert "PATH" in text or "[DIR]" in text or name in grouped()[OTHERS]


# which argument is what


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to stand in, with two logs, `a.log` of [0/0] and `b.log` of [1/0]."""
    for number, name in enumerate("ab"):
        mt.write(tmp_path, mt.compiled(number) + mt.artifact("own", name, frame=number, compile=0), f"{name}.log")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_path_may_repeat(here: Path, tltui: Command) -> None:
    both = tltui("ls", "a.log", "b.log")
    assert "[0/0]" in both and "[1/0]" in both
    assert tltui.json("ls", "a.log", "b.log", "--json")["path"] == ["a.log", "b.log"]
    for view in ("summary", "metrics"):
        pages = tltui(view, "a.log", "b.log").replace("a.log b.log", "."), tltui(view, ".").replace(here.name, "a.log and 1 more")
        assert pages[0].split() == pages[1].split()
    assert tltui("records", "b.log", "--ascii", "a.log").count("\n") == tltui("records", ".").count("\n")
    hits = tltui.json("grep", "own", "a.log", "b.log", "--json")["hits"]
    assert {hit["ref"] for hit in hits} >= {"norank.1:0/0:own", "norank.2:1/0:own"}
    assert "2 compiles" in tltui("bundle", "a.log", "b.log", "--preview")
    assert "2 compiles" in tltui("a.log", "b.log"), "and so the summary in place of the UI"
    tltui("extract", "b.log", "a.log", "-o", "out")
    assert [path.name for path in sorted((here / "out").glob("*/*"))] == ["0_0", "1_0"]
    mt.write(here, b"text\n" + mt.compiled(2), "c.log")
    assert len(tltui.json("damage", "a.log", "c.log", "--json")["damaged"]) == 1


def test_other_runs_may_have_several_logs(here: Path, tltui: Command) -> None:
    tltui("check", "a.log", "b.log", "--fail-on", "empty", "--baseline", "a.log", "--baseline", "b.log")
    both = tltui("diff", "a.log", "b.log", "--with", "a.log", "--with", "b.log")
    assert both == tltui("diff", "a.log", "b.log", "--with", ".").replace(here.name, "a.log and 1 more")
    assert both != tltui("diff", "a.log", "b.log", "--with", "a.log")


def test_addresses_and_paths_stand_in_any_order(here: Path, tltui: Command) -> None:
    assert tltui("show", "a.log", "b.log", "1/0:own") == tltui("show", "1/0:own", "--ascii", "a.log", "b.log") == "b\n"
    assert tltui("diff", "0/0:own", "b.log", "1/0:own", "a.log") == tltui("diff", "a.log", "b.log", "0/0:own", "1/0:own")
    one = tltui("extract", "1/0:own", "b.log", "-o", "out", "0/0:own", "a.log")
    assert [line.partition("  ")[0] for line in one.splitlines()] == ["out/norank.2/1_0/own.txt", "out/norank.1/0_0/own.txt"]
    first = tltui("source", "f.py:2", "a.log", "1/0", "b.log", code=1)
    assert first == tltui("source", "a.log", "b.log", "f.py:2", "1/0", code=1)


def test_an_address_wins_over_a_file_of_its_name(here: Path, tltui: Command) -> None:
    for name in ("0/0", "a1"):
        target = here / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((here / "b.log").read_bytes())
    assert "file     a.log" in tltui("show", "a.log", "0/0")
    assert "file     0\n" in tltui("show", "./0/0", "1/0")
    assert "[1/0]" in tltui("ls", "0/0"), "there are no addresses in ls"
    assert "[1/0]" in tltui("0/0")
    tltui("show", "a.log", "a1", code=2)
    assert "unknown address: 'a1'" in tltui.err and "a1 is an address; write the file of that name as ./a1\n" in tltui.err
    tltui("summary", "a1", code=2)
    assert "no PATH given" in tltui.err and "write the file of that name as ./a1\n" in tltui.err


def test_what_is_neither_path_nor_address(here: Path, tltui: Command) -> None:
    for arguments in (["show", "nowhere"], ["show", "./0/0"], ["summary", "a.log", "/no/where"], ["grep", "own", "nowhere"],
                      ["ls", "a.log", "nowhere"], ["a.log", "nowhere"], ["source", "nowhere", "f.py:2"],
                      ["show", "a.log/x"]):  # fmt: skip
        tltui(*arguments, code=2)
        why, _, where = tltui.err.removeprefix("tltui: ").splitlines()[0].partition(": ")
        assert where.strip("'") in arguments
        assert why.startswith("Not a directory" if where == "'a.log/x'" else "No such file or directory")
        assert "address" not in why
    for arguments in (["show", "a.log", "0/x"], ["show", "--demo", "0/x"], ["extract", "a.log", "0/x", "-o", "out"]):
        tltui(*arguments, code=2)
        assert tltui.err.startswith("tltui: No such file or directory: '0/x'\n  not an address either; examples: 0/1, ")
    tltui("ls", "a.log", "3:0/1", code=2)
    assert tltui.err == "tltui: this command takes no address: '3:0/1'\n  write a file of that name as ./3:0/1\n"


def test_the_pattern_of_grep_is_always_the_first(here: Path, tltui: Command) -> None:
    assert tltui("grep", "0/0", "a.log")
    (here / "own").write_bytes((here / "b.log").read_bytes())
    assert tltui.json("grep", "own", "own", "--json")["hits"]
    tltui("grep", "a.log", code=2)
    assert "no PATH given" in tltui.err


def test_which_argument_is_the_line_of_source(here: Path, tltui: Command) -> None:
    told = tltui("source", "a.log", "f.py:2", code=1)
    assert told.startswith("Source line f.py:2")
    (here / "f.py:2").mkdir()
    assert tltui("source", "a.log", "f.py:2", "g.py:2", code=1).startswith("Source line g.py:2")
    assert tltui("source", "a.log", "f.py", code=1).startswith("Source file f.py")
    tltui("source", "a.log", "f.py:x", code=2)
    assert "not FILE:LINE: 'f.py:x'\n  for example train.py:42" in tltui.err
    tltui("source", "a.log", "0/0", code=2)
    assert "missing source FILE or FILE:LINE" in tltui.err


def test_two_paths_are_two_runs_of_diff_alone(here: Path, tltui: Command) -> None:
    assert tltui("diff", "a.log", "b.log").startswith("a.log ↔ b.log\n")
    tltui("diff", "a.log", "0/0", code=2)
    assert tltui.err == "tltui: diff needs two addresses: '0/0'\n  tltui diff a.log 0/0 0/1, or tltui diff a.log --baseline OLD\n"
    tltui("diff", "a.log", "--with", "b.log", "0/0", "0/1", code=2)
    assert "too many addresses: '0/0 0/1'" in tltui.err


def test_demo_stands_in_place_of_path(here: Path, tltui: Command) -> None:
    for arguments in (["ls", "--demo", "a.log"], ["show", "a.log", "--demo", "0:0/0"], ["a.log", "--demo"]):
        tltui(*arguments, code=2)
        assert tltui.err == "tltui: --demo replaces PATH: 'a.log'\n  leave one of them out\n"
    assert tltui("source", "train.py:1", "--demo", "0:0/0", code=1).startswith("Source line train.py:1")


def test_a_command_wins_over_a_file_of_its_name(here: Path, tltui: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "ls").write_bytes((here / "b.log").read_bytes())
    tltui("ls", code=2)
    assert "no PATH given" in tltui.err and "tltui ./ls\n" in tltui.err
    assert "[1/0]" in tltui("./ls") and "[1/0]" in tltui("ls", "ls")
    assert "[0/0]" in tltui("ls", "a.log")
    tltui("show", code=2)
    assert "./" not in tltui.err, "there is no file of that name"
    monkeypatch.setenv("TORCH_TRACE", str(here / "a.log"))
    assert "[0/0]" in tltui("ls")


def test_torch_trace_stands_for_path_beside_an_address(here: Path, tltui: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TRACE", str(here / "a.log"))
    assert tltui("show", "0/0:own") == "a\n"
    assert tltui("grep", "own") == tltui("grep", "own", "a.log")
    assert tltui("source", "f.py:2", code=1).startswith("Source line f.py:2")
    assert tltui("show", "b.log", "1/0:own") == "b\n", "PATH goes before it"
    assert "rank 1" in tltui("ls", "--demo")
    tltui("show", "0/x", code=2)
    assert "not an address either" in tltui.err


# what is printed of names


BAD = "x\x1b]0;owned\x07\x9b2J\u202e"


@pytest.mark.parametrize("arguments", [
    ["ls", BAD], [BAD], ["show", "a.log", BAD], ["show", "a.log", f"0/0:{BAD}"], ["extract", "a.log", f"0/0:{BAD}", "-o", "out"],
    ["ls", f"--{BAD}"], ["summary", f"--rank={BAD}"], ["grep", f"({BAD}", "a.log"], ["check", "a.log", "--fail-on", BAD],
    ["source", "a.log", f"{BAD}:x"], ["show", "a.log", "0/0:own", "--unit", BAD], ["extract", "a.log", "-o", f"a.log/{BAD}"],
], ids=lambda arguments: " ".join(arguments).replace(BAD, "BAD"))  # fmt: skip
def test_no_message_steers_the_terminal(arguments: list[str], here: Path, tltui: Command) -> None:
    tltui(*arguments, code=2)
    assert "owned" in tltui.err
    assert [char for char in tltui.err if char != "\n" and sanitize(char) != char] == []


def test_names_of_the_trace_in_messages(here: Path, tltui: Command) -> None:
    path = mt.write(here, mt.artifact(BAD, "x", frame=0, compile=0), "bad.log")
    tltui("show", str(path), "0/0:other", code=2)
    assert "artifacts of 0/0: x␛]0;owned␇␦2J␦" in tltui.err
    name = here / f"{BAD}.log"
    name.write_bytes(b"\x01 no log, and no text")
    tltui("ls", str(name), code=2)
    assert "x␛]0;owned␇␦2J␦.log" in tltui.err and "\x1b" not in tltui.err


@pytest.mark.parametrize("columns", ["²", "0", "-5", "", "9" * 5000, "x"])
def test_columns_that_are_no_number(columns: str, here: Path) -> None:
    done = run_apart("ls", str(here / "a.log"), env={"COLUMNS": columns})
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 400


@pytest.mark.parametrize("command", ["ls", "summary", "show --raw", "extract -o out", "grep own", ""])
def test_a_closed_stdout(command: str, here: Path) -> None:
    done = in_a_shell(f"{command} a.log >&-")
    assert (done.returncode, done.stderr) == (2, "tltui: standard output is closed\n")
    assert not (here / "out").exists()


def test_a_closed_stderr(here: Path) -> None:
    done = in_a_shell("ls nowhere 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


# faults of ours


@pytest.mark.parametrize("error", [ZeroDivisionError("a text of the trace"), RecursionError(), KeyError(BAD)], ids=repr)
def test_a_fault_of_ours_is_one_line(error: Exception, here: Path, tltui: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise error

    monkeypatch.setattr("tltui.tree.listing.listing_document", fail)
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    assert tltui("ls", "a.log", code=70) == ""
    log = here / "cache" / "tltui" / "crash.log"
    kind = type(error).__name__
    assert tltui.err == f"tltui: {kind}: internal error in tltui; details are in {log} (TLTUI_DEBUG=1 prints the traceback)\n"
    assert log.read_text().startswith(f"{kind}\n") and "in fail" in log.read_text() and "a text of" not in log.read_text()
    log.unlink()
    os.mkfifo(log)  # nobody reads it: nothing waits
    tltui("ls", "a.log", code=70)
    assert tltui.err == f"tltui: {kind}: internal error in tltui (TLTUI_DEBUG=1 prints the traceback)\n"


def test_a_fault_of_ours_with_all_of_it(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise KeyError(BAD)

    monkeypatch.setattr("tltui.tree.listing.listing_document", fail)
    monkeypatch.setenv("TLTUI_DEBUG", "1")
    assert main(["ls", "a.log"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n") and "in fail" in err and "KeyError" in err
    assert "\x1b" not in err


def test_nobody_listens(here: Path) -> None:
    """Neither to what is printed nor to what is said of it."""
    for line in ("--help | true", "ls --help | true", "ls a.log | true", "ls a.log 2>&1 | true"):
        done = in_a_shell(line)
        assert (done.returncode, done.stderr) == (0, ""), line
    for line in ("ls nowhere 2>&1 | true", "ls --nonsense 2>&1 | true", "ls nowhere 2>/dev/full", "ls a.log >/dev/full 2>&1"):
        done = in_a_shell(line)
        assert (done.returncode, done.stderr) == (2, ""), line
    done = in_a_shell("ls a.log >/dev/full")
    assert (done.returncode, done.stderr) == (2, "tltui: input or output: No space left on device\n")


# without PATH


def test_no_path_and_no_torch_trace(tltui: Command) -> None:
    for arguments in ([], ["ls"], ["show"], ["damage"]):
        tltui(*arguments, code=2)
        assert "no PATH given, and TORCH_TRACE is not set" in tltui.err
        assert "TORCH_TRACE=/tmp/tracedir python train.py" in tltui.err


def test_torch_trace_stands_for_path(tltui: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TRACE", BREAKS)
    assert tltui("ls") == tltui("ls", BREAKS)
    assert "graph break" in tltui()


def test_demo_stands_wherever_path_may(tltui: Command) -> None:
    assert "rank 1" in tltui("ls", "--demo")
    assert tltui("show", "--demo", "0:0/0:dynamo_output_graph") == tltui("show", "0:0/0:dynamo_output_graph", "--demo")


def test_latest(tmp_path: Path, tltui: Command) -> None:
    for number, name in enumerate(("old", "new")):
        path = mt.write(tmp_path, mt.chromium(ts=1.7e15 + number * 1e12) + mt.compiled(number, 0), f"{name}.log")
        os.utime(path, (1.7e9 + number * 1e6 + 5,) * 2)
    assert "[1/0]" in tltui("ls", str(tmp_path), "--latest")
    assert "[0/0]" not in tltui("ls", str(tmp_path), "--latest")
    assert "[0/0]" in tltui("ls", str(tmp_path))


# terminals and pipes


def test_head_has_no_traceback() -> None:
    for arguments in ("ls", "records", "show"):
        done = in_a_shell(f"{arguments} {TRACES / 'torch-2.13'} | head -1")
        assert done.stderr == ""
        assert done.returncode == 0
        assert done.stdout.count("\n") == 1


def test_a_large_artifact_into_head(tmp_path: Path) -> None:
    path = mt.write(tmp_path, mt.artifact("a", "line\n" * 400_000, frame=0, compile=0))
    for more in ("", "--raw", "--json"):
        done = in_a_shell(f"show {path} 0/0:a {more} | head -1")
        assert (done.stderr, done.returncode) == ("", 0)


def test_without_a_terminal_the_summary_is_printed(tltui: Command) -> None:
    done = run_apart(BREAKS)
    assert done.returncode == 0
    assert done.stdout == tltui("summary", BREAKS)
    assert done.stderr == "tltui: standard input is not a terminal: printing the summary\n"


def in_a_terminal(*arguments: str, **env: str) -> tuple[int, str]:
    """Run on a pseudoterminal until it ends."""
    leader, follower = pty.openpty()
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "COLUMNS": "100", "LC_ALL": "C.UTF-8", **env}
    command = [sys.executable, "-m", "tltui", *arguments]
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=clean)
    os.close(follower)
    text = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        text += data
    os.close(leader)
    return process.wait(timeout=60), text.decode().replace("\r\n", "\n")


def test_a_dumb_terminal_gets_the_summary(tltui: Command) -> None:
    code, text = in_a_terminal(BREAKS, TERM="dumb")
    assert code == 0
    assert text.startswith("tltui: TERM=dumb: this terminal cannot draw the UI: printing the summary\n")
    assert text.partition("\n")[2] == tltui("summary", BREAKS), "and no color"


def test_a_terminal_gets_colours_but_not_with_no_color() -> None:
    assert "\x1b[" in in_a_terminal("ls", BREAKS, TERM="xterm-256color")[1]
    assert "\x1b" not in in_a_terminal("ls", BREAKS, TERM="xterm-256color", NO_COLOR="1")[1]


def test_a_locale_without_these_characters(tmp_path: Path) -> None:
    done = run_apart("ls", BREAKS, env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    path = mt.write(tmp_path, mt.artifact("a", "héllo ✓", frame=0, compile=0))
    done = run_apart("show", str(path), "0/0:a", env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"})
    assert done.stdout == "h\\xe9llo \\u2713\n"


def test_the_console_script_is_there() -> None:
    script = shutil.which("tltui", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("tltui is not installed as a script here")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("tltui ")
