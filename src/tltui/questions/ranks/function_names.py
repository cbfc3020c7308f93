"""Display names for functions that comparisons of ranks identify by code object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.questions.ranks.matrix import Matrix
from tltui.questions.ranks.pace import ExtraCompile, Key, Late, Pace, Slow, Spread, Wait
from tltui.questions.ranks.rank_course import Code
from tltui.questions.stacks.tracebacks import display_name, is_ambiguous

Timed = TypeVar("Timed", Late, Slow, Wait, Spread, ExtraCompile)


def compile_of(run: Run, ref: str) -> Compile | None:
    """Return the compile at an address; None if no loaded node is there."""
    try:
        node = run.resolve(ref) if ref else None
    except BadAddress:
        return None
    return node if isinstance(node, Compile) else None


def function_name(run: Run, name: str, ref: str) -> str:
    """Return the display name of a function that is compiled at an address."""
    compile_ = compile_of(run, ref) if is_ambiguous(name) else None
    return (display_name(compile_.frame) if compile_ is not None else None) or name


def named_columns(run: Run, matrix: Matrix) -> Matrix:
    """Return the matrix with the display names of functions."""
    columns = (replace(column, function=function_name(run, column.function, column.ref)) for column in matrix.columns)
    return replace(matrix, columns=tuple(columns))


def named_pace(run: Run, pace: Pace) -> Pace:
    """Return the pace with the display names of functions."""
    compiles = [(one.compile, one.ref) for one in pace.late]
    compiles += [(one.compile, one.ref) for one in pace.slow]
    compiles += [(one.compile, one.ref) for one in pace.waits]
    compiles += [(one.compile, one.slowest_ref) for one in pace.spreads]
    compiles += [(one.compile, one.ref) for extra in pace.extra for one in extra.compiles]
    codes = _codes(run, compiles)
    if not codes:
        return pace
    return replace(
        pace, late=_renamed(codes, pace.late), slow=_renamed(codes, pace.slow), waits=_renamed(codes, pace.waits),
        spreads=_renamed(codes, pace.spreads),
        extra=tuple(replace(extra, compiles=_renamed(codes, extra.compiles)) for extra in pace.extra),
    )  # fmt: skip


def named_spreads(run: Run, spreads: Sequence[Spread]) -> tuple[Spread, ...]:
    """Return spreads with the display names of functions."""
    return _renamed(_codes(run, ((one.compile, one.slowest_ref) for one in spreads)), spreads)


def _codes(run: Run, compiles: Iterable[tuple[Key, str]]) -> dict[Code, Code]:
    """Map ambiguous code objects to those with display names, each from its first compile."""
    codes: dict[Code, Code] = {}
    for key, ref in compiles:
        if key.code not in codes and is_ambiguous(key.code[0]):
            codes[key.code] = (function_name(run, key.code[0], ref), *key.code[1:])
    return codes


def _renamed(codes: dict[Code, Code], items: Iterable[Timed]) -> tuple[Timed, ...]:
    return tuple(replace(one, compile=one.compile._replace(code=codes.get(one.compile.code, one.compile.code))) for one in items)
