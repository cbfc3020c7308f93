"""Logs of every torch from 2.4 to 2.15: which one wrote them, that nothing in them is unknown, and what is said of each."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from made_logs import Log
from pages import is_url, page
from real import ROOT, TRACES, compile_at, trace
from viewed import lead_somewhere, text

from tltui.documents.scope import scope_of
from tltui.model.expected_artifacts import Outcome, absent
from tltui.model.kinds import all_kinds, kind_of
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.model.torch_version import version_of
from tltui.model.torch_versions import (
    FIELDS,
    NEWEST,
    OLDEST,
    SETTINGS,
    UNKNOWN,
    Span,
    TorchVersion,
    aot_cache_setting,
    clues_of,
    exists_in,
    judged_version,
    limit_name,
    provenance_way,
    stated_version,
)
from tltui.questions.compare.artifacts_page import compared
from tltui.questions.compare.pairing import artifact_difference, artifact_pairs
from tltui.questions.index import BY_NAME
from tltui.questions.problems import absent_artifacts as view
from tltui.questions.problems.absent_artifacts import absence_of
from tltui.questions.problems.problem_list import limit_groups
from tltui.questions.problems.reason_sections import NEVER_LOGGED
from tltui.questions.stacks.tracebacks import callers_of, start_stack
from tltui.text.steps import run_steps

MINORS = range(OLDEST[1], NEWEST[1] + 1)
STATED = range(10, NEWEST[1] + 1)
SETTING = re.compile(
    r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)="
    r"|\b(torch(?:\.\w+)*\.(?:_?config(?:\.\w+)+|(?:maybe_)?mark_\w+|register_\w+|draft_export|_check\b))"
)
"""What looks like a variable that somebody sets, or a configuration or function of torch."""
OTHERS = frozenset({"WANDB_MODE"})
"""Variables of other libraries in examples."""


def of(minor: int) -> Run:
    return trace(f"versions/torch-2.{minor}")


def version(run: Run) -> TorchVersion:
    return version_of(next(iter(run.processes())))


@pytest.mark.parametrize("minor", MINORS)
def test_the_version_is_stated_or_judged(minor: int) -> None:
    found = version(of(minor))
    assert (found.least, found.most) == ((2, minor), (2, minor))
    assert (found.stated is not None) == (minor in STATED)
    if minor not in STATED:
        assert found.description == f"torch 2.{minor}, judging by the fields of its compilation metrics"
        assert f"torch 2.{minor}, judging by the fields" in text(page(of(minor), "", 120))
        assert f"It is torch 2.{minor}, judging by" in text(page(of(minor), "@absent", 120))


@pytest.mark.parametrize("minor", MINORS)
def test_a_log_without_its_version_tells_it(minor: int, tmp_path: Path) -> None:
    """As if it were not stated: the names of the fields tell at least between which versions it lies."""
    metrics = next(m for c in of(minor).compiles() for m in c.metrics if m.event == "compilation_metrics")
    process = next(iter(of(minor).processes()))
    fields = process.log.envelope(metrics.record)["compilation_metrics"].keys()
    assert fields <= FIELDS.keys(), "a field that no table knows"
    found = judged_version(clues_of(fields))
    assert found.least is not None and found.least <= (2, minor)
    assert found.most is None or found.most >= (2, minor)


@pytest.mark.parametrize("minor", MINORS)
def test_nothing_is_unknown_or_absent_without_a_reason(minor: int) -> None:
    run = of(minor)
    log = next(iter(run.processes())).log
    kinds = [kind_of(kind.event, kind.name or None) for kind in log.kinds]
    assert [kind.name for kind in kinds if kind.generic] == []
    assert [kind.name for kind in kinds if version(run).has(kind.span) is not True] == [], "written by no such torch"
    found = absence_of(scope_of(run).compiles)
    assert [group.name for group in found.groups if group.state in (view.UNEXPLAINED, view.OPEN, view.CUT, view.EMPTY)] == []
    for group in found.groups:
        assert (group.state == view.OTHER_TORCH) == group.reason.startswith(f"not written by torch 2.{minor}, only by")


@pytest.mark.parametrize("minor", MINORS)
def test_what_the_program_did(minor: int) -> None:
    """See the docstring of `versions.py`."""
    run = of(minor)
    names = {str(c.ref): c.frame.code[0] for c in run.compiles() if c.is_compile}
    assert names.pop("2/2", "scaled") == "scaled"
    assert names == {"0/0": "f", "1/0": "torch_dynamo_resume_in_f_at_33", "2/0": "scaled", "2/1": "scaled", "3/0": "step"}
    assert compile_at(run, "0/0").status is Status.BREAK
    assert all(compile_at(run, ref).status is Status.OK for ref in ("1/0", "2/0", "2/1", "3/0"))
    limits = run_steps(limit_groups(scope_of(run).compiles))
    assert [item.ref for group in limits for item in group.occurrences] == ([] if minor == 4 else ["2/2"])
    missing = [c for c in run.compiles() if c.status in (Status.UNFINISHED, Status.RUNNING)]
    assert missing == []
    callers = callers_of(compile_at(run, "0/0"))
    assert not callers or (callers[-1].name, callers[-1].line) == ("<module>", 52)


PAGES = ("", "@summary", "@problems", "@recompiles", "@stacks", "@guards", "@shapes", "@caches", "@timing", "@absent", "@metrics",
         "@passes", "@provenance", "@exports")  # fmt: skip


@pytest.mark.parametrize("minor", MINORS)
def test_every_page_of_every_version(minor: int) -> None:
    run = of(minor)
    views = [name for name in PAGES if not name or name[1:] in BY_NAME]
    for ref in (*views, *(f"{name}:2/2" for name in views if name and minor > 4), *map(str, (c.ref for c in run.compiles()))):
        document = page(run, ref, 100)
        assert not [line for line in document.text() if len(line) > 100 and not is_url(line)], ref
        lead_somewhere(run, document)


def test_the_limit_is_called_as_this_torch_calls_it() -> None:
    for minor in MINORS:
        if minor > 4:
            rows = absence_of([compile_at(of(minor), "2/2")]).compiles[0].expected
            row = next(row for row in rows if row.name == "dynamo_start")
            name = "cache_size_limit" if minor < 7 else "recompile_limit"
            assert (row.flag, row.state) == (f"torch._dynamo.config.{name}", view.FAILED), minor


def test_torch_2_4_names_the_function_and_not_its_own_frames() -> None:
    run = trace("versions/torch-2.4_breaks")
    names = [c.frame.code[0] for c in run.compiles() if c.is_compile]
    assert names == [
        "f", "torch_dynamo_resume_in_f_at_5", "inner_break", "g", "torch_dynamo_resume_in_g_at_11",
        "torch_dynamo_resume_in_inner_break_at_13",
    ]  # fmt: skip
    assert [frame.name for frame in start_stack(compile_at(run, "3/0"))] == ["<module>", "_fn", "inner_break", "g"]
    assert [frame.name for frame in callers_of(compile_at(run, "0/0"))] == ["<module>"]
    shown = text(page(run, "@stacks", 100))
    assert "__call__" not in shown and "convert_frame.py" not in shown
    assert "[3/0]  models/breaks.py:9 g" in shown and "[5/0]  models/breaks.py:13 inner_break ↩13" in shown


def test_a_function_that_torch_2_4_has_not_named_yet(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    log.add("str", ["/opt/torch/_dynamo/convert_frame.py", 0], frame=None).add("str", ["/home/user/f.py", 1], frame=None)
    stack = [{"line": 3, "name": "main", "filename": 1}, {"line": 1116, "name": "__call__", "filename": 0}]
    log.add("dynamo_start", {"stack": stack})
    compile_ = log.compile()
    assert compile_.frame.code == (None, None, None)
    assert [frame.name for frame in start_stack(compile_)] == ["main", "?"]


def test_torch_2_4_does_not_write_why_it_recompiles_nor_that_it_hit_the_limit() -> None:
    run = trace("versions/torch-2.4_limit")
    assert NEVER_LOGGED in text(page(run, "@recompiles", 100))
    assert NEVER_LOGGED in text(page(run, "", 120)) and NEVER_LOGGED in text(page(run, "0/", 120))
    assert "torch logged no reason" not in "".join(text(page(run, ref, 120)) for ref in ("", "0/", "0/3", "@recompiles"))
    problems = text(page(run, "@problems", 200))
    assert "torch 2.4 does not log hits of the recompile limit (8 by default)" in problems
    assert "recompile limit hit" not in problems
    assert "does not log hits" not in text(page(of(4), "@problems", 200)), "no function was compiled that often"


def test_the_limit_of_torch_2_5_is_a_record_of_reasons_alone(tmp_path: Path) -> None:
    compile_ = compile_at(of(5), "2/2")
    assert compile_.status is Status.EAGER and compile_.facts.recompile_limit_hit
    log = Log(tmp_path / "x.log").start().metrics()
    log.add("chromium_event", {}, '{"name": "dynamo", "ph": "B", "ts": 1}', compile_=1)
    log.artifact("recompile_reasons", '["0/0: n == 2"]', compile_=1)
    assert compile_at(log.open(), "0/1").status is Status.UNFINISHED, "later torch: it was cut there"


def test_caches_of_torch_2_4_and_2_5(tmp_path: Path) -> None:
    """Which wrote the answer into a record of another name, or not at all."""
    for number, (state, payload) in enumerate((("hit", '{"cache_state": "hit", "key": "f1"}'), ("asked", '{"key": "f1"}'))):
        log = Log(tmp_path / f"{number}.log").start().artifact("fx_graph_cache_hash", payload)
        log.add("dynamo_output_graph", {}, "class GraphModule").add("aot_forward_graph", {}, "class GraphModule")
        log.metrics()
        (found,) = absence_of([log.compile()]).compiles
        code = next(row for row in found.expected if row.name == "inductor_output_code")
        assert (code.state, state) == (view.CACHED, state)
    assert "no hit, miss or bypass" not in text(page(log.open(), "@caches"))
    log.add("inductor_output_code", {}, "code")
    (found,) = absence_of([log.compile()]).compiles
    assert next(row for row in found.expected if row.name == "inductor_post_grad_graph").state == view.UNEXPLAINED


def test_wrappers_in_one_record_are_compared_with_those_in_many() -> None:
    """Torch 2.15 against 2.13, and the other way round."""
    old, new = compile_at(of(13), "3/0"), compile_at(of(15), "3/0")
    wrappers = {
        "backward_prologue", "backward_epilogue", "compiled_function_forward", "compiled_function_backward", "compiled_fn_wrapper",
        "runtime_wrapper_orchestration",
    }  # fmt: skip
    for left, right in ((old, new), (new, old)):
        pairs = artifact_pairs(left, right)
        assert all(pair.left and pair.right for pair in pairs)
        many = [pair for pair in pairs if pair.left and pair.right and pair.left.name != pair.right.name]
        assert {a.name for pair in many for a in (pair.left, pair.right) if a} == wrappers | {"aot_autograd_runtime_wrappers"}
        same = [pair for pair in many if pair.left and pair.right and artifact_difference(pair.left, pair.right).same]
        assert len(many) == 6 and len(same) == 4
    assert len(artifact_pairs(new, new)) == len({a.name for pair in artifact_pairs(new, new) if (a := pair.left)})
    rows = {row.name for pair in artifact_pairs(compile_at(of(13), "0/0"), new) if (row := compared(pair)).left is None}
    assert "aot_autograd_runtime_wrappers" in rows, "where the other side has no wrapper it is named once"


def test_spans() -> None:
    span = Span((2, 8), (2, 9))
    assert [stated_version(f"2.{n}.0").has(span) for n in (7, 8, 9, 10)] == [False, True, True, False]
    assert TorchVersion(least=(2, 7), most=(2, 8)).has(span) is None
    assert TorchVersion(least=(2, 8)).has(Span((2, 8))) is True and TorchVersion(most=(2, 9)).has(Span((2, 8))) is None
    newer = stated_version(f"2.{NEWEST[1] + 1}.0")
    assert newer.newer and newer.has(Span()) is None and newer.has(Span((2, 8))) is None and newer.has(span) is False
    assert UNKNOWN.has(Span()) is True and UNKNOWN.has(Span((2, 8))) is None and UNKNOWN.has(Span(until=(2, 8))) is None
    assert str(span) == "torch 2.8 to 2.9" and str(Span(until=(2, 6))) == "torch 2.6 and before" and str(Span()) == "every torch"
    assert Span((2, 6)) | Span(until=(2, 5)) == Span() and Span((2, 6)) | Span((2, 5), (2, 5)) == Span((2, 5))


def test_builds_between_two_releases() -> None:
    nightly = stated_version("2.14.0.dev20260301+cpu")
    assert (nightly.least, nightly.most, nightly.words) == ((2, 13), (2, 14), "torch 2.13 to 2.14")
    assert stated_version("2.14.0a0+git1").least == (2, 13) and stated_version("2.14.0+cu130a0").least == (2, 14)
    found = judged_version([("new", Span((2, 9))), ("old", Span(until=(2, 8)))])
    assert found.description == "torch 2.8 to 2.9, judging by new, old"
    assert judged_version([]).description is None and stated_version("git").least is None
    assert judged_version([("a", Span((2, 8)))]).description == "torch 2.8 or later, judging by a"
    assert judged_version([("a", Span(until=(2, 6)))]).description == "torch 2.6 or before, judging by a"


def test_what_newer_torch_may_have_changed_is_not_known() -> None:
    has = frozenset({"dynamo_start", "dynamo_output_graph", "aot_inference_graph", "inductor_output_code", "compilation_metrics"})
    rows = {row.name: row for row in absent(Outcome(has, version=stated_version("2.16.0"), inductor=True))}
    assert rows["before_pre_grad_graph"].reason == "unknown for torch 2.16: this tltui supports torch up to 2.15"
    assert rows["inductor_provenance_tracking_node_mappings"].flag is None
    assert "no input requires grad" in rows["aot_joint_graph"].reason, "what the compile itself shows stays true"
    assert not {row.flag for row in rows.values()} - {None}


@pytest.mark.parametrize("minor", MINORS)
def test_how_to_record_provenance(minor: int) -> None:
    way = provenance_way(version(of(minor)))
    assert way.setting == (None if minor < 7 else "TORCH_COMPILE_DEBUG=1" if minor < 9 else "INDUCTOR_PROVENANCE=1")
    said = "".join(text(page(trace("versions/torch-2.4_breaks"), ref, 200)) for ref in ("@provenance", "@provenance:0/0"))
    assert "torch 2.4 does not record it, torch 2.7 and later do" in said and "INDUCTOR_PROVENANCE" not in said


@pytest.mark.parametrize("minor", MINORS)
def test_advice_exists_in_that_version(minor: int) -> None:
    known = stated_version(f"2.{minor}.0")
    has = frozenset({"dynamo_start", "dynamo_output_graph", "aot_inference_graph", "inductor_output_code", "compilation_metrics"})
    rows = [
        row
        for facts in ({}, {"caches_disabled": True}, {"cache_hit": True}, {"fx_cache_hit": True}, {"recompile_limit": True})
        for row in absent(Outcome(has, version=known, **facts))
    ]
    told = [row.flag for row in rows if row.flag] + [row.reason for row in rows]
    told += [limit_name(known), provenance_way(known).sentence, aot_cache_setting(known) or ""]
    named = {name for sentence in told for match in SETTING.finditer(sentence) for name in match.groups() if name}
    assert named and [name for name in named if not exists_in(known, name)] == []
    for table in (limit_name, aot_cache_setting):
        assert table(UNKNOWN) is None or exists_in(UNKNOWN, str(table(UNKNOWN)))


def test_every_setting_in_a_text_of_ours_is_in_the_table() -> None:
    """So that whoever writes advice looks up since when it exists."""
    found: dict[str, list[str]] = {}
    for path in (ROOT / "src/tltui").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docstrings = {id(node.body[0].value) for node in ast.walk(tree)
                      if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                for match in SETTING.finditer(node.value):
                    found.setdefault(match[1] or match[2], []).append(path.name)
    assert {name: places for name, places in found.items() if name not in {*SETTINGS, *OTHERS}} == {}
    assert {"INDUCTOR_PROVENANCE", "torch._dynamo.mark_dynamic", "torch.library.register_fake"} <= found.keys()


def test_the_tables_are_sound() -> None:
    for name, span in [*FIELDS.items(), *SETTINGS.items(), *((kind.name, kind.span) for kind in all_kinds())]:
        assert span.since is None or OLDEST <= span.since <= NEWEST, name
        assert span.until is None or span.until < NEWEST, name
        assert span.since is None or span.until is None or span.since <= span.until, name


def test_traces_of_torch_are_of_the_versions_that_write_them() -> None:
    """No kind in a trace is one that its torch does not write."""
    for directory in ("torch-2.13", "versions"):
        for path in sorted((TRACES / directory).iterdir()):
            run = trace(f"{directory}/{path.name}")
            for process in run.processes():
                known = version_of(process)
                spans = {kind.name or kind.event: kind_of(kind.event, kind.name or None).span for kind in process.log.kinds}
                assert [name for name, span in spans.items() if known.has(span) is False] == [], path
