"""Compile time split by the work that the next process repeats, against a run with the kept caches."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_logs import Log
from pages import page
from real import trace
from viewed import text

from tltui.documents import format as fmt
from tltui.model.run import Run
from tltui.questions.caches.cache_report import AOT, FX, CacheAnswer, CachesReport, ColdStart, CompileCaches
from tltui.questions.caches.cold_start_sections import COMPILED, reason_of_rest, saved_by_keeping

SECONDS = {"aot autograd": 1.0, "inductor": 2.0, "kernels": 4.0, "cache": 8.0}


def cold_start(run: Run) -> ColdStart:
    report = page(run, "@caches").data()
    assert isinstance(report, CachesReport)
    assert report.cold_start is not None
    return report.cold_start


def caches(*answers: tuple[str, str], disabled: tuple[str, ...] = (), compile_s: float | None = None) -> CompileCaches:
    given = tuple(CacheAnswer(cache, state) for cache, state in answers)
    return CompileCaches("0/0", "f", None, None, given, (), None, compile_s, disabled, True, (), (), None)


@pytest.mark.parametrize(
    ("compile_", "saved"),
    [
        (caches((FX, "miss"), (AOT, "miss")), {AOT: 1.0, FX: 2.0, COMPILED: 4.0}),
        (caches((FX, "miss"), (AOT, "bypass")), {FX: 2.0, COMPILED: 4.0}),
        (caches((FX, "bypass"), (AOT, "bypass")), {COMPILED: 4.0}),
        (caches((FX, "miss"), (FX, "bypass"), (AOT, "bypass"), compile_s=1.5), {FX: 0.5, COMPILED: 4.0}),
        (caches((FX, "hit"), (AOT, "hit")), {}),
        (caches(), {}),
        (caches(disabled=(f"{FX}: fx_graph_cache is False in inductor_config",)), {COMPILED: 4.0}),
        (caches(disabled=("all caches: force_disable_caches is True in inductor_config",)), {}),
        (None, {}),
    ],
)
def test_seconds_saved_need_an_entry(compile_: CompileCaches | None, saved: dict[str, float]) -> None:
    assert saved_by_keeping(SECONDS, compile_) == saved


def test_the_rest_has_a_reason() -> None:
    reasons = [
        reason_of_rest(one)
        for one in (caches((AOT, "bypass")), caches((FX, "hit")), caches(disabled=("x",)), caches(), caches((FX, "miss")), None)
    ]
    assert reasons == [
        "a cache was bypassed", "loading from caches", "a cache was disabled", "no lookup was logged",
        "everything else", "everything else",
    ]  # fmt: skip


def test_the_prediction_agrees_with_a_run_that_had_the_cache_directory() -> None:
    cold, warm = (cold_start(trace(f"torch-2.13/{name}")) for name in ("cache_miss", "cache_hit"))
    measured = cold.compile_s - warm.compile_s
    assert abs(cold.cached_s - measured) < max(0.15 * measured, 2.0)
    assert abs(cold.repeated_s - warm.repeated_s) < 2.0
    assert warm.cached_s == 0
    assert warm.saved_s > 0


@pytest.mark.parametrize("name", ["cache_miss", "cache_hit", "dyn", "ddp", "breaks", "errors"])
def test_the_parts_add_up(name: str) -> None:
    cold = cold_start(trace(f"torch-2.13/{name}"))
    assert cold.cached_s + cold.repeated_s + cold.rest_s == pytest.approx(cold.compile_s)
    assert cold.cached_s == pytest.approx(sum(one.saved_s for one in cold.caches))
    assert cold.rest_s == pytest.approx(sum(one.duration_s for one in cold.rest))
    assert min(cold.cached_s, cold.repeated_s, cold.rest_s) >= 0


def test_a_recompilation_for_a_size_alone_is_listed_with_the_size() -> None:
    run = trace("torch-2.13/recompiles")
    [one] = cold_start(run).new_sizes
    assert (one.ref, [(c.source, c.dim, c.before, c.now) for c in one.changes]) == ("0/1", [("x", 0, 3, 5)])
    assert sum(node.is_recompile for node in run.compiles()) == 4
    assert "x dim 0: 3 → 5" in text(page(run, "@caches"))


def code(path: Path, filename: str) -> Run:
    """Return a run with a miss, whose generated code has this path."""
    log = Log(path / "dedicated_log_torch_trace_abcdefgh.log").start("forward")
    log.add("inductor_output_code", {"filename": filename}, "x = 1\n")
    log.artifact("fx_graph_cache_miss", '{"key": "k"}')
    log.event("inductor_compile", "B", 0.0).event("inductor_compile", "E", 1.0)
    return log.metrics().open()


@pytest.mark.parametrize(
    ("filename", "directories"),
    [
        ("/tmp/torchinductor_user/ab/cabqqq.py", ("/tmp/torchinductor_user",)),
        ("/tmp/torchinductor_user/xy/cabqqq.py", ()),
        ("/tmp/$(reboot)/ab/cab.py", ("/tmp/$(reboot)",)),
        ("cab.py", ()),
        ("ab/cab.py", ()),
    ],
)
def test_the_cache_directory_is_that_of_the_generated_code(tmp_path: Path, filename: str, directories: tuple[str, ...]) -> None:
    assert cold_start(code(tmp_path, filename)).directories == directories


def test_a_directory_is_quoted_for_the_shell(tmp_path: Path) -> None:
    assert "Cache directory: '/tmp/$(reboot)'" in text(page(code(tmp_path, "/tmp/$(reboot)/ab/cab.py"), "@caches"))


def test_the_timing_page_has_the_sums() -> None:
    shown = text(page(trace("torch-2.13/cache_miss"), "@timing", 120))
    cold = cold_start(trace("torch-2.13/cache_miss"))
    assert f"saved at most by keeping the caches: {fmt.seconds(cold.cached_s)}" in shown


def test_parts_of_a_compile_are_at_most_the_whole() -> None:
    """The events of a lazy backward take longer than the duration that torch measured."""
    found = cold_start(trace("rank_jobs/backward"))
    assert found.cached_s + found.repeated_s + found.rest_s == pytest.approx(found.compile_s)
    assert found.cached_s < found.compile_s
    said = text(page(trace("rank_jobs/backward"), "@caches"))
    assert "102%" not in said and "The compiles used different directories." in said
