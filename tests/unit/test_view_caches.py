from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import trace
from viewed import lead_somewhere, opened, text

from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.caches.cache_report import (
    AOT,
    FX,
    CacheAnswer,
    CachesReport,
    KeyIndex,
    KeyUse,
    grouped_names,
    importance,
    parse_components,
    saved_by,
)
from tltui.sources.discover import discover
from tltui.text.line_diff import around, changed_lines

HASH = "abcdefghijklmnopqrstuvwxyz"


def report(run: Run, ref: str = "@caches") -> CachesReport:
    found = page(run, ref).data()
    assert isinstance(found, CachesReport)
    return found


def component(name: str, value: str) -> str:
    return f"[{(value + HASH)[:20].replace(' ', '')}] {name}: {value}"


def answer(log: Log, name: str, key: str, components: dict[str, str] | None = None, frame: int = 0, **more: Any) -> Log:
    parts = [component(*item) for item in (components or {}).items()]
    return log.artifact(name, json.dumps({"key": key, "components": parts} | more), frame=frame)


@pytest.mark.parametrize(
    ("name", "ref", "width"),
    [
        ("cache_keys", "", 80), ("cache_keys", "", 60), ("cache_keys", "0/0", 160), ("cache_miss", "", 80),
        ("cache_hit", "", 80), ("cache_hit", "0/0", 80), ("dyn", "", 80), ("breaks", "", 80), ("ddp", "", 80),
    ],
)  # fmt: skip
def test_golden(name: str, ref: str, width: int) -> None:
    document = page(trace(f"torch-2.13/{name}"), f"@caches:{ref}" if ref else "@caches", width)
    assert document.width() <= width
    assert_golden(f"caches_{name}_{re.sub(r'[^0-9a-z]+', '_', ref)}_{width}", text(document))


@pytest.mark.parametrize("name", ["artifacts.log", "simple.log", "inductor_provenance_jit_cuda_log.txt"])
def test_golden_of_older_torch(name: str) -> None:
    assert_golden(f"caches_{name.partition('.')[0]}_80", text(page(trace(f"tlparse/{name}"), "@caches")))


def test_golden_demo() -> None:
    assert_golden("caches_demo__100", text(page(opened("src/tltui/demo"), "@caches", 100)))
    assert_golden("caches_demo_ascii_80", text(page(opened("src/tltui/demo"), "@caches", ascii_=True)))


def test_a_miss_names_the_setting_that_differs() -> None:
    found = report(trace("torch-2.13/cache_keys"))
    nearest = found.misses[-1].nearest
    assert nearest is not None
    assert (nearest.differing_components, nearest.components, nearest.differing_names) == (
        1,
        70,
        ("inductor_config[epilogue_fusion]",),
    )
    assert [(d.missed_value, d.nearest_value) for d in nearest.differences] == [("False", "True")]
    assert nearest.is_same_code
    assert nearest.is_earlier is True


def test_a_hit_of_a_later_process_has_the_same_key() -> None:
    paths = [str(Path(__file__).parents[1] / "traces" / "torch-2.13" / name) for name in ("cache_miss", "cache_hit")]
    run = open_run(discover(paths))
    found = report(run)
    assert {miss.answer.key for miss in found.misses} == {
        own.key for one in found.compiles for own in one.answers if own.state == "hit"
    }
    assert all(any(use.state == "hit" for use in miss.same_key_uses) for miss in found.misses)
    assert "The keys are identical" in text(page(run, "@caches"))


def test_time_saved_is_not_counted_twice() -> None:
    fx, aot = CacheAnswer(FX, "hit", saved_s=2.0), CacheAnswer(AOT, "hit", saved_s=5.0)
    assert saved_by([fx, fx, aot]) == 5.0
    assert saved_by([CacheAnswer(AOT, "miss"), fx]) == 2.0
    assert saved_by([fx, CacheAnswer(AOT, "bypass"), fx]) == 4.0
    assert saved_by([CacheAnswer(FX, "miss")]) is None
    assert report(trace("torch-2.13/cache_hit")).saved_s == pytest.approx(8.39, abs=0.01)


def ranks(tmp_path: Path, states: str) -> Run:
    """A run with one compile on each rank: `h` for a hit, `m` for a miss, of a key that names the rank."""
    for rank, state in enumerate(states):
        log = Log(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").start("forward")
        name = "fx_graph_cache_hit" if state == "h" else "fx_graph_cache_miss"
        group = f"group {rank if state == 'm' else 'x'}"
        answer(log, name, f"key of {group}", {"gm": "graph", "process_group": group, "z": "same"})
        log.metrics()
        log.open()
    return open_run(discover([str(tmp_path)]))


def test_ranks_that_got_different_answers(tmp_path: Path) -> None:
    run = ranks(tmp_path, "hhm")
    found = report(run)
    (one,) = found.divergences
    assert (one.cache, one.function, one.compile_number) == (FX, "forward", 1)
    assert [(a.rank, a.compile, a.state) for a in one.answers] == [
        (0, "0:0/0", "hit"), (1, "1:0/0", "hit"), (2, "2:0/0", "miss"),
    ]  # fmt: skip
    nearest = found.misses[0].nearest
    assert nearest is not None
    assert (nearest.differing_names, nearest.is_earlier, nearest.uses[0].state) == (("process_group",), None, "hit")
    assert_golden("caches_ranks_differ_80", text(page(run, "@caches")))
    assert report(run, "@caches:0:").divergences == found.divergences
    lead_somewhere(run, page(run, "@caches"))


def test_ranks_that_agree(tmp_path: Path) -> None:
    assert report(ranks(tmp_path, "mmm")).divergences == ()


def test_bypasses_profiles_and_the_rest(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.log").start()
    for frame in range(3):
        answer(log, "aotautograd_cache_bypass", "", frame=frame, cache_bypass_reason="Unsupported target cond.\n Function: x")
    answer(log, "fx_graph_cache_miss", "k" * 52, cache_status_detailed="guard_miss", time_taken_ns=2_000_000_000)
    log.artifact("get_remote_code_state", "state").artifact("precompile_cache_bypass", '{"_reason": "no package"}')
    log.artifact("triton_kernel_info", json.dumps({"k0": {"autotune_cache_state": "miss"}, "k1": {"autotune_cache_state": "hit"}}))
    log.artifact("fx_graph_runnable", "code", frame=4)
    log.metrics(inductor_fx_remote_cache_hit_count=2, inductor_fx_local_cache_miss_count=1, num_triton_bundles=1)
    log.metrics(frame=4, inductor_config='{"fx_graph_cache": false}', functorch_config='{"enable_autograd_cache": false}')
    run = log.open()
    assert_golden("caches_made_80", text(page(run, "@caches")))
    found = report(run)
    assert [own.disabled for own in found.compiles if own.ref == "4/0"] == [
        ("FX graph cache: fx_graph_cache is False in inductor_config",
         "AOTAutograd cache: enable_autograd_cache is False in functorch_config"),
    ]  # fmt: skip


def test_every_link_leads_somewhere() -> None:
    for name in ("torch-2.13/cache_keys", "torch-2.13/cache_hit", "tlparse/simple.log"):
        run = trace(name)
        lead_somewhere(run, page(run, "@caches"))


def test_json() -> None:
    found = json.loads(to_json(report(trace("torch-2.13/cache_keys"))))
    assert found["totals"][1] == {"cache": FX, "hits": 0, "misses": 2, "bypassed": 0}
    assert found["misses"][-1]["nearest"]["differences"][0]["name"] == "inductor_config[epilogue_fusion]"


def test_odd_records_are_no_failure(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.log").start()
    for payload in ("", "[]", "nonsense", '{"key": 3, "components": {"a": 1}}', '{"components": [1, null, "x", "[y] z"]}'):
        log.artifact("fx_graph_cache_miss", payload)
        log.artifact("triton_kernel_info", payload)
        log.artifact("precompile_cache_bypass", payload)
    log.metrics(inductor_fx_remote_cache_hit_count="many", num_triton_bundles=None, compiler_config=3)
    assert len(report(log.open()).misses) == 5


def test_components_that_older_torch_broke() -> None:
    raw = [f"[{HASH}] gm: <lambda>()", "", "def forward(self):", f"[{HASH}] example_inputs[0]: T(a: b)", "    x", 7]
    assert parse_components(raw) == [
        ("gm", HASH, "<lambda>()\n\ndef forward(self):"), ("example_inputs[0]", HASH, "T(a: b)\n    x"),
    ]  # fmt: skip


def test_the_nearest_key() -> None:
    index = KeyIndex()

    def add(key: str, record: int, code: str = "f", **parts: str) -> None:
        use = KeyUse("0/0", "miss", f"0/0:x#{record}")
        index.add(FX, key, use, code, [component(name, value) for name, value in parts.items()], 0, record)

    common = {f"setting {n}": f"v{n}" for n in range(50)}
    add("a", 1, gm="one", **common)
    add("b", 2, gm="two", **common)
    add("c", 3, gm="one", **(common | {"setting 7": "other"}))
    add("d", 4, "g", gm="three", **common)
    found = index.nearest(FX, "c")
    assert found is not None
    assert (found.key, found.differing_names, found.differing_components, found.components) == ("a", ("setting 7",), 1, 51)
    assert index.nearest(AOT, "c") is None
    assert index.nearest(FX, "unknown") is None
    assert index.components(FX, "a") == 51
    last = index.nearest(FX, "d")
    assert last is not None
    assert not last.is_same_code


def test_a_forward_is_not_compared_with_a_backward() -> None:
    index = KeyIndex()
    for key, backward in (("a", "False"), ("b", "True")):
        parts = [component("gm", "graph"), component("fx_kwargs[is_backward]", backward)]
        index.add(FX, key, KeyUse("0/0", "miss", "0/0:x"), "f", parts)
    assert index.nearest(FX, "a") is None


def test_names() -> None:
    names = ["example_inputs[10]", "example_inputs[2]", "cfg[x]", "gm", "example_inputs[3]"]
    assert sorted(names, key=importance) == ["gm", "cfg[x]", "example_inputs[2]", "example_inputs[3]", "example_inputs[10]"]
    assert grouped_names(sorted(names, key=importance)) == ["gm", "cfg[x]", "example_inputs[2-3, 10]"]


def test_words_that_differ() -> None:
    (line,), more = changed_lines("shape=torch.Size([16, 16]), cpu", "shape=torch.Size([2, 16]), cpu")
    assert more == 0
    assert line.left is not None
    assert [line.left[a:b] for a, b in line.left_marks] == ["16"]
    shown, marks = around("x" * 200 + "Y" + "z" * 200, ((200, 201),), 60)
    assert len(shown) == 60
    assert [shown[a:b] for a, b in marks] == ["Y"]
    lines, more = changed_lines("a\nb\nc", "a\nd\ne\nf\ng")
    assert [(one.left, one.right) for one in lines] == [("b", "d"), ("c", "e"), (None, "f")]
    assert more == 1


FEWER = "Torch does not log every graph on a cache hit. To log all graphs, record with tltui run --fresh, or set "


def came(run: Run, ref: str = "") -> str:
    """What the summary says of compiles that came from the cache."""
    lines = text(page(run, ref, 200)).splitlines()
    return next((line.strip() for line in lines if "came from the cache" in line), "")


def test_the_summary_says_what_came_from_the_cache(tmp_path: Path) -> None:
    """It has fewer graphs, and that is no fault of the run."""
    end = f". {FEWER}TORCHINDUCTOR_FORCE_DISABLE_CACHES=1."
    assert came(trace("torch-2.13/cache_hit")) == "1 of 1 compile came from the cache" + end
    assert came(trace("torch-2.13/cache_miss")) == ""
    assert came(trace("torch-2.13/train")) == ""
    run = ranks(tmp_path, "hhm")
    assert came(run) == "2 of 3 compiles came from the cache" + end
    assert (came(run, "0:"), came(run, "2:")) == ("1 of 1 compile came from the cache" + end, "")


def test_what_came_from_the_cache_in_part(tmp_path: Path) -> None:
    """The forward was there, the backward was not; and what AOTAutograd's cache lacks, the one below it may have."""
    log = Log(tmp_path / "log.log")
    for frame, names in enumerate([("fx_graph_cache_hit", "fx_graph_cache_miss"), ("aotautograd_cache_miss", "fx_graph_cache_hit"),
                                   ("aotautograd_cache_hit",), ("fx_graph_cache_miss",)]):  # fmt: skip
        log.start(f"f{frame}", frame=frame)
        for name in names:
            answer(log, name, "k", frame=frame)
        log.metrics(frame=frame)
    assert came(log.open()).startswith("3 of 4 compiles came from the cache (1 in part). Torch does not log every graph")
