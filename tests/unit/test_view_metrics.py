"""The metrics of a compile and of a run: fields, units, what differs, damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import TRACES, trace
from viewed import lead_somewhere, opened, text

from tltui.documents.scope import scope_of
from tltui.export import to_json
from tltui.model.record_reader import Reader
from tltui.model.run import Run
from tltui.questions.metrics.metric_sums import COPIES, FIELDS, CompileMetrics, RunMetrics, about, metrics_of, run_metrics
from tltui.questions.metrics.page import number_text, raw_text

pytestmark = pytest.mark.usefixtures("utc")

LOGS = [path for group in ("torch-2.13", "tlparse") for path in (TRACES / group).iterdir() if path.name != "LICENSE"]
NAMES = sorted(str(path.relative_to(TRACES.parents[1])) for path in LOGS)


def metrics(run: Run, ref: str = "") -> RunMetrics:
    steps = run_metrics(ref, scope_of(run, ref).compiles)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            assert isinstance(stop.value, RunMetrics)
            return stop.value


def of_compile(run: Run, ref: str = "0/0") -> CompileMetrics:
    (compile_,) = scope_of(run, ref).compiles
    return metrics_of(compile_, next((c for c in run.compiles() if c.metrics), None))


@pytest.mark.parametrize(("name", "ref", "width"), [
    ("src/tltui/demo", "", 80), ("src/tltui/demo", "0:0/0", 100), ("tests/traces/torch-2.13/recompiles", "0/2", 80),
    ("tests/traces/torch-2.13/recompiles", "0/0", 160), ("tests/traces/torch-2.13/aoti", "", 80),
    ("tests/traces/tlparse/inductor_provenance_jit_cuda_log.txt", "0/0", 60), ("tests/traces/tlparse/comp_metrics.log", "", 80),
])  # fmt: skip
def test_golden(name: str, ref: str, width: int) -> None:
    """Without the entries of the configurations, which are hundreds of lines."""
    run = opened(name)
    document = page(run, f"@metrics:{ref}" if ref else "@metrics", width)
    titles = ("dynamo_config", "inductor_config", "functorch_config", "compiler_config")
    hidden = [s for s in document.sections() if s.title.startswith(titles) and s.last > s.first + 3]
    lines = [line for n, line in enumerate(document.text()) if not any(s.first + 3 < n <= s.last for s in hidden)]
    assert_golden(f"metrics_{name.rpartition('/')[2].partition('.')[0]}_{width}", "\n".join(lines))


@pytest.mark.parametrize("name", NAMES)
def test_every_trace(name: str) -> None:
    """Every field of every metrics record is on the page of its compile, and in its JSON, with its value."""
    run = opened(name)
    for compile_ in run.compiles():
        if not compile_.metrics:
            continue
        document = page(run, f"@metrics:{compile_.ref}", 60, ascii_=True)
        shown = text(document)
        found = document.data()
        assert isinstance(found, CompileMetrics) and len(found.records) == len(compile_.metrics)
        json.loads(to_json(found))
        reader = Reader(compile_.process.log)
        for record, stored in zip(found.records, sorted(compile_.metrics, key=lambda m: m.record), strict=True):
            values = reader.event(stored.record)
            assert {field.name for field in record.fields} == set(values)
            for field in record.fields:
                assert field.name in shown or field.name[:8] in shown  # cut in the middle
                if not isinstance(values[field.name], (str, list)):
                    assert field.value == values[field.name]


@pytest.mark.parametrize("name", NAMES)
def test_every_run_at_every_width(name: str) -> None:
    run = opened(name)
    document = page(run, "@metrics", 60)
    names = {name for c in run.compiles() for m in c.metrics for name in Reader(c.process.log).event(m.record)}
    found = document.data()
    assert isinstance(found, RunMetrics) and names >= set(found.empty)
    json.loads(to_json(found))


def test_links_lead_somewhere() -> None:
    run = trace("torch-2.13/recompiles")
    for ref in ("@metrics", "@metrics:0/0", "@metrics:0/2"):
        lead_somewhere(run, page(run, ref))


def test_times_are_shown_in_units_that_people_read() -> None:
    assert number_text(8993815, "us") == "8.99 s" and raw_text(8993815, "us") == "8993815"
    assert number_text(58, "us") == "58 µs" and number_text(0, "us") == "0 ms" and raw_text(0, "us") == ""
    assert number_text(1.5, "s") == "1.50 s" and number_text(3, "ms") == "3 ms"
    assert number_text(26192, "bytes") == "25.6 KB" and number_text(6548, "count") == "6,548"
    assert number_text(1795172460350831, "epoch us") == number_text(1795172460.350831, "epoch s")
    assert number_text(float("nan"), "us") == "nan" and number_text(1e300, "epoch s") == "1e+300"


def test_unknown_fields_are_shown_with_the_unit_of_their_name(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    log.metrics(brand_new_time_us=1_500_000, brand_new="[red]x[/red]\x1b[2J", nested={"a": [1, {"b": None}]}, new_config='{"a": 1}')
    shown = text(page(log.open(), "@metrics:0/0"))
    assert "unknown to this version of tltui" in shown
    assert "brand_new_time_us" in shown and "1.50 s" in shown and "[red]x[/red]␛[2J" in shown
    assert about("brand_new_time_us") == ("other fields", "us", "") and about("x_count").unit == "count"


def test_copies_and_empty_fields_are_folded() -> None:
    document = page(trace("torch-2.13/train"), "@metrics:0/0")
    folded = [section.title for section in document.sections() if section.folded]
    assert any("copies of these" in title for title in folded) and any("without a value" in title for title in folded)
    assert set(COPIES) <= set(FIELDS) and "start_time" in COPIES


def test_configurations_are_compared_with_the_first_compile() -> None:
    found = of_compile(opened("src/tltui/demo"), "0:11/0")
    assert found.first_ref == "0:0/0" and "dynamo_config" in found.same_configs and "inductor_config" not in found.same_configs
    assert of_compile(opened("src/tltui/demo"), "0:0/0").first_ref is None
    assert "different from [0:0/0]" in text(page(opened("src/tltui/demo"), "@metrics:0:11/0", 120))


def test_settings_that_differ_between_compiles_and_ranks(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for number, config in enumerate(('{"a": 1, "b": [2]}', '{"a": 1, "b": [3], "c": null}', '{"a": 1, "b": [2]}')):
        log.metrics(compile_=number, dynamo_config=config, pytorch_version="2.13.0" if number else "2.12.1")
    found = metrics(log.open())
    assert [(s.config, s.name, [(v.value, v.count, v.first_ref) for v in s.values]) for s in found.settings] == [
        ("dynamo_config", "b", [([2], 2, "0/0"), ([3], 1, "0/1")]),
        ("dynamo_config", "c", [("(not there)", 2, "0/0"), (None, 1, "0/1")]),
    ]  # fmt: skip
    assert [config.variants for config in found.configs] == [2]
    shown = text(page(log.open(), "@metrics"))
    assert "Settings that differ (3)" in shown and "2.12.1" in shown and "dynamo_config.b" in shown


def test_settings_that_differ_by_rank(tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        log = Log(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log")
        log.add("compilation_metrics", {"dynamo_config": json.dumps({"a": int(rank == 1)}), "graph_op_count": 1}, rank=rank)
        log.open()
    from tltui.model.follow import open_run
    from tltui.sources.discover import discover

    (setting,) = metrics(open_run(discover([str(tmp_path)]))).settings
    assert [(v.value, v.ranks) for v in setting.values] == [(0, (0, 2)), (1, (1,))]


def test_ranks_of_a_setting_are_told_in_their_order(tmp_path: Path) -> None:
    """Also where different configurations share the entry."""
    configs = {0: [{"a": 0, "b": 0}, {"a": 1, "b": 1}], 1: [{"a": 1, "b": 2}], 2: [{"a": 1, "b": 1}], None: [{"a": 1, "b": 1}]}
    for rank, own in configs.items():
        log = Log(tmp_path / f"dedicated_log_torch_trace_{rank}_abcdefgh.log")
        for number, config in enumerate(own):
            more = {} if rank is None else {"rank": rank}
            log.add("compilation_metrics", {"dynamo_config": json.dumps(config)}, compile_=number, **more)
        log.open()
    from tltui.model.follow import open_run
    from tltui.sources.discover import discover

    settings = {setting.name: setting for setting in metrics(open_run(discover([str(tmp_path)]))).settings}
    assert [(v.value, v.ranks) for v in settings["a"].values] == [(1, (0, 1, 2, None)), (0, (0,))]


def test_numbers_of_a_run() -> None:
    run = trace("torch-2.13/recompiles")
    totals = {total.name: total for total in metrics(run).totals}
    assert totals["duration_us"].sum == pytest.approx(sum(c.tally.compile_s for c in run.compiles()) * 1e6)
    assert totals["num_graph_breaks"].sum is None and totals["start_time_us"].sum is None
    assert totals["accumulated_cache_size"].max_ref == "0/4"


def test_many_values_are_counted_together(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for number in range(20):
        log.metrics(compile_=number, fail_type=f"Error{number}", fail_reason="x\n" * number)
    found = next(t for t in metrics(log.open()).texts if t.name == "fail_type")
    assert len(found.values) == 9 and found.values[0].value == "(other values)" and found.values[0].count == 12


def test_odd_metrics(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    log.metrics(duration_us="long", dynamo_config="{no json", inductor_config=7, restart_reasons=None, stack_trace={"a": 1},
                graph_op_count=float("nan"), inductor_provenance=["{", '{"k": ["a\\nb"]}'], param_bytes=1 << 80)  # fmt: skip
    log.add("compilation_metrics", [], compile_=1).add("compilation_metrics", {}, compile_=2)
    run = log.open()
    for width in (60, 160):
        shown = text(page(run, "@metrics:0/0", width))
        assert "{no json" in shown and "NaN" in shown.replace("nan", "NaN")
        assert "0 records" in text(page(run, "@metrics:0/1", width))
        text(page(run, "@metrics", width))
    assert metrics(run).records == 2
    json.loads(to_json(page(run, "@metrics:0/0").data()))


def test_nothing_to_show_says_why(tmp_path: Path) -> None:
    assert "No compile has ended" in text(page(trace("torch-2.13/draft_export"), "@metrics")).replace("\n", " ")
    assert "without a frame id" in text(page(trace("torch-2.13/draft_export"), "@metrics:none")).replace("\n", " ")
    log = Log(tmp_path / "x.log").start()
    assert "killed" in text(page(log.open(), "@metrics:0/0")).replace("\n", " ")


def test_symbols_that_were_fixed_and_guards_that_were_added() -> None:
    found = of_compile(trace("torch-2.13/dyn"), "0/0")
    assert [(s.symbol, s.value, s.reason) for s in found.specializations] == [("s77", 5, "range_refined_to_singleton")]
    shown = text(page(trace("torch-2.13/dyn"), "@metrics:1/0"))
    assert "s77 < 10  guard added" in shown
