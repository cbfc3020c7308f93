"""Graph breaks: where, why, and what torch suggests.

What the record `dynamo_graph_break_reason` says is read by `tltui.analyses.prose`. Before torch 2.6 there is no such record: then
the restart reasons of the metrics are all there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tltui.analyses.parts import parsed, part, reader_of
from tltui.analyses.prose.break_reason import BreakReason, Reason, read_reason
from tltui.analyses.prose.break_record import read_record
from tltui.analyses.prose.traceback import TracebackPart
from tltui.analyses.records import Reader, addresses, named
from tltui.analyses.stacks.stacks import StackFrame, nearest
from tltui.model.nodes import Compile
from tltui.text.owner import Owner, owner_of

NAME = "dynamo_graph_break_reason"
LIMIT = 1 << 19


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """One graph break."""

    headline: str
    """The reason in a line."""
    gb: str | None = None
    """torch's stable id of the kind of break: `gb0059`."""
    file: str | None = None
    line: int | None = None
    code: str | None = None
    """The source line."""
    function: str | None = None
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    """What torch's developers want to know."""
    skips_frame: bool = False
    """The function can't be resumed after the break: all of it runs in eager mode."""
    stack: tuple[StackFrame, ...] = ()
    """The stack of the program, outermost first."""
    ref: str | None = None
    """The address of the record; None where only the metrics tell."""
    attempt: int = 0
    op: str = ""
    """The bytecode that Dynamo was tracing, in torch's words: `CALL: a function call, e.g. f(x, y)`."""
    raised: tuple[TracebackPart, ...] = ()
    """Where in torch it gave up: the exceptions, each with its frames."""
    while_handling: tuple[Reason, ...] = ()
    """The breaks that came while this one was handled: why torch could not go on after it."""
    stops: bool = False
    """What comes after the break runs in eager mode, as torch can't resume from it."""
    rest: str = ""
    """What of the message has no known shape."""
    operator: str = ""
    """The higher order operator in whose function it happened."""

    @property
    def lead(self) -> StackFrame | None:
        """The nearest line of the program: where it broke, or what led there; else a library's, else torch's."""
        own = self.at
        if own is not None and own.owner is Owner.USER:
            return own
        found = nearest(self.stack)
        return own if found is None or (own is not None and own.owner.rank <= found.owner.rank) else found

    @property
    def at(self) -> StackFrame | None:
        """Where it broke."""
        if self.file is None:
            return None
        return StackFrame(self.function or "", self.file, self.line, self.code, owner_of(self.file) is not Owner.USER)


def breaks_of(compile_: Compile, reader: Reader | None = None, limit: int | None = None) -> tuple[GraphBreak, ...]:
    """The graph breaks of a compile, at most `limit` of them."""
    log = compile_.process.log
    reader = reader or reader_of(compile_)
    if not compile_.counts[NAME]:
        if compile_.process.logs_breaks:
            return ()
        return tuple(from_restart(reason) for reason in compile_.facts.restarts[:limit])
    records = [record for record, _ in named(compile_, (NAME,))][:limit]
    refs, plain = addresses(compile_, (NAME,)), f"{compile_.ref}:{NAME}"
    return tuple(
        replace(
            parsed_break(compile_, reader.payload(record, LIMIT)), ref=refs.get(record, plain),
            attempt=log.context(record).attempt or 0,
        )
        for record in records
    )  # fmt: skip


@part
def known_breaks(compile_: Compile, reader: Reader, limit: int | None = None) -> tuple[GraphBreak, ...]:
    """The graph breaks of a compile, kept."""
    return breaks_of(compile_, reader, limit)


@parsed
def parsed_break(text: bytes) -> GraphBreak:
    """What the text of a break record says by itself."""
    return parse_break(text.decode("utf-8", "replace"))


def from_restart(reason: str) -> GraphBreak:
    """A restart reason, or the message of an `Unsupported`: neither says a place."""
    return _said(read_reason(reason))


def parse_break(text: str, ref: str | None = None, attempt: int = 0) -> GraphBreak:
    """The text of a break record. Whatever its shape is, there is a headline."""
    found = read_record(text)
    same = next((f for f in reversed(found.stack) if (f.file, f.line) == (found.file, found.line)), None)
    return replace(
        _said(found.reason), file=found.file, line=found.line, code=same.code if same else None, function=found.function,
        skips_frame=found.skips, stack=found.stack, raised=found.raised, ref=ref, attempt=attempt,
    )  # fmt: skip


def _said(message: BreakReason) -> GraphBreak:
    first = message.first
    return GraphBreak(
        first.headline or "torch wrote no reason", first.gb, explanation=first.explanation, hints=first.hints,
        context=first.context, skips_frame=message.skips, op=message.op, while_handling=message.later, stops=message.stops,
        rest=first.rest, operator=first.operator,
    )  # fmt: skip
