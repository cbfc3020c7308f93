"""Sections about the position of a job: open phases, and one line for the first page."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.model.ref import Ranks, is_several, ranges, shortened, with_noun
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.hang.open_phases import AGAIN, BACKWARD_OF, CAPTURE, INTERRUPTED, OUTSIDE, RUNTIME, Inside, trail
from tltui.questions.hang.where import COMPILER_COLLECTIVE, EMPTY, GUARD_COLLECTIVE, INSIDE, Group, Where, where
from tltui.questions.job_failures.failure_sections import capital
from tltui.questions.job_failures.job_failures import outputs_of
from tltui.questions.problems.reason_sections import PHASE_STYLES
from tltui.questions.timing.timing_events import group_of
from tltui.sources.local_processes import compilers_of
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize
from tltui.trace.files import FileBytes

GROUPS_SHOWN = 4
FEW = 2
"""Groups of which all is told."""
LIST_WIDTH = 40
"""Characters of a list of ranks."""


def answer(places: Where) -> str:
    """Return the answer in a sentence."""
    inside = [group for group in places.groups if group.state == INSIDE]
    idle = [group for group in places.groups if group.state != INSIDE]
    if not places.groups:
        return "No process has written a record yet." if places.goes_on else "No trace records."
    if any(group.waits_for_ranks for group in places.groups):
        return sentences(waited_for(places))
    if not inside:
        return sentences(_idle(idle, places))
    text = position_words(inside[0], places)
    text += others_inside(inside, places)
    if idle:
        text += f"; {_idle(idle, places)}"
    return sentences(text)


def sentences(text: str) -> str:
    """Return clauses as sentences: each clause of `text` ends with a semicolon."""
    return " ".join(f"{capital(clause)}." for clause in text.split("; "))


def subject(group: Group, places: Where) -> str:
    """`rank 7`, `all 8 ranks`, `process 2`; `the process` where there is one."""
    word = ("rank" if places.has_ranks else "process") if group.count == 1 else "ranks" if places.has_ranks else "processes"
    if not group.ranks:
        return "the process"
    if group.count == places.ranks > 1:
        return f"both {word}" if group.count == 2 else f"all {fmt.count(group.count)} {word}"
    if len(str(group.ranks)) > LIST_WIDTH:  # the JSON has all
        return f"{fmt.count(group.count)} {word} ({short(group.ranks)})"
    return f"{word} {group.ranks}"


def short(ranks: Ranks | str) -> str:
    """Write ranks, of many ranges the first ones."""
    return shortened(str(ranks), LIST_WIDTH)


def compile_label(group: Group) -> str:
    """`block2 [2/0]`, `block2 [2/0], [1/0] on rank 3`."""
    return f"{_function(group)} {compile_ids(group)}".strip()


def _function(group: Group | Inside) -> str:
    if group.function:
        return fmt.clip_middle(sanitize(group.function), 60)
    return "a function that the log does not name"


def compile_ids(group: Group) -> str:
    """Return the ids of a compile: `[1/0], [2/0] on rank 2`."""
    return ", ".join(f"{one.id} on {with_noun(short(one.ranks))}" if n else one.id for n, one in enumerate(group.ids))


def doing(group: Group | Inside, ids: str) -> str:
    """Describe the open work: `block2 [2/0]`, `the backward of f [0/0]`."""
    if group.activity == AGAIN:
        return f"another compile with the id {ids}, of a function that the log does not name"
    if group.activity == CAPTURE:
        return f"compiled autograd's capture of a backward pass, {ids}"
    if group.activity == OUTSIDE:
        return "work without a compile id"
    label = f"{_function(group)} {ids}"
    if group.activity == BACKWARD_OF:
        return f"the backward of {label}"
    return f"the compiled code of {label}" if group.activity == RUNTIME else label


def since_when(group: Group) -> str:
    """`since 19:41:03`, `since 19:41:03 to 19:41:05`; '' where that is not known."""
    if group.since_at_us is None or group.last_since_at_us is None:
        return ""
    first, last = fmt.when(group.since_at_us), fmt.when(group.last_since_at_us)
    if fmt.when(group.last_record_at_us).startswith(first[:10]):  # the date is shown only of another day
        first, last = fmt.clock(group.since_at_us), fmt.clock(group.last_since_at_us)
    return f"since {first}" if first == last else f"since {first} to {last}"


def position_words(group: Group, places: Where) -> str:
    """`rank 7 is in block2 [2/0]: inductor_compile ▸ fx_codegen_and_compile since 19:41:03`"""
    many = group.count > 1
    stopped = group.activity == INTERRUPTED
    is_ = ("were" if many else "was") if group.has_ended or stopped else "are" if many else "is"
    text = f"{subject(group, places)} {is_} in {doing(group, compile_ids(group))}"
    if stopped:
        text = f"when interrupted, {text}"
    elif group.has_ended:
        text = f"at the end of {'their logs' if many else 'its log'}, {text}"
    return f"{text}: {sanitize(trail(group.phase_path))} {since_when(group)}".rstrip() if group.phase_path else text


COLLECTIVES = {
    COMPILER_COLLECTIVE: "in the compiler's own collective (compiler_collective)",
    GUARD_COLLECTIVE: "in the collective that compares guards (guard_collective)",
}
"""Collectives in which ranks wait for others, in words."""


def waited_for(places: Where) -> str:
    """Name the ranks that are not in a collective of the compiler first, then those that wait for them there."""
    absent = [group for group in places.groups if not group.waits_for_ranks]
    first, *others = [group for group in places.groups if group.waits_for_ranks]
    compile_ = "" if first.activity == OUTSIDE else doing(first, compile_ids(first))
    missed = "" if first.finished_ranks else compile_  # a rank that finished this compile was there
    culprits = [_absent(group, missed, places) for group in absent[:FEW]]
    if rest := absent[FEW:]:
        culprits.append(f"{_ranks_are(rest, places)} elsewhere")
    are = "waited" if first.has_ended else "wait" if first.count > 1 else "waits"
    them = "it" if sum(group.count for group in absent) == 1 else "them"
    place = "there, " if missed and len(absent) == 1 and absent[0].state not in (INSIDE, EMPTY) else ""
    inside = f" of {compile_}" if compile_ and not place else ""
    text = f"{'; '.join(culprits)}; {subject(first, places)} {are} for {them} {place}{COLLECTIVES[first.collective]}{inside}"
    return text + (f"; {_ranks_are(others, places)} also in a collective of the compiler" if others else "")


def _absent(group: Group, compile_: str, places: Where) -> str:
    """`rank 1 has not reached expert [0/1] yet (not compiling since 14:25:02, after expert [0/0])`"""
    if group.state == INSIDE:
        return position_words(group, places)
    if group.state == EMPTY or not compile_:
        return _idle_words(group, places)
    had = "had" if group.has_ended else "have" if group.count > 1 else "has"
    yet = "" if group.has_ended else " yet"
    since = f"not compiling since {fmt.clock(group.last_record_at_us)}, after {compile_label(group)}"
    return f"{subject(group, places)} {had} not reached {compile_}{yet} ({since})"


def others_inside(inside: Sequence[Group], places: Where) -> str:
    """Describe the other ranks with open phases."""
    first, others = inside[0], inside[1:]
    if not others:
        return ""
    same = [group for group in others if _work(group) == _work(first)]
    if len(others) == 1 and others[0] not in same:
        return f"; {position_words(others[0], places)}"
    text = f"; {_ranks_are(same, places)} also in it, in other phases or logs" if same else ""
    rest = [group for group in others if group not in same]
    return text + (f"; {_ranks_are(rest, places)} in other compiles" if rest else "")


def _work(group: Group) -> tuple[object, ...]:
    return group.function, group.file, group.line, group.compile_number, group.activity


def _ranks_are(groups: Sequence[Group], places: Where) -> str:
    """`3 more ranks are`, of ended logs `3 more ranks were`"""
    count, over = sum(group.count for group in groups), all(group.has_ended for group in groups)
    return f"{_ranks(count, places)} {('were' if over else 'are') if count > 1 else 'was' if over else 'is'}"


def _ranks(count: int, places: Where) -> str:
    return fmt.plural(count, "more rank") if places.has_ranks else fmt.plural(count, "more process", "more processes")


def _idle(idle: Sequence[Group], places: Where) -> str:
    """Describe the ranks with nothing open: `ranks 0–6 have started no other compile since block1 [1/0] so far`."""
    if len(idle) == 1:
        return _idle_words(idle[0], places)
    if len(idle) == 2:
        return "; ".join(_idle_words(group, places) for group in idle)
    count, over = sum(group.count for group in idle), all(group.has_ended for group in idle)
    first = idle[0]
    who = fmt.plural(count, "rank") if places.has_ranks else fmt.plural(count, "process", "processes")
    text = f"{who} were not compiling at the end of their logs" if over else f"{who} are not compiling so far"
    behind = "after " + compile_label(first) if first.state != EMPTY else "before any compile"
    return f"{text}: {subject(first, places)} {behind}, the others after later compiles"


def _idle_words(group: Group, places: Where) -> str:
    many = group.count > 1
    who = subject(group, places)
    if not group.ranks:
        after = f"; its last compile was {compile_label(group)}" if group.state != EMPTY else ": no compile has begun"
        is_ = "was" if group.has_ended else "is"
        return f"the process {is_} not compiling {'at the end of its log' if group.has_ended else 'so far'}{after}"
    if group.state == EMPTY:
        return f"{who} began no compile" if group.has_ended else f"{who} {'have' if many else 'has'} not started a compile yet"
    if not group.has_ended:
        return f"{who} {'have' if many else 'has'} started no other compile since {compile_label(group)} so far"
    last = f"{'their' if many else 'its'} last compile was {compile_label(group)}"
    if group.count == places.ranks > 1:
        word = "rank" if places.has_ranks else "process"
        nobody = f"neither {word}" if group.count == 2 else f"none of the {who.partition(' ')[2]}"
        return f"{nobody} was compiling at the end of its log; {last}"
    return f"{who} {'were' if many else 'was'} not compiling at the end of {'their logs' if many else 'its log'}; {last}"


def add_group(page: Page, group: Group, places: Where, is_detailed: bool) -> None:
    """Add a group of ranks; `is_detailed`: with its open phases and the ranks that passed it."""
    open_now = group.state == INSIDE and group.activity != INTERRUPTED
    mark = page.status(Status.UNFINISHED if group.has_ended else Status.RUNNING) if open_now else ("·", tokens.DIM)
    alone = open_now and not group.ranks
    who = ("unfinished" if group.has_ended else "running") if alone else subject(group, places)
    pieces: list[Piece] = [mark, " ", (who, tokens.STRONG), "  "]
    if group.state == EMPTY:
        pieces.append("no compile" if group.has_ended else "no compile yet")
    elif group.state == INSIDE:
        pieces += [(doing(group, compile_ids(group)), tokens.LINK, group.ref)]
    else:
        pieces.append("not compiling, after " if group.has_ended else "so far no other compile since ")
        pieces.append((f"{_function(group)} {compile_ids(group)}", tokens.LINK, group.ref))
    if group.file is not None:
        pieces += ["  ", page.place(group.file, group.line)]
    if group.compile_number > 1:
        pieces.append((f"  compile number {group.compile_number}", tokens.DIM))
    if group.is_behind:
        pieces.append((f"  behind: {fmt.plural(group.finished_compiles, 'compile')} finished", tokens.WARN))
    page.row(pieces, "")
    if places.ranks == 1:
        _phases(page, group)
    _written(page, group, places.ranks > 1, is_detailed)
    if is_detailed:
        stack = " ▸ ".join(sanitize(phase.name) for phase in group.phases)
        if places.ranks > 1 and stack != sanitize(trail(group.phase_path)):
            page.say(stack, "    ", tokens.DIM)
        _others(page, group)


def _phases(page: Page, group: Group) -> None:
    """Add the nested open phases of a process, each with its time."""
    if group.state == INSIDE and not group.phases:
        yet = "" if group.has_ended else " yet"
        page.say(f"Its log has no timing events{yet}, so its progress is unknown.", "    ", tokens.DIM)
    for depth, phase in enumerate(group.phases):
        name = (sanitize(phase.name), PHASE_STYLES[group_of(phase.name)])
        page.add("    ", (fmt.clock(phase.since_at_us), tokens.DIM), "  " * (depth + 1), name)


def _written(page: Page, group: Group, with_phases: bool, is_detailed: bool) -> None:
    """Add the most specific phases, their begin, and the last record."""
    words: list[Piece] = []
    if with_phases and group.phase_path:
        words.append((f"{sanitize(trail(group.phase_path))} {since_when(group)}".rstrip(), tokens.WARN))
    if group.last_record_at_us is not None:
        words.append((f"last record {fmt.clock(group.last_record_at_us)}", tokens.DIM))
    if group.graph:
        words.append(to_page("last graph", group.graph))
    elif group.artifact and is_detailed:
        until = "" if group.has_ended else " so far"
        words.append((f"last artifact{until}: {fmt.clip_middle(sanitize(group.artifact), 40)}", tokens.DIM))
    if words:
        page.joined(words, "    ")


def _others(page: Page, group: Group) -> None:
    """Add the ranks that these wait for, and those with nothing open that finished or never began the open compile."""
    if group.waits_for_ranks:
        verb = "waited" if group.has_ended else "waits" if group.count == 1 else "wait"
        page.say(
            f"{'It' if group.count == 1 else 'They'} {verb} for {with_noun(short(group.waits_for_ranks))}.", "    ", tokens.DIM
        )
    if group.finished_ranks:
        page.say(f"{these(short(group.finished_ranks))} finished it.", "    ", tokens.DIM)
    if group.not_begun_ranks:
        text = (
            "had not begun it"
            if group.has_ended
            else "have not begun it"
            if is_several(group.not_begun_ranks)
            else "has not begun it"
        )
        page.say(page.so_far(f"{these(short(group.not_begun_ranks))} {text}."), "    ", tokens.DIM)


def these(ranks: str) -> str:
    """`Rank 1`, `Ranks 0, 2`"""
    return with_noun(ranks).capitalize()


def add_rest(page: Page, groups: Sequence[Group], places: Where) -> None:
    """Add a line for the groups for which there is no room."""
    if not groups:
        return
    count = sum(group.count for group in groups)
    text = f"and {_ranks(count, places)} at {fmt.plural(len(groups), 'other place')}"
    if places.has_ranks:
        text += f": tltui where {page.options.path} --rank N shows one rank"
    page.say(text, "", tokens.DIM)


MOST = 256
"""Processes of a run whose first page asks where it is: of more that takes seconds."""
COMPILING = {"compile_file": "compiling C++ for", "async_compile.wait": "waiting for kernels to compile for"}
"""Phases in which other processes do the work, in words."""


def now(places: Where) -> str:
    """Describe the open work of a live job in a line; '' where nothing is open.

    `rank 1 is compiling C++ for forward [4/0] since 13:55:26; ranks 0, 2 have finished it`
    """
    if any(group.waits_for_ranks for group in places.groups):
        return waited_for(places)
    inside = [group for group in places.groups if group.state == INSIDE and not group.has_ended and group.activity != INTERRUPTED]
    if not inside:
        return ""
    first = inside[0]
    text = f"{_activity(first, places)}{others_inside(inside, places)}"
    if first.finished_ranks:
        text += f"; {with_noun(short(first.finished_ranks))} {'have' if is_several(first.finished_ranks) else 'has'} finished it"
    if first.not_begun_ranks:
        text += (
            f"; {with_noun(short(first.not_begun_ranks))} {'have' if is_several(first.not_begun_ranks) else 'has'} not begun it yet"
        )
    return text


def _activity(group: Group, places: Where) -> str:
    """`rank 1 is compiling C++ for forward [4/0] since 13:55:26`"""
    names = [phase.name for phase in group.phases[-1:]]
    names += [one.open.phases[-1].name for one in places.other_threads if one.rank == group.first_rank and one.open.phases]
    activity = next((COMPILING[name] for name in COMPILING if name in names), "")
    if not activity or names[0] not in COMPILING:
        return position_words(group, places)
    is_ = "is" if group.count == 1 else "are"
    return f"{subject(group, places)} {is_} {activity} {doing(group, compile_ids(group))} {since_when(group)}".rstrip()


def open_now(run: Run) -> str:
    """Describe the open work of a live job and the compilers that it runs; '' for none, or for too many processes to read."""
    if sum(1 for _ in run.processes()) > MOST:
        return ""
    places = where(run)
    text = now(places)
    compilers = _compilers_now(run, places.groups[0]) if text else ()
    more = f" and {len(compilers) - 1} more" if len(compilers) > 1 else ""
    return f"{text} ({compilers[0]}{more})" if compilers else text


def dumps_sentence(run: Run) -> str:
    """Return a sentence about dumps of the flight recorder, which the first page does not read; '' where there are none."""
    ranks = ranges(dump.rank for dump in run.discovered.dumps)
    question = "collectives in which ranks wait, and ranks that have not entered them"
    return f"torch's flight recorder left dumps of {with_noun(short(ranks))}: {question}" if ranks else ""


def place_at_end(run: Run) -> Where | None:
    """Find where the ranks of an ended job were; None for a job of one process, or where too many would have to be read."""
    return where(run) if 1 < sum(1 for _ in run.processes()) <= MOST else None


def is_cause_unknown(run: Run, places: Where | None) -> bool:
    """Return whether several ranks of an ended job were in compiles, and neither output nor waits show which failed first."""
    if places is None or places.goes_on or outputs_of(run) or any(group.waits_for_ranks for group in places.groups):
        return False
    return sum(group.count for group in places.groups if group.state == INSIDE and group.activity != INTERRUPTED) > 1


def open_at_end(places: Where | None) -> tuple[str, str]:
    """Return the address of the compile that ranks of an ended job were in, and a sentence; both '' where nothing was open."""
    inside = [group for group in places.groups if group.state == INSIDE] if places is not None and places.ranks > 1 else []
    return (inside[0].ref, answer(places)) if inside and places is not None else ("", "")


def _compilers_now(run: Run, group: Group) -> tuple[str, ...]:
    """Return the commands of the compilers that a group's first process runs now, if it runs on this machine."""
    models = (model for model in run.models if any(process.pid == group.pid for process in model.processes))
    for source in (model.log.source for model in models):
        identity = source.identity if isinstance(source, FileBytes) else None
        if identity is not None and (commands := compilers_of(group.pid, identity)):
            return commands
    return ()
