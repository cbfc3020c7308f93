"""Use of CUDA graphs by compile: skipped with reason and place, recorded, or recorded again for other sizes.

Sources: `cudagraph_skip_reason` and `runtime_cudagraphify_time_us` of the metrics, timing events `CUDAGraphNode.record` (torch 2.8
and later), and messages in TORCH_LOGS text or a job's output.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tltui.model.node_answers import parsed, part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, number_in, records_of
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.questions.job_failures.job_failures import OutputWarning, output_warnings
from tltui.questions.job_failures.printed_warnings import CUDAGRAPHS_SKIPPED
from tltui.questions.stacks.tracebacks import StackFrame, display_name, nearest, traceback_frames
from tltui.questions.timing.timing_events import events_of
from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern

NAME = "cudagraphs"
"""The artifact of a message in text."""
SKIPPED, SIZES, RECORDED, RECORDED_AGAIN = "skipped", "sizes", "recorded", "recorded_again"
USED, MIXED = "used", "used_in_part"
_RECORD_EVENT = "CUDAGraphNode.record"
_PREFIX = lazy_pattern(r"^\[(?P<id>[^\]\s]{1,20})\] ")
_SKIPPED = lazy_pattern(r"(?is)^(?:skipping|disabling) cudagraphs? (?P<backward>for backward )?due to (?P<reason>.*)")
_INSTANCES = lazy_pattern(r"\((\d{1,9}) instances?\)")
_SIZES = lazy_pattern(r"We have observed (\d{1,9}) distinct sizes")
_KEY = lazy_pattern(r"^[Rr]ecording cudagraph tree for (?:symint key (?P<key>.{1,200})|graph without symints)$")
_AGAIN = lazy_pattern(r"^Re-recording function=.*?, reason=(?P<reason>.*)", re.DOTALL)
_CUTS = (". Found from", ". input stack trace:", " input stack trace:")


@frozen
class CudagraphMessage:
    """One message about CUDA graphs."""

    kind: str
    """`skipped`, `sizes` (many sizes were recorded), `recorded`, `recorded_again`."""
    reason: str
    """Torch's reason without the stack; '' for none."""
    is_backward: bool = False
    """Whether torch names the backward."""
    instances: int | None = None
    """Number of places that torch counts; it shows one of them."""
    stack: tuple[StackFrame, ...] = ()
    """Your code, outermost first."""
    size_count: int | None = None
    """The number of distinct input sizes that were recorded."""
    key: str = ""
    """The sizes that were recorded."""
    compile_id: str = ""
    """The compile id in the message."""

    @property
    def place(self) -> StackFrame | None:
        """The line of the program."""
        return nearest(self.stack)


@frozen
class CudagraphUse:
    """The CUDA graphs of one compile."""

    ref: str
    function: str | None
    rank: int | None
    use: str
    """`used`, `skipped`, `recorded_again` (for other sizes or addresses), `used_in_part` (recorded, and skipped at least once)."""
    recordings: int | None
    """CUDA graphs that were recorded; None if the input does not show it."""
    sizes: tuple[str, ...]
    """The sizes of integer inputs for which graphs were recorded."""
    size_count: int | None
    """The largest number of distinct sizes that torch reported or that were recorded."""
    recording_s: float | None
    """Seconds of recording at run time."""
    messages: tuple[CudagraphMessage, ...]


@frozen
class SkipReason:
    """A reason for which CUDA graphs were skipped or recorded again, with all its compiles."""

    kind: str
    reason: str
    is_backward: bool
    instances: int | None
    stack: tuple[StackFrame, ...]
    size_count: int | None
    refs: tuple[str, ...]
    """The addresses of the compiles; of messages without a compile id that of their process."""

    @property
    def place(self) -> StackFrame | None:
        """The line of the program."""
        return nearest(self.stack)


@frozen
class CudagraphChange:
    """A compile with another use of CUDA graphs than in the baseline."""

    function: str | None
    rank: int | None
    number: int
    """Its place among the compiles of that function and rank with a record, from 1."""
    ref: str
    """Its address in the run; '' if only the baseline has it."""
    old_use: str
    """`use` in the baseline; '' without a record."""
    new_use: str
    """`use` in the run; '' without a record."""
    reasons: tuple[str, ...]
    """Reasons of torch in the run that the baseline lacks."""


@frozen
class CudagraphReport:
    """Use of CUDA graphs in a part of a run."""

    compiles: tuple[CudagraphUse, ...]
    """Compiles with a record about CUDA graphs."""
    reasons: tuple[SkipReason, ...]
    """The most frequent first."""
    without_record: int
    """Compiles without any: not recorded, or not used."""
    differences: tuple[CudagraphChange, ...] | None = None
    """Compiles with another use than in the run of `--baseline`; None without one."""
    printed: tuple[OutputWarning, ...] = ()
    """Skips that the job's output reports without a compile; empty where the page is about a part of the run."""


def printed_skips(run: Run) -> tuple[OutputWarning, ...]:
    """Return the skips of CUDA graphs that a job's output reports without a compile."""
    return tuple(warning for warning in output_warnings(run) if warning.title == CUDAGRAPHS_SKIPPED)


@parsed
def parsed_message(text: bytes) -> CudagraphMessage | None:
    """Parse a message; None for another text."""
    return parse_message(text.decode("utf-8", "replace"))


def parse_message(text: str) -> CudagraphMessage | None:
    """Parse a message; None for another text."""
    prefix = _PREFIX.match(text)
    body, number = (text[prefix.end() :], prefix["id"]) if prefix else (text, "")
    head = next((body[: at] for cut in _CUTS if (at := body.find(cut)) >= 0), body).strip()
    stack = traceback_frames(body) if head != body.strip() else ()
    instances = _INSTANCES.search(head)
    count = int(instances[1]) if instances else None
    if match := _SIZES.search(body):
        return CudagraphMessage(SIZES, "", size_count=int(match[1]), compile_id=number)
    if match := _SKIPPED.match(head):
        reason = " ".join(match["reason"].split())
        return CudagraphMessage(SKIPPED, reason, bool(match["backward"]), count, stack, compile_id=number)
    if match := _KEY.match(head):
        return CudagraphMessage(RECORDED, "", key=match["key"] or "", compile_id=number)
    if match := _AGAIN.match(head):
        return CudagraphMessage(RECORDED_AGAIN, " ".join(match["reason"].split()), False, None, stack, compile_id=number)
    return None


@part
def messages_of(compile_: Compile, reader: Reader) -> tuple[CudagraphMessage, ...]:
    """Return the messages of a compile, or of the records without a compile id."""
    texts = [metrics.cudagraph_skip_reason for metrics in compile_.metrics]
    from_metrics = [parse_message(text) or CudagraphMessage(SKIPPED, text) for text in dict.fromkeys(texts) if text]
    records = [record for record, _ in records_of(compile_, (NAME,))] if compile_.counts[NAME] else []
    from_text = [parsed_message(compile_, reader.payload(record)) for record in records]
    return (*from_metrics, *(message for message in from_text if message is not None))


def skip_messages(compile_: Compile) -> tuple[CudagraphMessage, ...]:
    """Return the messages that CUDA graphs were skipped or recorded too often, at the price of a count where there is none."""
    if not compile_.counts[NAME] and not any(metrics.cudagraph_skip_reason for metrics in compile_.metrics):
        return ()
    return tuple(message for message in messages_of(compile_) if message.kind in (SKIPPED, SIZES))


def sentence_of(message: CudagraphMessage | SkipReason) -> str:
    """Return a message in one sentence."""
    if message.kind == SIZES:
        return f"a CUDA graph was recorded for each of {message.size_count} distinct sizes"
    return f"backward: {message.reason}" if message.is_backward else message.reason


def reasons_of(compiles: Iterable[Compile]) -> tuple[SkipReason, ...]:
    """Group the reasons of compiles, the most frequent first."""
    groups: dict[tuple[str, str, bool, object], list[tuple[CudagraphMessage, Compile]]] = defaultdict(list)
    for compile_ in compiles:
        for message in skip_messages(compile_):
            place = message.place
            key = (message.kind, message.reason, message.is_backward, (place.file, place.line) if place else None)
            groups[key].append((message, _owner(compile_, message)))
    reasons = [
        SkipReason(
            members[0][0].kind, members[0][0].reason, members[0][0].is_backward, members[0][0].instances,
            members[0][0].stack, max((message.size_count or 0 for message, _ in members), default=0) or None,
            tuple(dict.fromkeys(str(owner.ref) for _, owner in members)),
        )
        for members in groups.values()
    ]  # fmt: skip
    return tuple(sorted(reasons, key=lambda reason: -len(reason.refs)))


def report_of(compiles: Sequence[Compile]) -> CudagraphReport:
    """Return the use of CUDA graphs by compiles."""
    messages: dict[int, list[CudagraphMessage]] = defaultdict(list)
    owners = {id(compile_): compile_ for compile_ in compiles}
    for compile_ in compiles:
        if compile_.counts[NAME] or compile_.metrics:
            for message in messages_of(compile_):
                messages[id(_owner(compile_, message))].append(message)
    uses = [use for key, compile_ in owners.items() if compile_.is_compile and (use := _use(compile_, messages[key])) is not None]
    count = sum(compile_.is_compile for compile_ in compiles)
    return CudagraphReport(tuple(uses), reasons_of(compiles), count - len(uses))


def compared_with(report: CudagraphReport, old: CudagraphReport) -> CudagraphReport:
    """Return a report with its differences from an older one: compiles are matched by rank, function and order."""
    before, after = (_by_function(side.compiles) for side in (old, report))
    differences = []
    for key in dict.fromkeys((*after, *before)):
        left, right = before.get(key), after.get(key)
        old_reasons, new_reasons = ([sentence_of(message) for message in use.messages] if use else [] for use in (left, right))
        reasons = tuple(dict.fromkeys(reason for reason in new_reasons if reason and reason not in old_reasons))
        uses = (left.use if left else "", right.use if right else "")
        if uses[0] != uses[1] or reasons:
            function, rank, number = key
            differences.append(CudagraphChange(function, rank, number, right.ref if right else "", *uses, reasons))
    return replace(report, differences=tuple(differences))


def _by_function(uses: Iterable[CudagraphUse]) -> dict[tuple[str | None, int | None, int], CudagraphUse]:
    counts: Counter[tuple[str | None, int | None]] = Counter()
    numbered = {}
    for use in uses:
        function = (use.function, use.rank)
        counts[function] += 1
        numbered[use.function, use.rank, counts[function]] = use
    return numbered


def _owner(compile_: Compile, message: CudagraphMessage) -> Compile:
    """Return the compile that a message names."""
    if not message.compile_id or compile_.is_compile:
        return compile_
    try:
        compile_id = parse_ref(message.compile_id).id
    except BadAddress:
        return compile_
    return compile_.process.find(compile_id) or compile_ if compile_id is not None else compile_


def _use(compile_: Compile, messages: Sequence[CudagraphMessage]) -> CudagraphUse | None:
    """Return the CUDA graphs of a compile; None without a record about them."""
    micros, recordings = _recorded(compile_)
    printed = [message for message in messages if message.kind == RECORDED]
    if not messages and not recordings and not micros:
        return None
    sizes = tuple(dict.fromkeys(message.key for message in printed if message.key))
    skipped = any(message.kind == SKIPPED for message in messages)
    is_recorded = bool(recordings or micros or printed or any(message.kind in (SIZES, RECORDED_AGAIN) for message in messages))
    counts = [message.size_count for message in messages if message.size_count is not None]
    again = len(sizes) > 1 or bool(counts) or any(message.kind == RECORDED_AGAIN for message in messages)
    use = MIXED if skipped and is_recorded else SKIPPED if skipped else RECORDED_AGAIN if again else USED
    number = recordings if recordings else len(printed) or None
    return CudagraphUse(
        str(compile_.ref), display_name(compile_.frame), compile_.process.rank,
        use, number, sizes, max([*counts, len(sizes)]) or None,
        micros / 1e6 if micros else None, tuple(messages),
    )  # fmt: skip


@part
def _recorded(compile_: Compile, reader: Reader) -> tuple[float, int]:
    """Return the microseconds of recording at run time, and the number of graphs, from runtime metrics and timing events."""
    runtime = [metrics for metrics in compile_.metrics if metrics.is_runtime]
    micros = sum(number_in(reader.event(metrics.record), "runtime_cudagraphify_time_us") or 0.0 for metrics in runtime)
    if not micros:
        return 0.0, 0
    return micros, sum(event.name == _RECORD_EVENT and event.phase == "B" for event in events_of(compile_, reader))
