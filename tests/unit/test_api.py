"""The Python API: what it gives is what the commands print, and it stands by itself."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pickle
import pydoc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ranked import ranked
from real import DEMO, ROOT, TRACES

import tltui
from tltui.api import errors
from tltui.api.results import Result
from tltui.cli import main
from tltui.cli.registry import COMMANDS, parser_of
from tltui.questions.index import QUESTIONS

FUSION = "inputs/fusion"
MLP = TRACES / "profiler" / "mlp"
OWN = (
    "run", "try", "tail", "watch", "list", "mcp", "show", "case", "index", "repro", "bundle", "report", "config", "completions",
    "schema", "guide", "glossary",
)  # fmt: skip
"""Commands that start, follow or write something, or are about tltui itself; `show` is `print(run[…])`."""


@pytest.fixture(scope="module")
def demo() -> Iterator[tltui.Run]:
    with tltui.open(DEMO) as run:
        yield run


@pytest.fixture(scope="module")
def mlp() -> Iterator[tltui.Run]:
    with tltui.open(MLP) as run:
        yield run


def printed(capsys: pytest.CaptureFixture[Any], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """What a command prints, without folds, as the API has its pages."""
    monkeypatch.setenv("COLUMNS", "100")
    unfolds = "--json" not in arguments and parser_of(arguments[0]).has_option("--all")
    main([*arguments, *(["--all"] if unfolds else [])])
    return str(capsys.readouterr().out)


def every(run: tltui.Run, ref: str = "") -> Iterator[tuple[str, Result[Any, Any]]]:
    """All views."""
    for view in QUESTIONS:
        yield view.name, getattr(tltui, view.name)(run, ref)


def test_each_view_and_each_command_that_prints_has_a_function() -> None:
    for name in COMMANDS:
        assert (name in tltui.__all__) == (name not in OWN), name
        if name not in OWN and name != "extract":
            parameters = inspect.signature(getattr(tltui, name)).parameters
            assert next(iter(parameters)) == "run" and parameters["width"].kind is inspect.Parameter.KEYWORD_ONLY, name
    assert all(inspect.signature(getattr(tltui, view.name)).parameters["ref"].default == "" for view in QUESTIONS)


@pytest.mark.parametrize(("path", "ref"), [(DEMO, ""), (DEMO, "0:0/0"), (MLP, "0/0")], ids=["demo", "one", "mlp"])
def test_they_say_what_the_commands_print(
    path: Path, ref: str, capsys: pytest.CaptureFixture[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("PATH").symlink_to(path)  # the path in the commands that a result of the API recommends
    for view in QUESTIONS:  # a run each: other views show a profile that was read
        with tltui.open("PATH") as run:
            name, found = view.name, getattr(tltui, view.name)(run, ref)
            arguments = [name, "PATH", *([ref] if ref else [])]
            assert printed(capsys, monkeypatch, *arguments, "--all") == found.text + "\n" == f"{found}\n", name
            assert printed(capsys, monkeypatch, *arguments, "--json") == found.to_json() + "\n", name
            assert found.to_dict() == json.loads(found.to_json())


def test_other_commands_too(demo: tltui.Run, capsys: pytest.CaptureFixture[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    path, left, right = str(DEMO), "0:0/0:dynamo_cpp_guards_str", "0:4/0:dynamo_cpp_guards_str"
    for arguments, found in (
        (("ls", path), tltui.ls(demo)),
        (("check", path, "--fail-on", "error,break"), tltui.check(demo, "error,break")),
        (("check", path, "--fail-on", "break=+1", "--baseline", path), tltui.check(demo, "break=+1", baseline=demo)),
        (("diff", path, left, right), tltui.diff(demo, left, right)),
        (("diff", path, "0:4/0", "0:4/1"), tltui.diff(demo, "0:4/0", demo["0:4/1"])),
        (("diff", path, "--with", path), tltui.diff(demo, other=demo)),
        (("grep", "addmm", path, "-C", "1"), tltui.grep(demo, "addmm", context=1)),
        (("source", path, "model.py:30"), tltui.source(demo, "model.py:30")),
        (("records", path, "0:4/1"), tltui.records(demo, "0:4/1")),
        (("damage", path), tltui.damage(demo)),
    ):
        assert printed(capsys, monkeypatch, *arguments, "--all") == found.text + "\n", arguments
        assert printed(capsys, monkeypatch, *arguments, "--json") == found.to_json() + "\n", arguments
        flat(found)


@pytest.mark.parametrize("ref", ["0:4/1", "0:4/", "1:", "0:0/0:inductor_output_code#1"])
def test_a_place_says_what_show_prints(
    ref: str, demo: tltui.Run, capsys: pytest.CaptureFixture[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert printed(capsys, monkeypatch, "show", str(DEMO), ref) == f"{demo[ref]}\n"
    assert printed(capsys, monkeypatch, "show", str(DEMO), ref, "--json") == demo[ref].to_json() + "\n"
    assert demo[ref].ref == ref and len(repr(demo[ref])) < 80 and demo[ref] == demo[ref]


def flat(found: Any) -> None:
    """Its records are flat, alike, and what its rows say."""
    records = found.to_records()
    assert len(records) == len(found)
    for record, row in zip(records, found, strict=True):
        assert list(record) == list(records[0])
        assert all(type(value) in (str, int, float, bool, type(None)) for value in record.values()), record
        if dataclasses.is_dataclass(row):
            values = {key: getattr(row, key) for key in record}
            joined = {key: ", ".join(map(str, value)) if isinstance(value, tuple) else value for key, value in values.items()}
            assert joined == record
    json.dumps(records, allow_nan=False)


FLAT = ["torch-2.13/breaks", "ranks", "layers", "torch-2.8", "versions", "hangs/lowering", "tlparse"]


@pytest.mark.parametrize("name", FLAT)
def test_records_are_flat(name: str) -> None:
    with tltui.open(*sorted(TRACES.glob(f"{name}/**/*.log*"))[:4]) as run:
        for nodes in (run.ranks, run.processes, run.frames, run.compiles, run.artifacts):
            flat(nodes)
        for _, found in every(run):
            flat(found)
        for _, found in every(run, run.compiles[0].ref):
            flat(found)


def test_points_in_time_are_microseconds() -> None:
    """`_at_us` is the unit of every point in time, in rows as in JSON (docs/json.md)."""
    seen: dict[str, float] = {}

    def visit(value: object, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                visit(inner, key)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                visit(inner, name)
        elif name.endswith("_at_us") and value:
            assert isinstance(value, (int, float)) and 1e15 < value < 1e16, (name, value)
            seen[name] = value

    with tltui.open(TRACES / "hangs" / "ranks") as run:
        visit([dataclasses.asdict(node.row()) for node in run.compiles], "")
        for view in ("summary", "where", "ranks", "timing"):
            result = getattr(tltui, view)(run)
            visit(json.loads(json.dumps(result.to_json(), default=str)), "")
            visit(result.to_records(), "")
    assert {"start_at_us", "since_at_us"} <= seen.keys()


def test_each_view_has_rows_somewhere(tmp_path: Path) -> None:
    """Where all tables of a view were empty, the test above would say nothing."""
    ranked(tmp_path, "--ranks", 8, "--compiles", 3, "--detail", "tiny", "--plant", "late_start:ranks=5,compile=1,seconds=30")
    (tmp_path / "cudagraphs.txt").write_text(
        "W1124 10:00:00.123000 411 torch/_inductor/cudagraph_utils.py:390] [0/0] [__cudagraphs] skipping cudagraphs due to x\n"
    )
    paths = {
        "cudagraphs": tmp_path / "cudagraphs.txt", "vllm": "torch-2.13/vllm_like", "exports": "torch-2.13/export_draft",
        "autotune": "inputs/autotune/trace", "blocks": "blocks",
        "stragglers": tmp_path, "layers": "profiler/mlp", "fusion": FUSION,
        "runtime": "profiler/mlp",
    }  # fmt: skip
    for view in QUESTIONS:
        there = TRACES / paths.get(view.name, DEMO)
        assert getattr(tltui, view.name)(tltui.open(there)).to_records(), view.name
    assert list(tltui.layers(tltui.open(MLP))) == list(tltui.layers(tltui.open(MLP), "0/0"))


def test_results_are_frozen_small_to_look_at_and_can_be_sent(demo: tltui.Run, mlp: tltui.Run) -> None:
    for run in (demo, mlp):
        for name, found in every(run):
            assert len(repr(found)) < 100, name
            with pytest.raises(dataclasses.FrozenInstanceError):
                found.name = "other"  # type: ignore[misc]
            again = pickle.loads(pickle.dumps(found))
            assert (again.text, again.to_json(), again.to_records(), again._repr_html_()) == (
                found.text, found.to_json(), found.to_records(), found._repr_html_(),
            ), name  # fmt: skip
            if found:
                assert found[-1] in found and found[:1] == found.rows[:1] == again[:1]
    assert pickle.loads(pickle.dumps(tltui.check(demo, "error"))).passed is False
    for own in (demo, demo["0:4/1"], demo.compiles):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(own)


def test_a_notebook_is_given_little_and_nothing_that_acts(demo: tltui.Run) -> None:
    code = demo.artifact("0:0/0:inductor_output_code#1")
    shown = [demo, demo["0:4/1"], code, demo.compiles, tltui.records(demo), tltui.problems(demo)]
    for own in shown:
        html = own._repr_html_()  # type: ignore[attr-defined]
        assert html.startswith(("<div class=tltui><style>", "<div class=tltui style='overflow-x:auto'><style>"))
        assert html.endswith("</div>\n")
        assert "<script" not in html and "javascript:" not in html and len(html) < 400_000 and len(repr(own)) < 100
    assert "more lines: print() shows all" in tltui.records(demo)._repr_html_()


def test_places_are_found_by_number_address_and_name(demo: tltui.Run) -> None:
    rank = demo.rank(0)
    assert (rank.number, demo.ranks["0:"], demo.ranks[0]) == (0, rank, rank)
    one = demo.compile("0:4/1")
    assert (one.rank, one.status, one.function, one.is_recompile, one.frame.ref) == (0, "ok", "sample", True, "0:4/")
    assert one in demo.compiles and demo.compiles["0:4/1"] == one and one.process in demo.processes and one.frame in demo.frames
    assert [own.ref for own in one.frame.compiles][:2] == ["0:4/0", "0:4/1"] and list(one.compiles) == [one]
    metrics = one.artifacts["compilation_metrics"]
    assert metrics.json()["co_name"] == "sample" and metrics.compile == one and metrics.md5_ok is None
    code = demo.artifact("0:0/0:inductor_output_code#1")
    assert code.bytes.decode() == code.text and (code.unit, code.name, code.attempt) == ("forward", "inductor_output_code", 0)
    assert "0:4/1" in demo and "0:4/99" not in demo and "what?" not in demo and 7 not in demo
    assert {"open", "problems", "Run"} <= set(dir(tltui)) and "0:4/1" in demo._ipython_key_completions_()
    assert "inductor_output_code" in demo["0:0/0"].artifacts._ipython_key_completions_()
    assert list(tltui.summary(one)) == list(tltui.summary(demo, one)) == list(tltui.summary(demo, "0:4/1"))
    with pytest.raises(TypeError, match=r"run\.compiles"):
        iter(demo)
    with pytest.raises(TypeError, match="an address must be a string"):
        demo[0]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"tltui\.open"):
        tltui.problems("/tmp")  # type: ignore[arg-type]


def failing(act: Any) -> str:
    with pytest.raises(tltui.TltuiError) as caught:
        act()
    return f"{type(caught.value).__name__}: {caught.value}"


def test_what_is_wrong_is_said_in_the_words_of_the_command_line(
    demo: tltui.Run, mlp: tltui.Run, tmp_path: Path, capsys: pytest.CaptureFixture[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("no log\n")
    path = str(DEMO)
    for act, arguments in (
        (lambda: tltui.open("/no/such"), ("ls", "/no/such")),
        (lambda: tltui.open(tmp_path), ("ls", str(tmp_path))),
        (lambda: demo["0:4/99"], ("show", path, "0:4/99")),
        (lambda: demo["0/0"], ("show", path, "0/0")),
        (lambda: demo["0:0/0:inductor_output"], ("show", path, "0:0/0:inductor_output")),
        (lambda: tltui.problems(demo, "7:"), ("problems", path, "7:")),
        (lambda: tltui.grep(demo, "("), ("grep", "(", path)),
        (lambda: tltui.check(demo, "errr"), ("check", path, "--fail-on", "errr")),
        (lambda: tltui.check(demo, "eager_share"), ("check", path, "--fail-on", "eager_share")),
        (lambda: tltui.layers(mlp, "0/0", layer="nix"), ("layers", str(MLP), "0/0", "--layer", "nix")),
        (lambda: tltui.open(path, profiles=tmp_path / "notes.md"), ("ls", path, "--profile", str(tmp_path / "notes.md"))),
        (lambda: tltui.runtime(tltui.open(path, profiles=MLP / "profile.json")),
         ("runtime", path, "--profile", str(MLP / "profile.json"))),
        (lambda: tltui.diff(demo, "0:4/0", "0:4/"), ("diff", path, "0:4/0", "0:4/")),
    ):  # fmt: skip
        said = failing(act).partition(": ")[2].replace("\n  ", "; ")
        assert main(arguments) == 2
        told = capsys.readouterr().err.removeprefix("tltui: ").removeprefix("--").rstrip("\n").replace("\n  ", "; ")
        assert said in told or told in said, arguments
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    assert failing(tltui.open).startswith("NothingFound: no path given, and TORCH_TRACE is not set")
    monkeypatch.setenv("TORCH_TRACE", path)
    assert tltui.open().title == "demo"
    assert failing(lambda: tltui.open("-")).startswith("BadArgument: '-' (standard input)")
    said = failing(lambda: tltui.timing(demo, sort="size"))
    assert said == "BadArgument: unknown order 'size'. Choices: own, total, count, longest, ranks, phase, name"
    said = failing(lambda: demo["@problems"])
    assert said == "BadAddress: '@problems' is not a part of a run. For the page: tltui.problems(run)"
    assert "0:4/1 is not an artifact" in failing(lambda: demo.artifact("0:4/1"))
    said = failing(lambda: demo["0:4/1"].artifacts["nix"])
    assert said.startswith("BadAddress: unknown name: nix. Available: recompile_reasons")
    graph = demo.artifact("0:0/0:dynamo_output_graph")
    assert failing(graph.json).startswith("BadArgument: 0:0/0:dynamo_output_graph is not JSON")
    kinds = [own for own in vars(errors).values() if inspect.isclass(own) and issubclass(own, tltui.TltuiError)]
    assert {own.__name__ for own in kinds} <= set(tltui.__all__) and len(kinds) == 7


def test_strings_of_a_trace_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    found = failing(lambda: tltui.open(str(tmp_path / "a\x1b]0;x\x07")))
    assert "\x1b" not in found and "\x07" not in found


def test_a_job_that_goes_on(tmp_path: Path) -> None:
    text = next((TRACES / "torch-2.13" / "recompiles").glob("*.log")).read_bytes()
    log, cut = tmp_path / "dedicated_log_torch_trace_x.log", text.index(b"\nV", len(text) // 2) + 1
    with log.open("wb", buffering=0) as job:
        job.write(text[:cut])
        run = tltui.open(tmp_path)
        before, one = tltui.summary(run), run.compiles[0]
        assert run.goes_on == "the job may still be writing the log" and not run.refresh()
        job.write(text[cut:])
        assert run.refresh() and tltui.summary(run)[0].compiles > before[0].compiles
    assert before.text != tltui.summary(run).text and one in run.compiles
    (tmp_path / "dedicated_log_torch_trace_rank_1_y.log").write_bytes(text)
    assert run.refresh() and 1 in [rank.number for rank in run.ranks]


def test_what_is_not_in_the_file_any_more_is_no_other_text(tmp_path: Path) -> None:
    log = tmp_path / "dedicated_log_torch_trace_x.log"
    log.write_bytes(next((TRACES / "torch-2.13" / "recompiles").glob("*.log")).read_bytes())
    run = tltui.open(log)
    graph = run["0/0"].artifacts["dynamo_output_graph"]
    log.write_bytes(b"")
    assert "no longer in the file" in failing(lambda: graph.bytes)


def test_a_run_that_was_closed_says_so_and_its_results_stay() -> None:
    with tltui.open(DEMO) as run:
        found, one = tltui.problems(run), run["0:4/1"]
        text = found.text
    assert repr(run) == "<tltui run, closed>" and found.text == text and found._repr_html_()
    for act in (lambda: run.compiles, lambda: one.text, lambda: tltui.problems(run), run.refresh, lambda: "0:4/1" in run):
        assert failing(act).startswith("Closed: this run is closed")
    run.close()


def test_a_notebook_may_show_again_what_is_closed() -> None:
    run = tltui.demo()
    shown = [run, run["0:4/1"], run.compiles, run.artifact("0:0/0:inductor_output_code#1")]
    run.close()
    assert [own._repr_html_() for own in shown] == [None] * 4  # type: ignore[attr-defined]
    assert [str(own) for own in shown] == [repr(own) for own in shown] and run._ipython_key_completions_() == []


def test_two_runs_are_compared_from_both_sides_at_once() -> None:
    left, right = tltui.demo(), tltui.open("tests/traces/torch-2.13/recompiles")
    acts = [
        lambda: tltui.diff(left, other=right),
        lambda: tltui.diff(right, other=left),
        lambda: tltui.check(left, "error", baseline=right),
        lambda: tltui.check(right, "error", baseline=left),
    ]
    threads = [threading.Thread(target=lambda act=act: [act() for _ in range(12)], daemon=True) for act in acts]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


def test_limits_may_be_a_list_and_paths_may_not(demo: tltui.Run) -> None:
    limits = ["error=2", "break=99"]
    assert tltui.check(demo, limits).text == tltui.check(demo, ",".join(limits)).text and tltui.check(demo, limits)
    for path in (["a", "b"], b"a", 3):
        with pytest.raises(TypeError, match=r"several paths: tltui\.open\(\*paths\)"):
            tltui.open(path)  # type: ignore[arg-type]
    assert failing(lambda: demo.rank(None)).startswith("BadAddress: unknown rank: 'norank'")


def test_threads_take_turns(demo: tltui.Run) -> None:
    wanted = {name: found.text for name, found in every(demo)}
    got: list[dict[str, str]] = []
    threads = [threading.Thread(target=lambda: got.append({name: found.text for name, found in every(demo)})) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [wanted] * 3


def test_files_are_written_as_the_command_does(demo: tltui.Run, tmp_path: Path) -> None:
    written = tltui.extract(demo, str(tmp_path), "0:0/0:dynamo_output_graph", demo["0:4/1"])
    assert Path(written[0]).read_bytes() == demo["0:0/0"].artifacts["dynamo_output_graph"].bytes and len(written) == 5
    with pytest.raises(FileExistsError):
        tltui.extract(demo, str(tmp_path), "0:4/1")
    assert tltui.extract(demo, str(tmp_path), "0:4/1", force=True)


ALONE = """
import sys
import tltui
assert [name for name in sys.modules if name.startswith("tltui.")] == [], sys.modules
run = tltui.demo()
for name in {views}:
    getattr(tltui, name)(run)
str(run), repr(run), run._repr_html_(), tltui.grep(run, "add"), tltui.check(run)
strangers = {{name.partition(".")[0] for name in sys.modules}} & {{"textual", "rich"}}
assert not strangers and "tltui.cli" not in sys.modules and "tltui.app" not in sys.modules, strangers
"""


def test_it_loads_nothing_at_first_and_no_user_interface_ever() -> None:
    code = ALONE.format(views=[view.name for view in QUESTIONS])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    code = "import sys, tltui.cli.registry; assert 'tltui.api' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


def test_help_tells_of_it() -> None:
    said = pydoc.plain(pydoc.render_doc(tltui))
    assert "tltui.open opens traces" in said.replace("`", "") and "tltui recompiles: 10 rows" in said
    assert "The failed guards of earlier compiles" in said
    for name in tltui.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(tltui, name)), name
    with pytest.raises(AttributeError, match="no attribute 'problms'"):
        getattr(tltui, "problms")  # noqa: B009
