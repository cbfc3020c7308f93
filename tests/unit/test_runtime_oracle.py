"""Another implementation of the join, slow and short, from the profile alone: the figures must be the same."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.runtime.profile_results import Refused, Runtime
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.sources.discover import discover, profiles_at

CASES = Path(__file__).parents[1] / "traces" / "profiler"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
REGION, LOOKUP, CALL = "Torch-Compiled Region: ", "TorchDynamo Cache Lookup", "## Call CompiledFxGraph "


def ns(us: float) -> int:
    return int(us) * 1000 + round((us - int(us)) * 1000)


@dataclass(eq=False)
class Span:
    """An event, and what is in it."""

    name: str
    begin: int
    end: int
    args: dict[str, Any]
    above: Span | None = None
    inside: list[Span] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.end - self.begin

    def around(self, *names: str) -> Span | None:
        """The innermost span around it whose name begins so."""
        at = self.above
        while at is not None and not at.name.startswith(names):
            at = at.above
        return at

    def all(self) -> list[Span]:
        return [self, *(found for span in self.inside for found in span.all())]


def spans(path: Path) -> tuple[list[Span], int]:
    """What stands outside of all else on each thread, and the end of the window."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]
    window = max(ns(event["ts"]) + ns(event["dur"]) for event in events if event["cat"] == "Trace")
    by_thread: dict[Any, list[Span]] = defaultdict(list)
    kept = [event for event in events if event["cat"] in ("cpu_op", "user_annotation")]
    for event in sorted(kept, key=lambda own: (ns(own["ts"]), -ns(own["dur"]), own["args"]["Ev Idx"])):
        begin = ns(event["ts"])
        by_thread[event["tid"]].append(Span(event["name"], begin, begin + ns(event["dur"]), event["args"]))
    roots = []
    for own in by_thread.values():
        root = Span("", own[0].begin, max(span.end for span in own), {})
        at = root
        for span in own:
            while at is not root and span.begin >= at.end:
                at = at.above or root
            span.above = at
            at.inside.append(span)
            at = span
        roots.append(root)
    return roots, window


@dataclass
class Figures:
    """What the profile says, in ns."""

    regions: Counter[str] = field(default_factory=Counter)
    region_ns: Counter[str] = field(default_factory=Counter)
    self_ns: Counter[str] = field(default_factory=Counter)
    lookups: Counter[str] = field(default_factory=Counter)
    lookup_ns: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    """Calls of graphs whose region is not in the window, and that several compiles have."""
    fallbacks: list[tuple[str, ...]] = field(default_factory=list)
    calls: dict[tuple[str, bool, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    kernels: dict[tuple[str, bool, str], dict[tuple[str, int], list[int]]] = field(default_factory=lambda: defaultdict(dict))
    eager: Counter[tuple[str, str]] = field(default_factory=Counter)
    eager_ns: Counter[tuple[str, str]] = field(default_factory=Counter)


def compiles(span: Span) -> bool:
    names = "dynamo", "compile_file", "entire_frame_compile"
    return "compile_id=" in span.name or "dynamo_timed" in span.name or span.name in names


def compiled(span: Span) -> int:
    """How long it compiled, which is no run time."""
    return sum(inner.length if compiles(inner) else compiled(inner) for inner in span.inside)


def lasting(span: Span) -> int:
    return span.length - compiled(span)


def is_collective(span: Span) -> bool:
    return re.match(r"(gloo|nccl):|c10d::|_c10d_functional::", span.name) is not None


def is_op(span: Span) -> bool:
    return re.match(r"(?!autograd::|torch::)\w+::", span.name) is not None


def id_of(region: Span | None) -> str:
    return "" if region is None else region.name[len(REGION) :]


def forward_of(backward: Span, everything: list[Span]) -> Span | None:
    number = backward.args["Sequence number"]
    return next((s for s in everything if s.name == "CompiledFunction" and s.args.get("Sequence number") == number), None)


def owner(call: Span, everything: list[Span]) -> tuple[str, bool]:
    """The id of the region of a call, '' where that is not in the window; whether it is a backward."""
    above = call.around(REGION, "CompiledFunctionBackward")
    is_backward = above is not None and not above.name.startswith(REGION)
    forward = forward_of(above, everything) if above is not None and is_backward else None
    region = (forward.around(REGION) if forward is not None else None) if is_backward else above
    return id_of(region), is_backward


def code(call: Span) -> tuple[str, ...]:
    """What tells its graph: the key, or with caches off the kernels."""
    key = call.name.split()[3]
    return (key,) if key != "None" else tuple(re.sub(r"^graph_\d+_", "", own.name) for own in call.inside)


def owners(path: Path) -> dict[tuple[str, ...], str]:
    """Of each graph of a whole profile the only id that calls it."""
    roots, _ = spans(path)
    everything = [span for root in roots for span in root.all()]
    found = defaultdict(set)
    for span in everything:
        if span.name.startswith(CALL):
            found[code(span)].add(owner(span, everything)[0])
    return {graph: ids.pop() for graph, ids in found.items() if len(ids) == 1}


def figures(path: Path, whole: Path | None = None) -> Figures:
    whose = owners(whole) if whole is not None else {}
    roots, window = spans(path)
    found = Figures()
    everything = [span for root in roots for span in root.all()]
    roots_last = [root.all()[-1] for root in roots]  # behind which nothing is recorded
    for span in everything:
        if span.end > window:
            continue
        if span.name.startswith(REGION):
            own = id_of(span)
            nested = [s for s in span.all()[1:] if s.name.startswith((REGION, LOOKUP)) and s.around(REGION, LOOKUP) is span]
            found.regions[own] += 1
            found.region_ns[own] += lasting(span)
            found.self_ns[own] += lasting(span) - sum(s.length for s in nested) + sum(compiled(s) for s in nested)
        elif span.name == LOOKUP and span.above is not None:
            beside = span.above.inside[span.above.inside.index(span) + 1 :]
            if span in roots_last:
                continue
            behind = next((s for s in beside if not compiles(s)), None)
            if behind is not None and behind.name.startswith(REGION):
                found.lookups[id_of(behind)] += 1
                found.lookup_ns[id_of(behind)] += span.length
            else:
                until = next((n for n, s in enumerate(beside) if s.name.startswith((REGION, LOOKUP))), len(beside))
                found.fallbacks.append(tuple(dict.fromkeys(s.name for s in beside[:until] if is_op(s))))
        elif span.name.startswith(CALL):
            ref, is_backward = owner(span, everything)
            ref = ref or whose.get(code(span), "")
            if not ref:
                found.unknown += 1
                continue
            key = ref, is_backward, span.name.split()[3]
            found.calls[key].append(lasting(span))
            count: Counter[str] = Counter()
            for kernel in span.inside:
                name = re.sub(r"^graph_\d+_", "", kernel.name)
                found.kernels[key].setdefault((name, count[name]), []).append(kernel.length)
                count[name] += 1
        elif is_collective(span) and span.around(REGION) is None:
            continue
        elif is_op(span) and not any(is_op(s) or compiles(s) or s.name.startswith((CALL, LOOKUP)) for s in lineage(span)):
            found.eager[id_of(span.around(REGION)), span.name] += 1
            found.eager_ns[id_of(span.around(REGION)), span.name] += span.length
    return found


def lineage(span: Span) -> list[Span]:
    found = []
    while (span := span.above) is not None:  # type: ignore[assignment]
        found.append(span)
    return found


def opened(name: str, *profiles: Path) -> Run:
    run = open_run(discover([str(CASES / name)]))
    if profiles:
        run.profiles.add(profiles_at(map(str, profiles)))
    run.profiles.read()
    return run


def profile_name(name: str) -> str:
    parts = name.split(".")
    return f"aten::{parts[1]}" if parts[0] == "extern_kernels" else f"{parts[2]}::{parts[3]}" if parts[0] == "torch" else name


def close(us: float, ns_: int) -> bool:
    return us == pytest.approx(ns_ / 1000, abs=0.002)


def cut(tmp_path: Path, name: str, first: float, last: float) -> Path:
    """The profile of a window that began later and ended earlier. What had begun before is not recorded; what goes on then is."""
    whole = json.loads(next((CASES / name).glob("*.json")).read_text())
    events = whole["traceEvents"]
    (window,) = (event for event in events if event.get("cat") == "Trace")
    begin, end = window["ts"] + window["dur"] * first, window["ts"] + window["dur"] * last
    window["ts"], window["dur"] = begin, end - begin
    whole["traceEvents"] = [event for event in events if event["ph"] == "M" or begin <= event["ts"] <= end]
    (tmp_path / "cut.json").write_text(json.dumps(whole))
    return tmp_path / "cut.json"


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_the_same(name: str) -> None:
    agrees(runtimes_of(opened(name)))


@pytest.mark.parametrize("name", ["mlp", "broken", "llama", "cache_hit"])
def test_whatever_the_window_cuts(tmp_path: Path, name: str) -> None:
    """Of spans that it cuts nothing counts; those in them do."""
    for step in range(8):
        found = runtimes_of(opened(name, cut(tmp_path, name, 0.04 * step, 1 - 0.05 * step)))
        agrees(found, next((CASES / name).glob("*.json")))
        assert all(runtime.end_us > runtime.begin_us for runtime in found if isinstance(runtime, Runtime))


def test_a_backward_of_a_forward_before_the_window_is_known_by_its_key(tmp_path: Path) -> None:
    (found,) = runtimes_of(opened("mlp", cut(tmp_path, "mlp", 0.04, 1)))
    assert isinstance(found, Runtime)
    (compile_,) = found.compiles
    assert [(graph.unit, graph.time.calls) for graph in compile_.graphs] == [("backward", 4), ("forward", 3)]


def agrees(found: tuple[Runtime | Refused, ...], whole: Path | None = None) -> None:
    assert found
    for runtime in found:
        assert isinstance(runtime, Runtime), runtime
        wanted = figures(Path(runtime.profile), whole)
        assert whole is not None or any(wanted.regions.values())
        assert sum(runtime.unmatched.values()) == wanted.unknown
        own = {compile_.ref.split(":")[-1].replace("a", "!"): compile_ for compile_ in runtime.compiles}
        assert set(own) == {*wanted.regions, *wanted.lookups, *(key[0] for key in wanted.calls)}
        for ref, compile_ in own.items():
            assert compile_.regions.calls == wanted.regions[ref]
            assert close(compile_.regions.us, wanted.region_ns[ref])
            assert close(compile_.region_self_us, wanted.self_ns[ref])
            assert compile_.lookups.calls == wanted.lookups[ref]
            assert close(compile_.lookups.us, wanted.lookup_ns[ref])
        assert sorted(own.ops for own in runtime.fallbacks) == sorted(wanted.fallbacks)
        eager = {((one.inside_ref or "").split(":")[-1].replace("a", "!"), one.op): one for one in runtime.eager}
        assert {key: one.calls for key, one in eager.items()} == dict(wanted.eager)
        assert all(close(one.total_us, wanted.eager_ns[key]) for key, one in eager.items())


@pytest.mark.parametrize("name", NAMES)
def test_every_call_of_every_kernel_is_the_same(name: str) -> None:
    for runtime in runtimes_of(opened(name)):
        assert isinstance(runtime, Runtime)
        wanted = figures(Path(runtime.profile))
        seen = set()
        for compile_ in runtime.compiles:
            for graph in compile_.graphs:
                key = compile_.ref.split(":")[-1].replace("a", "!"), "backward" in graph.unit, str(graph.key)
                seen.add(key)
                times = wanted.calls[key]
                assert graph.time.calls == len(times)
                assert close(graph.time.us, sum(times))
                assert close(graph.time.max_us, max(times))
                kernels = {(profile_name(kernel.name), kernel.nth): kernel for kernel in graph.kernels}
                assert set(kernels) == set(wanted.kernels[key])
                for which, kernel in kernels.items():
                    own = sorted(wanted.kernels[key][which])
                    assert (kernel.time.calls, kernel.time.min_us, kernel.time.max_us) == (len(own), own[0] / 1000, own[-1] / 1000)
                    assert close(kernel.time.us, sum(own))
                inside = sum(sum(own) for own in wanted.kernels[key].values())
                assert close(graph.kernels_us, inside)
                assert close(graph.kernels_us + graph.wrapper_us, sum(times))
        assert seen == set(wanted.calls)


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_the_window_are_the_whole(name: str) -> None:
    for runtime in runtimes_of(opened(name)):
        assert isinstance(runtime, Runtime)
        share = runtime.share
        parts = (share.kernels_us, share.wrapper_us, share.guards_us, share.overhead_us, share.eager_us, share.collectives_us,
                 share.idle_us)  # fmt: skip
        assert all(part >= 0 for part in parts)
        assert sum(parts) == pytest.approx(share.total_us, rel=1e-9)
        if name != "threads":  # on one thread each part is what its spans add up to
            assert share.kernels_us == pytest.approx(sum(graph.kernels_us for own in runtime.compiles for graph in own.graphs))
            assert share.wrapper_us == pytest.approx(sum(graph.wrapper_us for own in runtime.compiles for graph in own.graphs))


def handles(log: Path) -> dict[str, list[list[tuple[str, int]]]]:
    """Of each compile the kernels of each of its generated codes in their order, as the comments above the calls number them."""
    found: dict[str, list[list[tuple[str, int]]]] = defaultdict(list)
    text = log.read_text()
    for match in re.finditer(r"\n?V\d{4} [^\n]*?(\{[^\n]*\"inductor_output_code\"[^\n]*\})\n((?:\t[^\n]*\n?)*)", text):
        record = json.loads(match[1])
        called = re.findall(r"# \[Provenance debug handles\] (\S+):(\d+)", match[2])
        found[f"{record['frame_id']}/{record['frame_compile_id']}"].append([(name, int(number)) for name, number in called])
    return found


@pytest.mark.parametrize("name", ["mlp", "broken", "llama", "cache_hit"])
def test_the_nth_event_is_the_nth_call_of_the_code(name: str) -> None:
    log = next((CASES / name).glob("*.log"))
    wanted = handles(log)
    for runtime in runtimes_of(opened(name)):
        assert isinstance(runtime, Runtime)
        for compile_ in runtime.compiles:
            assert compile_.graphs
            found = [[(kernel.name, kernel.handle) for kernel in graph.kernels] for graph in compile_.graphs]
            assert sorted(found) == sorted(wanted[compile_.ref])
