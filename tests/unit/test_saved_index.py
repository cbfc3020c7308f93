"""A saved index tells what its logs tell: with and without them, merged, grown, redacted, and in anybody's hands."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from indexing import HOST, all_of, index
from ranked import ranked
from real import LOGS, TRACES, fresh, opened
from replaying import OPTIONS, texts_of
from test_redact import WORDS

from tltui.cli import main
from tltui.export import to_json
from tltui.inputs.index.indexed_log import STREAM, Elsewhere, IndexFile
from tltui.model.artifacts import artifacts_of
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.questions.ranks.lanes import indexed_lanes, read_lanes
from tltui.sources.discover import NothingFound, discover
from tltui.text.steps import run_steps
from tltui.tree.listing import listing_data, listing_document
from tltui.writers.index import log_part, settled

PAGES = (
    "summary", "problems", "recompiles", "stacks", "guards", "shapes", "caches", "timing", "where", "absent", "metrics", "ranks",
)  # fmt: skip
COMMANDS = (
    ["ls"], ["summary"], ["records"], ["grep", "graph_break"], ["damage"], ["show", "0/0"], ["check"], ["problems", "--json"],
)  # fmt: skip
JOBS = sorted({path.parent for path in LOGS if path.parent != TRACES / "tlparse"} | set((TRACES / "tlparse").glob("*.log")))
KEY = b"k" * 32


def listed(run: Run) -> dict[str, Any]:
    """The tree, without the names under which it was opened."""
    found = dict(listing_data(run))
    found.pop("path")
    return found


def pages(run: Run, names: tuple[str, ...] = PAGES) -> dict[str, list[str]]:
    there = [view.name for view in QUESTIONS if view.name in names]
    return {name: texts_of(build(run, f"@{name}", OPTIONS)) for name in there}


def without_profiles(job: Path, into: Path) -> Path:
    """The logs of a job alone: what an index tells of them, and not of profiles beside them."""
    if job.parent.name != "profiler":
        return job
    (into / "logs").mkdir()
    return Path(shutil.copytree(job, into / "logs" / job.name, ignore=shutil.ignore_patterns("*.json", "*.json.*")))


def without_name(found: dict[str, list[str]], *names: str) -> dict[str, list[str]]:
    """Pages without the name of what was opened."""
    return {page: [line for line in lines if not any(name in line for name in names)] for page, lines in found.items()}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: str(job.relative_to(TRACES)))
def test_it_tells_what_the_logs_tell(job: Path, tmp_path: Path) -> None:
    job = without_profiles(job, tmp_path)
    run = fresh(job) if job.is_relative_to(tmp_path) else opened(job)
    saved = index([job], tmp_path / job.name)
    alone, beside = fresh(saved), fresh(saved, job)
    assert {log.is_here for log in alone.discovered.logs} == {False}
    assert [(bool(log.index), log.is_here) for log in beside.discovered.logs] == [(True, True)] * len(run.discovered.logs)
    assert to_json(listed(alone)) == to_json(listed(beside)) == to_json(listed(run))
    assert without_name(pages(alone), job.name) == without_name(pages(beside), job.name) == without_name(pages(run), job.name)


def test_a_lean_one_has_the_tree_and_says_where_texts_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = TRACES / "torch-2.13" / "mesh"
    lean, full = index([job], tmp_path / "lean.tlx", lean=True), index([job], tmp_path / "full.tlx")
    assert lean.stat().st_size * 5 < full.stat().st_size
    run = fresh(lean)
    assert to_json(listed(run)) == to_json(listed(opened(job)))
    assert main(["guards", str(lean)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tltui: payload is on {HOST}:{job}/") and f"ssh -- {HOST} 'tltui show {job}/" in said
    assert pages(fresh(lean, job), ("problems", "timing")) == pages(opened(job), ("problems", "timing"))


def test_a_payload_that_is_elsewhere_is_said_to_be_there_with_the_way_to_it(tmp_path: Path) -> None:
    job = TRACES / "torch-2.13" / "mesh"
    run = fresh(index([job], tmp_path / "x.tlx"))
    graph = next(a for c in run.compiles() for a in artifacts_of(c) if a.name in ("aot_joint_graph", "aot_inference_graph"))
    lines = texts_of(build(run, str(graph.ref), OPTIONS))
    assert any(f"ssh -- {HOST} 'tltui show {graph.log.path} " in line and f":{graph.name}" in line for line in lines)
    here = fresh(tmp_path / "x.tlx", job)
    assert texts_of(build(here, str(graph.ref), OPTIONS)) == texts_of(build(opened(job), str(graph.ref), OPTIONS))


@pytest.mark.parametrize("view", ["provenance", "layers", "memory"])
def test_a_page_of_several_compiles_shows_what_is_here_and_names_the_rest(
    view: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = TRACES / "torch-2.13" / "mesh"
    saved = index([job], tmp_path / "x.tlx")
    whole = texts_of(build(opened(job), f"@{view}", OPTIONS))
    assert texts_of(build(fresh(saved, job), f"@{view}", OPTIONS)) == whole
    away = texts_of(build(fresh(saved), f"@{view}", OPTIONS))
    assert any(line.startswith("Not in the index (") for line in away)
    assert any(line.strip().startswith(f"ssh -- {HOST} 'tltui {view} {job}/") for line in away)
    one = sorted(job.glob("*.log"))[0]
    half = texts_of(build(fresh(saved, one), f"@{view}", OPTIONS))
    told = [line for line in whole if line.startswith("[0:")]
    assert (told or view != "provenance") and [line for line in half if line.startswith("[0:")] == told
    assert not any(one.name in line for line in half) and any(line.startswith("Not in the index (") for line in half)
    assert main([view, str(saved), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    missing = (
        result["not_available"] if view == "provenance"
        else [own for own in result if "payload is on" in own["units" if view == "layers" else "graphs"][0]["reason"]]
    )
    assert f"({len(missing)} compiles)" in next(line for line in away if line.startswith("Not in the index"))


def test_what_an_index_keeps_is_extracted_though_other_payloads_are_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = TRACES / "torch-2.13" / "mesh"
    saved = index([job], tmp_path / "x.tlx")
    assert main(["extract", str(job), "-o", str(tmp_path / "all")]) == 0
    assert main(["extract", str(saved), "-o", str(tmp_path / "kept")]) == 2
    assert f"The first: payload is on {HOST}:{job}/" in capsys.readouterr().err
    there, kept = ({str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}
                   for top in (tmp_path / "all", tmp_path / "kept"))  # fmt: skip
    assert 0 < len(kept) < len(there)
    assert kept.items() <= there.items()
    assert any(name.endswith("compilation_metrics.json") for name in kept)


def test_every_command_opens_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job, saved = TRACES / "torch-2.13" / "breaks", tmp_path / "x.tlx"
    assert main(["index", str(job), "-o", str(saved)]) == 0
    capsys.readouterr()
    for command in COMMANDS:
        before, after = ([main([command[0], str(path), *command[1:]]), capsys.readouterr().out] for path in (job, saved))
        names = (str(saved), str(job), saved.name, job.name)
        texts = ["".join(re.split("|".join(map(re.escape, names)), str(out))) for out in (before[1], after[1])]
        assert before[0] == after[0], command
        if command[0] not in ("damage", "ls", "grep"):
            assert texts[0] == texts[1], command
    assert main(["bundle", str(saved), "-o", str(tmp_path / "b.log")]) == 2
    assert "not only its index" in capsys.readouterr().err
    assert main(["case", str(saved), "-o", str(tmp_path / "c.zip")]) == 2
    assert "not only their index. Add the directory of the logs" in capsys.readouterr().err
    assert not (tmp_path / "c.zip").exists()
    assert main(["case", str(saved), "--preview"]) == 0
    assert "only in an index" in capsys.readouterr().out
    assert main(["case", str(saved), str(job), "-o", str(tmp_path / "c.zip")]) == 0


def test_several_are_one_run_and_nothing_is_opened_twice(tmp_path: Path) -> None:
    job = TRACES / "torch-2.13" / "ddp"
    logs = sorted(path for path in LOGS if path.parent == job)
    (tmp_path / "all").mkdir()
    for number, log in enumerate(logs):
        index([log], tmp_path / "all" / f"{number}.tlx", host=f"node{number}")
    index([job], tmp_path / "all" / "again.tlx", host="node0")
    run = fresh(tmp_path / "all")
    assert len(run.models) == len(logs)
    for number in range(len(logs)):
        other = tmp_path / "other" / f"{number}.tlx"
        other.parent.mkdir(exist_ok=True)
        moved = tmp_path / f"moved{number}" / logs[number].name
        moved.parent.mkdir()
        moved.write_bytes(logs[number].read_bytes().replace(b"cpu", b"gpu"))
        index([moved], other, host="node5")
    assert len(fresh(tmp_path / "all", tmp_path / "other").models) == 2 * len(logs)
    assert to_json(listed(fresh(tmp_path / "all", job))) == to_json(listed(opened(job)))
    whole = index([tmp_path / "all" / "again.tlx"], tmp_path / "copy.tlx", host="elsewhere")
    assert whole.read_bytes() == (tmp_path / "all" / "again.tlx").read_bytes()


def cut_at(data: bytes, part: float) -> bytes:
    return data[: int(len(data) * part)]


@pytest.mark.parametrize("part", (0.0, 0.1, 0.37, 0.5, 0.93, 1.0))
def test_what_has_grown_is_read_on(part: float, tmp_path: Path) -> None:
    data = next(path for path in LOGS if path.parent.name == "breaks").read_bytes()
    log = tmp_path / "qjobq" / "dedicated_log_torch_trace_x.log"
    log.parent.mkdir()
    log.write_bytes(data)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    [found] = discover([str(log)]).logs
    log.write_bytes(cut_at(data, part) or b"\n")
    os.utime(log, (1_700_000_000, 1_700_000_000))
    before = tmp_path / "before.tlx"
    before.write_bytes(log_part(found))
    reached = IndexFile(str(before)).logs[0].reached
    assert reached <= len(data) * part + 1 and (part < 0.2 or reached > len(data) * part * 0.8)
    log.write_bytes(data)
    os.utime(log, (1_700_000_000, 1_700_000_000))
    run = fresh(before, log.parent)
    assert bool(run.discovered.logs[0].index) == (reached > 0)
    assert to_json(listed(run)) == to_json(listed(fresh(log.parent)))
    assert without_name(pages(run), "before.tlx") == without_name(pages(fresh(log.parent)), "qjobq")
    after, scratch = index([before, log.parent], tmp_path / "after.tlx"), index([log.parent], tmp_path / "fresh.tlx")
    assert after.read_bytes() == scratch.read_bytes()


def test_what_did_not_change_is_copied_and_comes_out_the_same(tmp_path: Path) -> None:
    """From the index, not from the log: a mark in the old index is found in the new one."""
    job = tmp_path / "job"
    shutil.copytree(TRACES / "torch-2.13" / "mesh", job)
    old, fresh_one = index([job], tmp_path / "old.tlx"), index([job], tmp_path / "fresh.tlx")
    assert index([old, job], tmp_path / "again.tlx").read_bytes() == fresh_one.read_bytes()
    assert index([old, job], tmp_path / "other.tlx", host="node3").read_bytes() == index(
        [job], tmp_path / "there.tlx", host="node3"
    ).read_bytes(), "who reads it says on which host it is"
    assert index([old, job], tmp_path / "lean.tlx", lean=True).read_bytes() == index(
        [job], tmp_path / "thin.tlx", lean=True
    ).read_bytes()
    first = sorted(job.glob("*.log"))[0]
    [known] = settled([log for log in discover([str(old), str(job)]).logs if log.path == str(first)])
    [marked] = [log for log in IndexFile(str(old)).logs if log.path == str(first)]
    data = bytearray(old.read_bytes())
    data[marked.sections[STREAM].offset + 5] ^= 1
    (tmp_path / "damaged.tlx").write_bytes(data)
    damaged = replace(known, index=str(tmp_path / "damaged.tlx"))
    whole = log_part(known)
    assert log_part(damaged) == whole == log_part(replace(known, index="", number=0)), "what is damaged is read from the log"
    changed, other = first.stat().st_mtime_ns, bytearray(first.read_bytes())
    other[len(other) // 2] ^= 1
    first.write_bytes(other)
    os.utime(first, ns=(changed, changed))
    assert log_part(known) == whole, "a log of that size and time was not read"
    os.utime(first, ns=(changed, changed + 1))
    assert log_part(known) != whole


def test_a_log_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    data = next(path for path in LOGS if path.parent.name == "breaks").read_bytes()
    log = tmp_path / "dedicated_log_torch_trace_x.log"
    log.write_bytes(data)
    saved = index([log], tmp_path / "x.tlx")
    for other in (data[: len(data) // 2], b"\n" + data, data[:100] + b"x" + data[101:], data[:-99] + b"x" + data[-98:]):
        log.write_bytes(other)
        run = fresh(saved, log)
        assert to_json(listed(run)["ranks"]) == to_json(listed(fresh(log))["ranks"])
        assert len(run.models) == 1 and any("changed since the index was made" in note for note in run.discovered.notes)


def test_an_older_file_of_that_name_is_made_new_with_what_it_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job, saved = TRACES / "torch-2.13" / "breaks", tmp_path / "x.tlx"
    assert main(["index", str(job), "-o", str(saved)]) == 0
    first = saved.read_bytes()
    assert main(["index", str(job), "-o", str(saved)]) == 0
    assert saved.read_bytes() == first
    saved.write_bytes(first[:-9])
    assert main(["index", str(job), "-o", str(saved)]) == 0
    assert saved.read_bytes() == first and sorted(path.name for path in tmp_path.iterdir()) == ["x.tlx"]


def test_one_of_another_version_or_cut_off_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tltui.inputs.index.format import MAGIC, write_directory

    job, saved = TRACES / "torch-2.13" / "mesh", tmp_path / "x.tlx"
    good = index([job], saved).read_bytes()
    other = MAGIC + write_directory({"format": 2, "logs": []}, len(MAGIC))
    damaged = good[:-5] + b"x" + good[-4:]
    for data, why in ((other, "format 2"), (good[:-1], "truncated"), (good[:40], "truncated"), (damaged, "truncated")):
        saved.write_bytes(data)
        assert main(["ls", str(saved)]) == 2
        said = capsys.readouterr().err
        assert why in said.splitlines()[0] and said.count("\n") == 2
        assert main(["ls", str(saved), str(job)]) == 0
        assert why in capsys.readouterr().out


def test_a_stranger_can_have_nothing_read_and_nothing_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import replace

    secret = tmp_path / "secret.log"
    secret.write_bytes(next(path for path in LOGS if path.parent.name == "mesh").read_bytes())
    [found] = discover([str(secret)]).logs
    opened_files: list[str] = []
    watching = [False]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching[0] and event in ("open", "os.scandir", "os.listdir"):
            opened_files.append(str(arguments[0]))

    sys.addaudithook(hook)
    for label, host in (
        (str(secret), "localhost"), ("../../secret.log", "-oProxyCommand=touch x"), ("/tmp/$(touch x)/a.log", "node17"),
        ("/tmp/a\x1b]0;x\x07.log", "node17"), ("/tmp/a\nrm -rf ~.log", "node\n17"), ("/tmp/'; touch x; '.log", "a;b"),
        ("/tmp/\u202egol.log", "node17"),
    ):  # fmt: skip
        saved = tmp_path / "stranger.tlx"
        from tltui.writers.index import merged

        saved.write_bytes(b"".join(merged([log_part(replace(found, label=label))], host)))
        watching[0] = True
        run = fresh(saved)
        said = []
        for compile_ in run.compiles():
            for artifact in artifacts_of(compile_):
                said += texts_of(build(run, str(artifact.ref), OPTIONS))
        for page in (listing_document(run, OPTIONS), build(run, "@summary", OPTIONS), build(run, "", OPTIONS)):
            said += texts_of(page)
        watching[0] = False
        assert not any(character in "\x1b\x07\x00\u202e\r" for line in said for character in line)
        commands = [line for line in said if "ssh --" in line]
        assert bool(commands) == (host in ("localhost", "node17") and label.isprintable() and label.startswith("/"))
        for line in commands:
            import shlex

            words = shlex.split(line)
            assert words[:3] == ["ssh", "--", host] and shlex.split(words[3])[:3] == ["tltui", "show", label]
    assert not any(str(secret) in name for name in opened_files)


def planted_words() -> set[str]:
    """Read the words of the user's in the planted traces, as beginnings that random bytes of a digest do not spell by chance."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in (TRACES / "planted").rglob("*") if path.is_file())
    return {word for text in texts for word in re.findall(r"zq[a-z]{3}", text.lower())}


def test_of_a_redacted_one_nothing_is_left_of_what_is_the_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    saved = tmp_path / "red.tlx"
    assert main(["index", str(TRACES / "planted"), "--redact", "-o", str(saved)]) == 0
    everything = re.sub(r"[0-9a-f]{15,}|[0-9]{6,}", "", all_of(saved).decode("utf-8", "replace").lower())
    host = socket.gethostname().lower()
    words = planted_words()
    assert len(words) > 50
    for word in (*words, "/work", "planted", "ctc6br28", f'"host": "{host}"', *WORDS):
        assert word.lower() not in everything, word
    run = fresh(saved)
    assert [str(c.status) for c in run.compiles()] == [str(c.status) for c in opened(TRACES / "planted").compiles()]
    assert main(["index", str(saved), "-o", str(tmp_path / "y.tlx"), "--redact"]) == 0


def test_ranks_are_called_alike_in_redacted_ones_of_each(tmp_path: Path) -> None:
    ranked(tmp_path / "job", "--ranks", 3, "--compiles", 2, "--detail", "tiny", "--seed", 5)
    logs = sorted((tmp_path / "job").rglob("*.log"))
    one, three = index(logs, tmp_path / "one.tlx", key=KEY), index(logs, tmp_path / "same.tlx", key=KEY)
    assert one.read_bytes() == three.read_bytes()
    assert len({process.course for process in IndexFile(str(one)).saved}) == 1


def test_ranks_of_an_index_are_compared_without_their_logs(tmp_path: Path) -> None:
    ranked(tmp_path / "job", "--ranks", 8, "--compiles", 4, "--recompiles", 1, "--detail", "tiny", "--plant", "all", "--seed", 3)
    run = fresh(tmp_path / "job")
    saved = fresh(index([tmp_path / "job"], tmp_path / "x.tlx"))
    assert saved.crowd is not None
    known = indexed_lanes(saved.crowd)
    before, after = run_steps(read_lanes(run)), [lane for rank in known.ranks if (lane := known.lane(rank)) is not None]
    assert len(before) == 8
    for old, new in zip(before, after, strict=True):
        for fact in ("rank", "ref", "pid", "process", "ended", "inside", "older"):
            assert getattr(old, fact) == getattr(new, fact)
        assert old.course.digest == new.course.digest and old.course.steps == new.course.steps
        assert repr(old.times.begin) == repr(new.times.begin) and repr(old.times.took) == repr(new.times.took)
        assert bool(new.times.phases) == any(step.status == "ok" for step in new.course.steps)
        assert all(len(own) == len(new.course.steps) for own in new.times.phases.values())
        digests = {digest for step in old.course.steps for digest in step.facets} & old.course.texts.keys()
        assert {digest: new.course.texts[digest] for digest in digests} == {digest: old.course.texts[digest] for digest in digests}
    courses = {id(lane.course) for lane in after}
    assert len(courses) == len({lane.course.digest for lane in after})


def test_damage_by_chance_gives_a_refusal_or_the_same_tree(tmp_path: Path) -> None:
    job = TRACES / "torch-2.13" / "mesh"
    saved = index([job], tmp_path / "x.tlx")
    good, want = saved.read_bytes(), to_json(listed(opened(job)))
    rng = random.Random(14)
    refused = 0
    for _ in range(1000):
        data = bytearray(good)
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        elif rng.random() < 0.2:
            at = rng.randrange(len(data))
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        else:
            for _ in range(rng.choice((1, 1, 1, 2, 8))):
                data[rng.randrange(len(data) if rng.random() < 0.5 else 4000)] ^= 1 << rng.randrange(8)
        saved.write_bytes(data)
        try:
            run = fresh(saved)
        except NothingFound as nothing:
            assert len(str(nothing).splitlines()) == 1
            refused += 1
            continue
        try:
            same = to_json(listed(run)) == want
        except OSError as error:
            assert str(error).startswith(f"{saved}: damaged index")
            refused += 1
        else:
            assert same or run.failures
            refused += bool(run.failures)
    assert refused > 300


def test_a_damaged_text_is_an_error_and_no_other_text(tmp_path: Path) -> None:
    job = TRACES / "torch-2.13" / "mesh"
    good = index([job], tmp_path / "x.tlx").read_bytes()
    want = [line for lines in pages(opened(job), ("problems", "guards")).values() for line in lines]
    rng = random.Random(2)
    for number in range(40):
        data = bytearray(good)
        for _ in range(20):
            data[rng.randrange(len(MAGIC), len(data) - 3000)] ^= 1 << rng.randrange(8)
        saved = tmp_path / f"{number}.tlx"
        saved.write_bytes(data)
        try:
            found = pages(fresh(saved), ("problems", "guards"))
        except (NothingFound, OSError) as error:
            assert str(error)
            continue
        if not fresh(saved).failures:
            assert [line for lines in found.values() for line in lines] == want


MAGIC = b"12345678"


def test_where_a_text_is_elsewhere_the_error_says_so() -> None:
    error = Elsewhere("node17", "/tmp/a b.log")
    assert error.command("0/1:x") == """ssh -- node17 'tltui show '"'"'/tmp/a b.log'"'"' 0/1:x'"""
    assert Elsewhere("node17", "relative").command() == "" == Elsewhere("a b", "/x").command()


def test_the_key_of_an_index_is_never_that_of_one_that_is_gone(tmp_path: Path) -> None:
    """Blocks are cached by it: Python gives the id of an object that is gone to a new one."""
    path = str(index([TRACES / "torch-2.13" / "breaks"], tmp_path / "run.tlx"))
    keys = []
    for _ in range(100):
        keys.append(IndexFile(path).key)
        gc.collect(0)
    assert len(set(map(id, keys))) == len(keys)
