"""What a piece of news says, in a line: the sentence, and the user's line. This reads payloads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tltui.analyses.news import News, What
from tltui.analyses.parts import reader_of
from tltui.analyses.problems.breaks import LIMIT, GraphBreak, from_restart, known_breaks, parsed_break
from tltui.analyses.problems.failures import Failure, known_failures
from tltui.analyses.problems.problems import limit_stated
from tltui.analyses.prose.traceback import last_raised, read_traceback
from tltui.analyses.recompiles import causes
from tltui.analyses.recompiles.explained import explained_of
from tltui.analyses.torch_version import version_by_metrics
from tltui.documents import format as fmt
from tltui.documents.parts.recompiles import differing, said_of
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile, Process
from tltui.model.outcome import Eager
from tltui.model.run import Run
from tltui.model.status import BREAK, Status, status_of, without_backward
from tltui.text import cut
from tltui.trace.envelope import is_entry

LONGEST = 400
"""Characters of a sentence."""


@dataclass(frozen=True, slots=True)
class Told:
    """A piece of news, told."""

    text: str
    """One line; not sanitised."""
    file: str | None = None
    """The line of the program that it is about; else a library's, else torch's."""
    line: int | None = None
    status: Status | None = None
    """Of a compile that ended: what became of it."""
    what: What | None = None
    """What it turned out to be, where that is more than was known without reading."""


def told(run: Run, news: News) -> Told:
    """The sentence. Of what is not in the file any more it is what was known without reading it."""
    compile_ = compile_of(run, news)
    try:
        found = _of_log(run, news) if compile_ is None else _of_compile(compile_, news)
    except OSError:
        found = Told(news.text, status=news.status)
    return replace(found, text=cut.end(fmt.one_line(found.text[: 4 * LONGEST]), LONGEST)[:LONGEST])


def time_of(run: Run, news: News) -> str | None:
    """`MM-DD HH:MM:SS.micros` in local time of the job, as the record has it that tells; None where none does."""
    if news.record is None:
        return None
    try:
        prefix = run.models[news.log].log.prefix(news.record)
    except OSError:
        return None
    return f"{prefix.month:02}-{prefix.day:02} {prefix.time}" if prefix is not None else None


def compile_of(run: Run, news: News) -> Compile | None:
    """The compile that a piece of news is about."""
    process = process_of(run, news) if news.key is not None else None
    return process.compiles.get(news.key.id) if process is not None and news.key is not None else None


def process_of(run: Run, news: News) -> Process | None:
    """The process that a piece of news is about."""
    return next((process for process in run.models[news.log].processes if process.key == news.process), None)


def _of_log(run: Run, news: News) -> Told:
    name = fmt.file_name(run.models[news.log].log.path)
    if news.what is What.PROCESS:
        return Told(f"{news.text}: {name}")
    if news.what is What.MOVED:
        return Told(f"the log is called {fmt.file_name(news.text)} now")
    return Told(news.text if news.what in (What.EPOCH, What.FAILURE) else f"{name}: {news.text}")


def _of_compile(compile_: Compile, news: News) -> Told:
    found = Told(news.text, status=news.status)
    if news.what is What.BEGUN:
        return _begun(compile_, found)
    if news.what is What.BREAK and news.record is not None:
        return _break(parsed_break(compile_, reader_of(compile_).payload(news.record, LIMIT)))
    if news.what is What.RESTART:
        said = from_restart(news.text).headline
        broke = _breaks_by_restart(compile_)
        return Told(f"graph break: {said}", what=What.BREAK) if broke else Told(f"the analysis began again: {said}")
    if news.what is What.RECOMPILE:
        return _recompile(compile_)
    if news.what is What.ERROR:
        return _error(compile_, news)
    if news.what is What.EAGER:
        return _eager(compile_, news)
    if news.what is What.LIMIT:
        return replace(found, text=_limit(compile_))
    if news.what is What.BACKWARD:
        return _backward(compile_, news)
    return _ended(compile_, news) if news.what is What.ENDED else found


def _begun(compile_: Compile, found: Told) -> Told:
    started = compile_.started
    file = compile_.process.string(started.filename) if started is not None else None
    if started is None or file is None or file.startswith("‹") or is_entry(file):
        return found
    return replace(found, file=file, line=started.line)


def _ended(compile_: Compile, news: News) -> Told:
    status = news.status
    if status is None:
        broke = bool(compile_.facts.restarts) and _breaks_by_restart(compile_)
        status = status_of(replace(without_backward(compile_.facts), breaks=int(broke)))
    text = _after(news.text, news.seconds, "  ")
    if status is Status.EMPTY:
        text += ", no operations were captured"
    elif news.cached == "hit":
        text += ", from the cache"
    return Told(text, status=status)


def _breaks_by_restart(compile_: Compile) -> bool:
    """Whether its torch writes graph breaks as restarts only."""
    span = kind_of("artifact", BREAK).span
    return version_by_metrics(compile_, reader_of(compile_)).has(span) is False


def _break(found: GraphBreak) -> Told:
    said = f"graph break: {found.headline}"
    if found.skips_frame:
        said += "; all of the function runs in eager mode"
    elif found.stops:
        said += "; what follows in the function runs in eager mode"
    lead = found.lead
    return Told(said, lead.file, lead.line) if lead is not None else Told(said)


def _recompile(compile_: Compile) -> Told:
    found = explained_of(compile_, own_guards=False)
    shown, _ = differing(found)
    if not shown:
        return Told("recompile: torch wrote no reason")
    reason = shown[0]
    own = next(iter(reason.stack), None) if reason.whose else None
    place = (own.file, own.line) if own is not None else (reason.file, reason.line)
    said, kind = said_of(reason, found).replace("  ", ": ", 1), "" if reason.cause == causes.OTHER else f"{reason.cause}, "
    return Told(f"recompile: {kind}{said}", *place)


def _failure(compile_: Compile, backward: bool) -> Failure | None:
    return next((failure for failure in known_failures(compile_) if failure.backward is backward), None)


def _error(compile_: Compile, news: News) -> Told:
    backward = any(metrics.record == news.record and not metrics.ends_compile for metrics in compile_.metrics)
    what = _after("backward failed" if backward else "failed", news.seconds, " after ")
    failure = _failure(compile_, backward)
    if failure is None or (compile_.facts.interrupted and not backward):
        return Told(news.text, status=news.status)
    return Told(f"{what}: {_said(failure)}", failure.file, failure.line, news.status)


def _eager(compile_: Compile, news: News) -> Told:
    what = f"{_after('given up', news.seconds, ' after ')}, it runs in eager mode"
    failure = _failure(compile_, False)
    if failure is not None:
        return Told(f"{what}: {_said(failure)}", failure.file, failure.line, news.status)
    breaks = known_breaks(compile_) if compile_.facts.eager is Eager.SKIPPED else ()
    if not breaks:
        return Told(what, status=news.status)
    lead = breaks[-1].lead
    file, line = (lead.file, lead.line) if lead is not None else (None, None)
    return Told(f"{what}: {breaks[-1].headline}", file, line, news.status)


def _limit(compile_: Compile) -> str:
    limit = limit_stated(compile_)
    said = f"recompile limit{f' ({limit})' if limit is not None else ''} reached"
    if compile_.facts.eager is Eager.LIMIT:
        return f"{said}: calls that fit no compile of it run in eager mode"
    return f"{said}: an error for calls that fit no compile of it"


def _backward(compile_: Compile, news: News) -> Told:
    if news.status is not None or news.record is None:
        return Told(_after(news.text, news.seconds, "  "), status=news.status)
    raised = last_raised(read_traceback(reader_of(compile_).text(news.record, LIMIT)))
    return Told(f"{news.text}: {raised.type}: {raised.message}" if raised is not None else news.text)


def _said(failure: Failure) -> str:
    """`TypeError: its first line`; of a graph break the reason in a line. Of a backend that raised the line behind is told, too."""
    first, _, rest = failure.reason.partition("\n")
    if first.endswith(" raised:"):
        first = f"{first} {rest.lstrip().partition(chr(10))[0]}".rstrip()
    if "Explanation:" in failure.reason:
        first = from_restart(failure.reason).headline
    return f"{failure.type}: {first}" if first else failure.type


def _after(what: str, seconds: float | None, between: str) -> str:
    return what if seconds is None else f"{what}{between}{fmt.seconds(seconds)}"
