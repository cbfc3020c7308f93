"""The bars of `tltui check` on what a profile measured: shares in percent, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tltui.analyses.problems.measure import REASONS, Facts, Found, Measure
from tltui.analyses.runtime.costs import own_us
from tltui.analyses.runtime.eager import break_times, fallback_times
from tltui.analyses.runtime.nodes import compile_at
from tltui.analyses.runtime.result import CompileTime, Refused, Runtime
from tltui.analyses.runtime.runtimes import runtimes_of
from tltui.model.run import Run
from tltui.text.times import micros


def joined(run: Run) -> list[Runtime]:
    """The profiles that were joined."""
    return [item for item in runtimes_of(run) if isinstance(item, Runtime)]


def why_no_profile(run: Run) -> str:
    """Why nothing measured the run: no profile, or none that fits; '' where one does."""
    found = runtimes_of(run)
    if any(isinstance(item, Runtime) for item in found):
        return ""
    refused = [f"{item.profile} was not joined: {item.why}" for item in found if isinstance(item, Refused)]
    return "; ".join(refused) or "there is none. Name it with --profile FILE; tltui runtime PATH says how to record one"


def _most(part: Callable[[Runtime], float], of: Callable[[Runtime], float]) -> Callable[[Facts], float]:
    """A share in percent, of the profile that has most of it."""
    return lambda facts: max((100 * part(own) / of(own) for own in joined(facts.run) if of(own) > 0), default=0.0)


def _compiled(runtime: Runtime) -> float:
    share = runtime.share
    return share.kernels_us + share.wrapper_us + share.guards_us + share.overhead_us


def _graphs(runtime: Runtime) -> float:
    return runtime.share.kernels_us + runtime.share.wrapper_us


def _guards(facts: Facts) -> list[Found]:
    found = _dearest(facts, lambda own: own.lookups.us, lambda own: (
        f"{micros(own.lookups.mean_us)} a call, {_percent(own.lookups.us, own_us(own))} of the time of "))  # fmt: skip
    fell = [item for runtime in joined(facts.run) for item in runtime.fallbacks]
    us = sum(item.lookup_us for item in fell)
    said = f"{micros(us / len(fell))} a call, before each of the {len(fell)} calls that fell back" if fell else ""
    return [Found(fell[0].ref or "@runtime", said, "fallbacks"), *found] if fell else found


def _wrappers(facts: Facts) -> list[Found]:
    def us(own: CompileTime) -> float:
        return sum(graph.wrapper_us for graph in own.graphs)

    def said(own: CompileTime) -> str:
        return f"{_percent(us(own), sum(graph.time.us for graph in own.graphs))} of the graphs' time is in no kernel: "

    return _dearest(facts, us, said)


def _dearest(facts: Facts, us: Callable[[CompileTime], float], said: Callable[[CompileTime], str]) -> list[Found]:
    compiles = [own for runtime in joined(facts.run) for own in runtime.compiles if us(own) > 0]
    compiles.sort(key=lambda own: -us(own))
    return [_found(facts, own.ref, said(own) + _name(facts, own.ref)) for own in compiles[:REASONS]]


def _found(facts: Facts, ref: str, text: str) -> Found:
    """What is said of a compile."""
    compile_ = compile_at(facts.run, ref)
    _, file, line = compile_.frame.code if compile_ is not None else (None, None, None)
    return Found(ref or "@runtime", text, _name(facts, ref), file, line)


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 else "0 %"


def _name(facts: Facts, ref: str) -> str:
    compile_ = compile_at(facts.run, ref)
    return (compile_.frame.code[0] if compile_ is not None else None) or ref or "a function"


def _eager(facts: Facts) -> list[Found]:
    found = []
    for runtime in joined(facts.run):
        for item in break_times(facts.run, runtime):
            if item.eager_us:
                lead = item.breaks[0].lead if len(item.breaks) == 1 else None
                at = f" at {lead.file}:{lead.line}" if lead is not None else ""
                text = f"breaks{at}: {micros(item.eager_us)} eager in {item.ops[0].op}" + (" and others" if item.ops[1:] else "")
                file, line = (lead.file, lead.line) if lead is not None else (None, None)
                found.append((item.eager_us, Found(item.ref, text, text.partition(":")[0], file, line)))
        outside = [item for item in runtime.eager if item.inside is None]
        if outside:
            us = sum(item.us for item in outside)
            most = max(outside, key=lambda item: item.us)
            text = f"{micros(us)} outside of all compiled code, most of it in {most.op}"
            found.append((us, Found("@runtime", text, text)))
    found.sort(key=lambda one: (-one[0], one[1].ref, one[1].text))
    return [one for _, one in found[:REASONS]]


def _fallbacks(facts: Facts) -> Iterator[Found]:
    for runtime in joined(facts.run):
        for item in fallback_times(runtime.fallbacks):
            ops = ", ".join(item.ops[:4]) or "no operator"
            yield _found(facts, item.ref, f"{item.calls} × {_name(facts, item.ref)}: then ran {ops}")


def _never(facts: Facts) -> Iterator[Found]:
    for runtime in joined(facts.run):
        for ref in runtime.never_called:
            compile_ = compile_at(facts.run, ref)
            took = f", compiled in {compile_.tally.seconds:.2f} s" if compile_ is not None and compile_.tally.seconds else ""
            yield _found(facts, ref, f"{_name(facts, ref)}{took}")


MEASURES: dict[str, Measure] = {
    "guard_overhead": Measure(
        "guards, of the time of compiled code", _most(lambda own: own.share.guards_us, _compiled), _guards, "runtime", share=True),
    "eager_share": Measure(
        "eager operators, of a step", _most(lambda own: own.share.eager_us, lambda own: own.share.whole_us), _eager, "runtime",
        share=True),
    "wrapper_share": Measure(
        "between kernels, of the time of graphs", _most(lambda own: own.share.wrapper_us, _graphs), _wrappers, "runtime",
        share=True),
    "fallback_calls": Measure(
        "calls that fell back to eager mode", lambda f: sum(len(own.fallbacks) for own in joined(f.run)),
        lambda f: list(_fallbacks(f)), "runtime"),
    "never_called": Measure(
        "compiles that were never called", lambda f: sum(len(own.never_called) for own in joined(f.run)),
        lambda f: list(_never(f)), "runtime"),
}  # fmt: skip
"""What needs a profile."""
