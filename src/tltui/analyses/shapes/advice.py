"""What may be done about a size that is not as dynamic as somebody wanted: only what the facts support."""

from __future__ import annotations

import re
from dataclasses import replace

from tltui.analyses.parts import part
from tltui.analyses.records import Reader, named
from tltui.analyses.shapes.meanings import PROGRAM
from tltui.analyses.shapes.shape_env import EVENTS
from tltui.analyses.shapes.shapes import CompileShapes, Dim, SymbolShape, has_marks, readable_dim, shapes_of
from tltui.model.nodes import Compile

FIXED, GUARDED, SYMBOLS, MARKED, PLAIN = range(5)
"""What a compile has to show, the most interesting first."""

_ARGUMENT = re.compile(r"^[LG]\['(?P<name>\w+)'\](?P<rest>[^\n]*)$")
_MODULE_PART = re.compile(r"\._(?:modules|parameters|buffers)\['([^'\]]+)'\]")


@part
def interest(compile_: Compile, reader: Reader) -> int:
    """FIXED, GUARDED, SYMBOLS, MARKED or PLAIN, as far as the kinds of its records tell."""
    names = {name for _, name in named(compile_, EVENTS)}
    if compile_.counts["symbolic_shape_specialization"] or (compile_.tally.errors and names):
        return FIXED
    if names:
        return GUARDED if any(name.startswith("guard_added") for name in names) else SYMBOLS
    return MARKED if has_marks(compile_, reader) else PLAIN


@part
def shapes_in(compile_: Compile, reader: Reader) -> CompileShapes:
    """What a compile logged about shapes, and what may be done."""
    shapes = shapes_of(compile_, reader)
    return replace(shapes, advice=advice_of(shapes))


def python_name(source: str) -> str:
    """A source as the user's code has it: `L['x']` → `x`."""
    match = _ARGUMENT.match(source)
    return _MODULE_PART.sub(r".\1", match["name"] + match["rest"]) if match else source


def advice_of(shapes: CompileShapes) -> tuple[str, ...]:
    """Advice for a compile, each piece once, what matters most first."""
    found: list[str] = []
    for symbol in shapes.symbols:
        if symbol.fixed is not None:
            found += _for_fixed(symbol)
    for dim in shapes.stuck:
        found += _for_stuck(dim)
    for symbol in shapes.symbols:
        if symbol.fixed is None:
            found += _for_bounds(symbol)
    return tuple(dict.fromkeys(found))


def _call(what: str, dim: Dim | SymbolShape) -> str:
    return f"{what}({python_name(dim.tensor or '')}, {dim.dim})"


def _for_fixed(symbol: SymbolShape) -> list[str]:
    fixed = symbol.fixed
    assert fixed is not None
    what = readable_dim(symbol.tensor, symbol.dim, symbol.source)
    code = ((fixed.user.code if fixed.user else None) or "").strip()
    partners = [partner for partner in symbol.partners if not partner.parameter]
    if code.startswith("assert"):
        return [
            f"If {what} is always {fixed.value}, it need not be dynamic. If it is not, the assert forbids every other size."
        ]
    found = []
    if symbol.tensor is not None and partners:
        mark = "maybe_mark_dynamic" if symbol.mark == "maybe dynamic" else "mark_dynamic"
        names = " and ".join(_call(f"torch._dynamo.{mark}", partner) for partner in partners[:2])
        found.append(f"If the two sizes belong together, mark the other one too: {names}.")
    elif any(partner.parameter for partner in symbol.partners):
        found.append("The size has to fit a parameter, which never varies: then it need not be dynamic.")
    if symbol.mark == "dynamic" and symbol.tensor is not None:
        found.append(
            f"{_call('torch._dynamo.maybe_mark_dynamic', symbol)} instead of mark_dynamic makes it no error: torch may fix "
            "the size, and every other size is a compile of its own."
        )
    return found


def _for_stuck(dim: Dim) -> list[str]:
    if dim.size not in ("0", "1") or dim.mark == "unbacked":
        return []
    return [
        f"Call it first with a size of 2 or more, or use {_call('torch._dynamo.decorators.mark_unbacked', dim)}: "
        "then one compile is for all sizes."
    ]


def _for_bounds(symbol: SymbolShape) -> list[str]:
    """A condition in the user's code that splits the sizes."""
    if symbol.unbacked or symbol.tensor is None:
        return []
    splits = [guard for guard in symbol.guards if guard.why == PROGRAM and not guard.deferred]
    if not splits or not any(guard.high is not None or (guard.low or 0) > 2 for guard in symbol.kept):
        return []
    first = splits[0]
    condition = first.expr.replace(symbol.name, f"{python_name(symbol.tensor)}.shape[{symbol.dim}]")
    mark = _call("torch._dynamo.decorators.mark_unbacked", symbol)
    return [
        f"If `{condition}` holds for every size: {mark} and torch._check({condition}) before the branch make one compile; "
        "a size that breaks it is then an error.",
        "If not, each side of the branch needs a compile of its own.",
    ]

