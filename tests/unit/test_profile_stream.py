"""Profiles of any layout, also damaged ones: what is whole is read, exactly, and the rest is said."""

from __future__ import annotations

import gzip
import io
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tltui.inputs.profile_reader import CHUNK, Events, NoProfile, Profile, nanoseconds, read_profile, why_not

CASES = Path(__file__).parents[1] / "traces" / "profiler"
MLP = CASES / "mlp" / "profile.json"
HEAD = {"schemaVersion": 1, "deviceProperties": [], "baseTimeNanoseconds": 1790857026000000000}
HARD = ["}, {", '"}, {"ph": "X"', "\\", '\\"', "]}", "{[", "a\nb", "é", "\u2028", '}\n  },\n  {\n    "ph": "X"', ""]


def event(**fields: Any) -> dict[str, Any]:
    own = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": 4430782536937.638, "dur": 1.5}
    return {**own, "args": {"External id": 1, "Ev Idx": 0}, **fields}


def layouts(head: dict[str, Any], events: list[Any], foot: dict[str, Any]) -> list[str]:
    whole = {**head, "traceEvents": events, **foot}
    return [
        json.dumps(whole), json.dumps(whole, separators=(",", ":")), json.dumps(whole, indent=2), json.dumps(whole, indent="\t"),
        "\ufeff \n" + json.dumps(whole, indent=1, ensure_ascii=False),
        json.dumps({"traceEvents": [], **head, **foot}).replace("[]", "[" + "\r\n,\r\n".join(map(json.dumps, events)) + "\t]", 1),
    ]  # fmt: skip


def read(tmp_path: Path, text: str | bytes, name: str = "profile.json") -> Profile:
    data = text.encode() if isinstance(text, str) else text
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read_profile(str(tmp_path / name))


def test_every_layout_gives_every_event() -> None:
    rng = random.Random(1)
    for turn in range(60):
        events = [
            event(name=rng.choice(HARD), args={"deep": [{"a": [{}, {"b": rng.choice(HARD)}]}], "n": n, rng.choice(HARD): 1})
            for n in range(rng.randrange(40))
        ]
        foot = {"traceName": rng.choice(HARD), "more": [{"a": 1}, {"b": "}, {"}]} if turn % 2 else {}
        for text in layouts({**HEAD, "note": rng.choice(HARD), "list": [{}, {"traceEvents": [1]}]}, events, foot):
            for block in (rng.randrange(1, 40), rng.randrange(40, 3000), 1 << 20):
                own = Events(io.BytesIO(text.encode()), block)
                assert [found for part in own.blocks() for found in part] == events
                assert own.head == {**HEAD, "note": own.head["note"], "list": [{}, {"traceEvents": [1]}], **foot}
                assert (own.damaged, own.is_cut) == (0, False)


@pytest.mark.parametrize("start", [0, 17, 4430782536937, 8430782536937])
def test_the_times_of_events_are_exact(tmp_path: Path, start: int) -> None:
    """In whatever order, before and after the first one, and far from it."""
    rng = random.Random(start)
    times = [
        float(f"{start + rng.randrange(-(10 ** rng.randrange(1, 12)), 10 ** rng.randrange(1, 12))}.{rng.randrange(1000):03d}")
        for _ in range(400)
    ]  # fmt: skip
    lengths = [float(f"{rng.randrange(10 ** rng.randrange(1, 12))}.{rng.randrange(1000):03d}") for _ in times]
    events = [event(ts=time, dur=length) for time, length in zip(times, lengths, strict=True)]
    profile = read(tmp_path, json.dumps({**HEAD, "traceEvents": [event(ts=7, dur=1), *events]}))
    assert list(profile.begin[1:]) == list(map(nanoseconds, times)) and list(profile.duration[1:]) == list(
        map(nanoseconds, lengths)
    )
    assert profile.window == (min(profile.begin), max(map(sum, zip(profile.begin, profile.duration, strict=True))))


def test_the_events_of_a_block_fit_into_a_cache() -> None:
    assert CHUNK <= 1 << 17, "the events of a megabyte take half as long again"


def test_a_file_that_ends_anywhere_gives_what_is_whole() -> None:
    events = [event(name=name) for name in HARD * 2]
    for text in layouts(HEAD, events, {"traceName": "x"})[:3]:
        data = text.encode()
        for end in range(data.index(b'"traceEvents"') + 16, len(data) - 1, 7):
            own = Events(io.BytesIO(data[:end]), 64)
            found = [one for part in own.blocks() for one in part]
            assert own.is_cut
            assert found == events[: len(found)]
            assert len(events) - len(found) <= 1 + data[end:].count(b'"ph"')


def test_a_cut_off_file_is_read_and_said(tmp_path: Path) -> None:
    data = MLP.read_bytes()
    found = read(tmp_path, data[: len(data) // 2])
    assert 400 < len(found) < 500 and any("truncated" in fault for fault in found.faults)
    packed = gzip.compress(data)
    (tmp_path / "cut.json.gz").write_bytes(packed[: len(packed) // 2])
    found = read_profile(str(tmp_path / "cut.json.gz"))
    assert len(found) > 100 and found.faults


@pytest.mark.parametrize("bad", [
    '{"ph": "X", "name": }', '{"ph": "X" "name": "x"}', '{"ph": "X", "name": "a", "ts": 12.5.5, "dur": 1}', '{"ph": "X", nul}',
    '{"ph": "X", "name": "it\'s "so", "ts": 1}',
])  # fmt: skip
def test_a_damaged_event_costs_itself(tmp_path: Path, bad: str) -> None:
    around = [json.dumps(event(name=f"aten::op{n}"), indent=2) for n in range(6)]
    text = json.dumps(HEAD)[:-1] + ', "traceEvents": [' + ",\n".join([*around[:3], bad, *around[3:]]) + "]}"
    found = read(tmp_path, text)
    assert [found.name_of(n) for n in range(len(found))] == [f"aten::op{n}" for n in range(6)]
    assert found.damaged == 1


@pytest.mark.parametrize("fields", [
    {"ts": "NaN"}, {"ts": None}, {"dur": -1.0}, {"dur": 1e300}, {"ts": {}}, {"name": None}, {"name": 3}, {"pid": []},
    {"pid": {"a": 1}}, {"dur": "x"}, {"args": 5}, {"cat": [1]}, {"ts": 1e18},
])  # fmt: skip
def test_values_of_any_type_cost_their_event_only(tmp_path: Path, fields: dict[str, Any]) -> None:
    found = read(tmp_path, json.dumps({**HEAD, "traceEvents": [event(), event(**fields), event(), 5, None, [], "x", {}]}))
    assert len(found) == 2 and found.damaged == 6


def test_numbers_that_no_json_has_cost_their_event_only(tmp_path: Path) -> None:
    odd = [event(dur=float("nan")), event(ts=float("inf")), event(dur=float("-inf"))]
    text = json.dumps({**HEAD, "traceEvents": [event(), *odd, event()]})
    assert "NaN" in text and "Infinity" in text
    found = read(tmp_path, text)
    assert len(found) == 2 and found.damaged == 3


def test_what_torch_writes_and_json_does_not_know(tmp_path: Path) -> None:
    """Control characters and bytes that are no UTF-8 in names, NaN in arguments, a key that is there twice."""
    odd = event(args={"Ev Idx": 5, "flops": float("nan")})
    text = json.dumps({**HEAD, "traceEvents": [event(name="AAA"), odd, event(name="BBB")]})
    data = text.encode().replace(b"AAA", b"a\x01\xffb").replace(b'"BBB"', b'"x", "name": "BBB"')
    found = read(tmp_path, data)
    assert [found.name_of(n) for n in range(3)] == ["a\x01\ufffdb", "aten::mm", "BBB"]
    assert list(found.order) == [0, 5, 0] and found.damaged == 0


def test_deep_nesting_and_long_names_are_bounded(tmp_path: Path) -> None:
    deep = json.dumps(event())[:-1] + ', "deep": ' + "[" * 100_000 + "]" * 100_000 + "}"
    text = json.dumps(HEAD)[:-1] + f', "traceEvents": [{json.dumps(event())}, {deep}, {json.dumps(event(name="n" * 100_000))}]}}'
    found = read(tmp_path, text)
    assert len(found) == 2 and found.damaged == 1
    assert max(map(len, found.names)) <= 2000


def test_names_of_processes_and_threads_are_text(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps({**HEAD, "traceEvents": [event(pid="Spans", tid="x"), event(), event()]}))
    assert found.threads == [("Spans", "x"), ("7", "8")] and found.pid == 7


@pytest.mark.parametrize("us, ns", [
    (4430782536937.638, 4430782536937638), (0.001, 1), (16.007, 16007), ("1790857026123456.789", 1790857026123456789), (5, 5000),
    ("12.5", 12500), (8388608000000.999, 8388608000000999),
])  # fmt: skip
def test_times_are_exact(us: Any, ns: int) -> None:
    assert nanoseconds(us) == ns


def test_every_ns_is_exact() -> None:
    rng = random.Random(2)
    for _ in range(20_000):
        ns = rng.randrange(8_000_000_000_000_000)
        assert nanoseconds(json.loads(f"{ns // 1000}.{ns % 1000:03}")) == ns


def test_times_since_the_epoch_are_exact(tmp_path: Path) -> None:
    """Torch 2.3 and before has no base: its times have more digits than a float."""
    whole = {"schemaVersion": 1, "traceEvents": [event(ts=0, dur=0) for _ in range(3)]}
    text = json.dumps(whole)
    for n in range(3):
        text = text.replace('"ts": 0, "dur": 0', f'"ts": 1790857026123456.78{n}, "dur": 0.00{n}', 1)
    found = read(tmp_path, text)
    assert list(found.begin) == [1790857026123456780 + n for n in range(3)]
    assert list(found.duration) == [0, 1, 2] and found.base_ns == 0


def test_the_real_ones_are_as_json_has_them(tmp_path: Path) -> None:
    for path in CASES.glob("*/*.json*"):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        if why_not(data):
            continue
        every = json.loads(data)["traceEvents"]
        events = [own for own in every if own["ph"] == "X" and own["cat"] in ("cpu_op", "user_annotation")]
        found = read_profile(str(path))
        assert len(found) == len(events) and found.faults == []
        for number, own in enumerate(events):
            assert found.name_of(number) == own["name"]
            assert abs(found.begin[number] - own["ts"] * 1000) <= 1 and found.duration[number] == round(own["dur"] * 1000)


@pytest.mark.parametrize("text, why", [
    ("", "not a JSON object"), ("x", "not a JSON object"), ("[]", "a JSON list"), ('{"a": 1}', "JSON without traceEvents$"),
    ('{"traceEvents": []}', "no schemaVersion"), ('{"schemaVersion": 1}', "JSON without traceEvents$"),
    ('{"traceEvents": [{"ph": "X", "cat": "dynamo_timed", "name": "cpu_op"}]}', "without any category of torch"),
    ('{"metadata": "' + "x" * 70_000 + '"}', r"JSON without traceEvents in its first \d+ KiB"), ("\x00\x01", "not a JSON object"),
])  # fmt: skip
def test_another_file_is_refused_with_the_reason(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(NoProfile, match=why):
        read(tmp_path, text)
    with pytest.raises(NoProfile):
        read_profile(str(tmp_path / "nowhere.json"))


def test_an_empty_profile_is_one(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps({**HEAD, "traceEvents": []}))
    assert len(found) == 0 and found.window == (0, 0) and found.pid == -1


def test_packed_is_the_same(tmp_path: Path) -> None:
    plain, packed = read_profile(str(MLP)), read(tmp_path, MLP.read_bytes(), "p.pt.trace.json.gz")
    assert (packed.begin, packed.duration, packed.names) == (plain.begin, plain.duration, plain.names)


def test_keys_may_stand_behind_the_events(tmp_path: Path) -> None:
    events = [event() for _ in range(2000)]
    found = read(tmp_path, json.dumps({"traceEvents": events, **HEAD, "distributedInfo": {"rank": 3, "backend": "gloo"}}))
    assert len(found) == 2000 and found.rank == 3 and found.base_ns == HEAD["baseTimeNanoseconds"]


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
@pytest.mark.parametrize("before", [26_000, 200_000, 1_500_000])
def test_a_block_of_any_tool_may_stand_before_the_events(tmp_path: Path, name: str, before: int) -> None:
    """Public profiles of H100 and MI300: a list of packages first, torch's own keys behind all events."""
    block = {"num_errors": 0, "pip_packages": ["name==1.2.3"] * (before // 15), "traceEvents": "no list"}
    whole = {"metadata": block, "traceEvents": [event() for _ in range(2000)], **HEAD}
    found = read(tmp_path, json.dumps(whole, indent=2), name)
    assert len(found) == 2000 and found.base_ns == HEAD["baseTimeNanoseconds"] and found.faults == []


def test_a_profile_that_a_tool_cut_is_one_by_its_categories(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps({"distributedInfo": {"rank": 1}, "traceEvents": [event(), event()]}))
    assert len(found) == 2 and found.rank == 1


def test_what_is_hard_to_cut_is_not_slow(tmp_path: Path) -> None:
    """Strings full of what looks like a place between two events: no guess will do."""
    events = [event(args={"s": "}, {" * 50}) for _ in range(4000)]
    started = time.process_time()
    found = read(tmp_path, json.dumps({**HEAD, "traceEvents": events}))
    assert len(found) == 4000 and found.damaged == 0
    garbage = json.dumps(HEAD)[:-1] + ', "traceEvents": [' + '{"ph": "' * 400_000
    found = read(tmp_path, garbage)
    assert len(found) == 0 and found.faults
    assert time.process_time() - started < 10
