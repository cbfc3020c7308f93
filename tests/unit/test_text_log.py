"""Real TORCH_LOGS text: what was counted in it by other means, and the trace of the same run, event by event."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from text_inputs import TRUTH, messages, others, text_log, trace_logs

from tltui.inputs.text import events
from tltui.inputs.text.events import FIRST_STACK
from tltui.inputs.text.text_log import TextLog
from tltui.model.artifacts import artifact_name
from tltui.questions.problems.compile_problems import read_record
from tltui.trace.batch import Context
from tltui.trace.grammar import PREFIX, parse_json
from tltui.trace.log import Check, Log

TEXTS = [name for name in TRUTH if name != "made/ranks_torn.txt.xz"]
WITH_TRACE = [name for name in TEXTS if "against_trace" in TRUTH[name] and not name.startswith("short")]
SUMMED = [name for name in WITH_TRACE if "/log/" not in name and not name.startswith("logs_out/logs")]
"""Those of which inputs.md counts the events: some texts are there twice."""
NAMES = {"set_replacement": "symbolic_shape_specialization", "bytecode": "bytecode_original"}
OWN = {"aot_metadata", "guards_text", "perf_hints", "dynamo_frames", "compile_times", "bytecode_modified"}
"""Texts that the truth does not count as events."""


def _ids(context: Context) -> str:
    autograd = "" if context.autograd is None else f"!{context.autograd}/"
    return f"{autograd}{context.frame}/{context.compile}"


def _events(log: TextLog) -> dict[str, int]:
    """How many there are of each event, named as the truth names them."""
    found = Counter(artifact_name(log.kind(r)) for r in messages(log) if log.kind(r).event != "log")
    found["aot_forward_graph"] += found.pop("aot_inference_graph", 0)
    found["bytecode_original"] += found["bytecode_modified"]
    return {name: count for name, count in found.items() if count and name not in OWN}


@pytest.mark.parametrize("name", TEXTS)
def test_what_was_counted(name: str) -> None:
    truth, log = TRUTH[name], text_log(name)
    found = messages(log)
    contexts = [log.context(record) for record in found]
    assert len(found) == truth["records"]
    assert len(others(log)) == truth["other_lines"]
    assert sorted({context.pid for context in contexts}) == truth["pids"]
    assert sorted({context.rank for context in contexts if context.rank is not None}) == truth["ranks"]
    assert sorted({_ids(context) for context in contexts if context.frame is not None}) == truth["compiles"]
    assert not log.damage


@pytest.mark.parametrize("name", TEXTS)
def test_which_events_it_has(name: str) -> None:
    wanted = {NAMES.get(event, event): count for event, count in TRUTH[name]["events"].items()}
    wanted.pop("dynamo_side_effects", None)  # a log message: which of its two places has an event, the text does not tell
    if name.startswith("cache_hit"):  # AOTAutograd logs what it has from the cache in other words
        wanted |= {"aot_forward_graph": 2, "aot_backward_graph": 2, "aot_joint_graph": 2}
    elif name.startswith("levels"):
        wanted["dynamo_start"] = 6
    elif name.startswith("made/begins"):  # of the first one the header is lost
        wanted["bytecode_original"] -= 1
    elif name.startswith("made/cut_off"):  # of the second one only the header is there
        wanted["inductor_output_code"] += 1
    assert _events(text_log(name)) == wanted


def _placed(log: Log, event: str) -> Iterator[tuple[tuple[object, ...], int]]:
    for record in log.records():
        kind, context = log.kind(record), log.context(record)
        if artifact_name(kind) == event:
            yield (context.pid, context.autograd, context.frame, context.compile, context.attempt or 0), record


DEFINITION = re.compile(r"def forward\((.*?)\):(?: *#.*)?\n", re.DOTALL)
ANNOTATION = re.compile(r"  # (?:None|\w+(?:AOTInput|AOTOutput|Metadata\w*)\(.*\))$", re.MULTILINE)
GRAPH_ID = re.compile(r"\n\n # graph id: \d+$")


def _folded(graph: str) -> str:
    """A graph without what the trace lays out in another way: a line for each parameter, its origin, blanks."""
    return re.sub(r"[\s,;]+", "", ANNOTATION.sub("", graph))


def _is_equal(event: str, text: TextLog, record: int, trace: Log, other: int) -> bool:
    """Whether a record of the text says what the one of the trace says: by the rules of inputs.md §1.3."""
    if event in ("create_symbol", "create_unbacked_symbol", "guard_added_fast", "symbolic_shape_specialization"):
        keys = {
            "create_symbol": ("symbol", "val", "vr", "source"), "create_unbacked_symbol": ("symbol", "vr"),
            "guard_added_fast": ("expr",), "symbolic_shape_specialization": ("symbol", "value", "reason"),
        }[event]  # fmt: skip
        return all(text.event(record)[key] == str(trace.event(other)[key]) for key in keys)
    if event == "dynamo_start":
        own, wanted = (log.event(number)["stack"][-1] for log, number in ((text, record), (trace, other)))
        return (own["line"], own["name"]) == (wanted["line"], wanted["name"])
    said, wanted = text.text(record), trace.text(other)
    if event == "before_pre_grad_graph":
        return said == GRAPH_ID.sub("", wanted)
    if event.startswith("aot_"):
        return _folded(said) == _folded(wanted)
    if event == "dynamo_graph_break_reason":
        said = said.removesuffix(FIRST_STACK.decode())
        return bool(said.strip()) and wanted.startswith(said.rstrip("\n"))
    return said == wanted and text.md5(record) == trace.md5(other)


EVENTS = (
    "recompile_reasons", "dynamo_graph_break_reason", "dynamo_cpp_guards_str", "dynamo_output_graph", "before_pre_grad_graph",
    "aot_joint_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph", "inductor_post_grad_graph",
    "inductor_output_code", "create_symbol", "create_unbacked_symbol", "guard_added_fast", "symbolic_shape_specialization",
    "dynamo_start",
)  # fmt: skip


def _compared(name: str) -> Counter[str]:
    """How many events of a text are equal to those of the trace, each at its place; those that are not are put down."""
    text, found = text_log(name), Counter[str]()
    for event in EVENTS:
        there: dict[tuple[object, ...], list[tuple[Log, int]]] = defaultdict(list)
        for trace in trace_logs(name):
            for place, record in _placed(trace, event):
                there[place].append((trace, record))
        for place, record in _placed(text, event):
            same = next((n for n, (t, r) in enumerate(there[place]) if _is_equal(event, text, record, t, r)), None)
            if same is None:
                found[f"{event} at {place} differs"] += 1
            else:
                there[place].pop(same)
                found[event] += 1
    return found


@pytest.mark.parametrize("name", WITH_TRACE)
def test_each_event_is_that_of_the_trace(name: str) -> None:
    wanted = {
        event: counts["text"] - counts["extra"] for event, counts in TRUTH[name]["against_trace"].items()
        if event in EVENTS and counts["text"] > counts["extra"]
    }  # fmt: skip
    if name.startswith("cache_hit"):
        wanted |= {"aot_forward_graph": 2, "aot_backward_graph": 2, "aot_joint_graph": 2}
    elif name.startswith("levels"):
        wanted["dynamo_start"] = 6
    assert dict(_compared(name)) == wanted


def test_a_break_whose_stack_is_left_out_has_that_of_the_first_one() -> None:
    log = text_log("breaks/stderr.txt.xz")
    first, second, third = (read_record(log.text(r)) for r in log.records() if log.kind(r).name == "dynamo_graph_break_reason")
    assert third.stack == second.stack != first.stack and third.reason == second.reason
    assert third.function == "g" and not third.raised
    assert [FIRST_STACK.decode() in log.text(r) for r in log.records() if log.kind(r).name == "dynamo_graph_break_reason"] == [
        False, False, True
    ]  # fmt: skip


def test_none_is_missing() -> None:
    placed = sum(
        counts["placed"] for name in SUMMED for event, counts in TRUTH[name]["against_trace"].items() if event in EVENTS
    )  # fmt: skip
    assert placed == sum(_compared(name)[event] for name in SUMMED for event in EVENTS) - 6 - 6


@pytest.mark.parametrize("name", TEXTS)
def test_first_lines_are_those_of_a_trace(name: str) -> None:
    """Whoever reads first lines finds kind, ids and md5 in them."""
    log = text_log(name)
    for record in messages(log):
        line, kind, context = log.head(record), log.kind(record), log.context(record)
        match = PREFIX.match(line)
        assert match is not None and int(match[8]) == context.pid
        envelope = parse_json(line[match.end() :])
        assert next(iter(envelope)) == kind.event
        ids = (envelope.get("rank"), envelope.get("frame_id"), envelope.get("attempt"))
        assert ids == (context.rank, context.frame, context.attempt)
        checked = log.check(record)
        assert envelope.get("has_payload") == (checked.declared if checked else None)
        assert checked is None or checked.check is Check.GOOD
        assert log.envelope(record) == envelope and log.prefix(record) is not None


def test_reasons_of_several_cache_entries_end_where_the_next_entry_begins() -> None:
    """`recompiles_verbose`: an empty line stands before the reasons of each further entry, and is part of none."""
    lines = [
        b"Recompiling function f in /m.py:3", b"    triggered by the following guard failure(s):", b"    guard 0 failures:",
        b"    - 0/1: mode == 'a'", b"    - User stack trace:", b'    -   File "/m.py", line 4, in f', b"", b"    guard 1 failures:",
        b"    - 0/0: mode == 'b'", b"    - User stack trace:",
    ]  # fmt: skip
    reasons = json.loads(events.recompile_reasons_payload(events.MessagePayload(lines, bytes, list)))
    assert reasons == ["0/1: mode == 'a'\nUser stack trace:\n  File \"/m.py\", line 4, in f", "0/0: mode == 'b'\nUser stack trace:"]
