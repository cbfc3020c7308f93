"""Profiles that are named, or lie beside the logs: by their content, packed or not."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tltui.model.follow import Follower, open_run
from tltui.model.run import Run, settle
from tltui.questions.runtime.profile_results import Runtime
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.sources.discover import NoProfileThere, NothingFound, discover, profiles_at

CASES = Path(__file__).parents[1] / "traces" / "profiler"
MLP, PROFILE = CASES / "mlp", CASES / "mlp" / "profile.json"
LOG = next(MLP.glob("*.log"))


def tltui(*words: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "200"}
    own.pop("TORCH_TRACE", None)
    words = tuple(map(str, words))
    return subprocess.run([sys.executable, "-m", "tltui", *words], capture_output=True, env=own, input=stdin, check=False)


def read(*paths: Path) -> tuple[Run, list[Runtime]]:
    run = open_run(discover([str(path) for path in paths]))
    run.profiles.read()
    return run, [one for one in runtimes_of(run) if isinstance(one, Runtime)]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A directory with the log alone."""
    (tmp_path / "job").mkdir()
    shutil.copy(LOG, tmp_path / "job")
    return tmp_path / "job"


@pytest.mark.parametrize("name", ["x", "host_12.34.pt.trace.json", "trace.log"])
def test_it_is_found_by_its_content(job: Path, name: str) -> None:
    shutil.copy(PROFILE, job / name)
    run, found = read(job)
    assert [own.name for own in run.discovered.profiles] == [str(job / name)] and len(found) == 1
    assert run.discovered.others == 0 and not run.discovered.skipped


def test_it_is_found_packed(job: Path) -> None:
    (job / "a.pt.trace.json.gz").write_bytes(gzip.compress(PROFILE.read_bytes()))
    (job / "b.json.xz").write_bytes(lzma.compress(PROFILE.read_bytes()))
    run, found = read(job)
    assert len(found) == 2 and [own.compiles for own in found[:1]] == [own.compiles for own in found[1:]]
    assert len(run.models) == 1


def test_it_is_found_in_an_archive(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "job.tar.gz", "w:gz") as archive:
        archive.add(LOG, "job/x.log")
        archive.add(PROFILE, "job/profile.json")
    run, found = read(tmp_path / "job.tar.gz")
    assert len(found) == 1 and found[0].profile.endswith("job.tar.gz!job/profile.json")
    assert len(run.models) == 1


def test_other_json_is_none(job: Path) -> None:
    for name, text in {"a.json": "[]", "b.json": '{"traceEvents": []}', "c.json": '{"schemaVersion": 1}', "d.json": "{"}.items():
        (job / name).write_text(text)
    run, found = read(job)
    assert found == [] and run.discovered.profiles == () and run.discovered.others == 4


def test_it_may_be_a_path_of_its_own(job: Path) -> None:
    run, found = read(job / LOG.name, PROFILE)
    assert len(found) == 1 and len(run.models) == 1
    with pytest.raises(NothingFound, match=r"a torch\.profiler profile"):
        discover([str(PROFILE)])


def test_it_is_only_read_when_it_is_asked_for(job: Path) -> None:
    shutil.copy(PROFILE, job)
    run = open_run(discover([str(job)]))
    assert runtimes_of(run) == () and len(run.profiles.unread) == 1
    assert b"Profiles" in (said := tltui("summary", job).stdout) and b"not read" in said and b"profile.json" in said
    assert b"not read" not in tltui("summary", job, "--profile", PROFILE, "--profile", job).stdout


def test_several_are_named(tmp_path: Path) -> None:
    shutil.copy(PROFILE, tmp_path / "a.json")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(PROFILE.read_bytes()))
    (tmp_path / "other.json").write_text("{}")
    assert [Path(own.path).name for own in profiles_at([str(tmp_path)])] == ["a.json", "b.json.gz"]
    assert len(profiles_at([str(tmp_path / "a.json"), str(tmp_path / "a.json"), str(tmp_path)])) == 2
    (tmp_path / "empty").mkdir()
    for wrong in ("nowhere", "other.json", "empty"):
        with pytest.raises(NoProfileThere, match=wrong):
            profiles_at([str(tmp_path / wrong)])


def test_every_command_takes_it(job: Path) -> None:
    for command in (["ls"], ["summary"], ["runtime"], ["check"], ["grep", "gelu"]):
        done = tltui(*command, job, "--profile", PROFILE)
        assert done.returncode in (0, 1) and done.stdout, (command, done.stderr)


@pytest.mark.parametrize("text, why", [
    (b"{}", b"not a torch.profiler export: JSON"), (b"[1]", b"a JSON list"), (b"\x7fELF", b"not a JSON object"),
    (b"", b"not a JSON object"), (None, b"No such file"), (b"\x1f\x8b\x08\x00broken", b"not a JSON object"),
])  # fmt: skip
def test_what_is_named_and_is_none_ends_with_2(job: Path, text: bytes | None, why: bytes) -> None:
    path = job.parent / "named.json"
    if text is not None:
        path.write_bytes(text)
    done = tltui("ls", job, "--profile", path)
    assert done.returncode == 2 and why in done.stderr and b"named.json" in done.stderr and done.stdout == b""
    assert done.stderr.endswith(b"\n  to record a profile: tltui run --record-steps 5:10 -- python train.py\n")
    assert done.stderr.count(b"\n") == 2


def test_a_hostile_name_reaches_no_terminal(job: Path) -> None:
    done = tltui("ls", job, "--profile", job.parent / "a\x1b[31mb")
    assert done.returncode == 2 and b"\x1b" not in done.stderr


def test_it_comes_while_the_job_is_followed(job: Path) -> None:
    run = Run(discover([str(job)]))
    follower = Follower(run, run.discovered.discovery, clock=iter(range(1, 10_000)).__next__)
    for event in follower.read():
        run.update(event)
    settle(run)
    assert not run.profiles

    def look() -> None:
        for _ in range(20):
            for event in follower.poll():
                run.update(event)

    half = PROFILE.read_bytes()
    (job / "profile.json").write_bytes(half[: len(half) // 2])
    look()
    assert not run.profiles  # it is being written, as far as its time tells
    (job / "profile.json").write_bytes(half)
    long_ago = time.time() - 60
    os.utime(job / "profile.json", (long_ago, long_ago))
    look()
    run.profiles.read()
    (found,) = runtimes_of(run)
    assert isinstance(found, Runtime) and found.doubts == ()


def test_what_is_read_anew_is_only_what_changed(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        shutil.copy(PROFILE, tmp_path / name)
    run = open_run(discover([str(LOG)]))
    run.profiles.add(profiles_at([str(tmp_path)]))
    run.profiles.read()
    first = [file.profile for file in run.profiles.files]
    text = json.loads(PROFILE.read_text())
    text["traceEvents"] = text["traceEvents"][:100]
    (tmp_path / "b.json").write_text(json.dumps(text))
    run.profiles.add(profiles_at([str(tmp_path)]))
    assert [file.is_read for file in run.profiles.files] == [True, False]
    run.profiles.read()
    assert run.profiles.files[0].profile is first[0] and run.profiles.files[1].profile is not first[1]
