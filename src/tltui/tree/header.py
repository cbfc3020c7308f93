"""The line above the panes (input, outcome and progress), and the trail to a page in the title of its pane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tltui.documents.format import clip, clip_middle, plural, seconds, size_of
from tltui.documents.scope import part_title, place_of, rank_count
from tltui.model.artifacts import Artifact
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.questions.overview.graphs_made import ranks_without_graph
from tltui.text import tokens
from tltui.text.document import Builder, Piece, TextDocument, piece_text
from tltui.text.formatting import cells as cell_len
from tltui.text.formatting import script_for
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.tree.outline import marks

QUIET = 60.0
"""Seconds without a record after which a log is quiet."""
SILENT = (300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 4 * 3600.0, 8 * 3600.0, 24 * 3600.0)
"""Seconds without a record at which the displayed duration changes: few steps, so that the line changes seldom."""
SEPARATOR = " · "
PHASES = " ▸ "
"""Separator between a phase and its nested phase."""
SPENT = 1
TITLE = 40
TITLE_SHORT = 16
MANUAL = ("guide", "glossary")
"""Pages that are not about the run."""


@frozen
class Silent:
    """Running ranks that have been inside a phase without a record for long."""

    ranks: str
    """`rank 3`, `ranks 0-6,8`; '' for a run with one rank."""
    seconds: float
    """One of `SILENT`."""
    inside: str
    """Their open phases: `inductor_compile ▸ fx_codegen_and_compile`."""


@frozen
class Live:
    """The state of following the logs."""

    follows: bool = False
    grown: bool = False
    """Whether the logs have unread bytes and are not followed."""
    quiet: bool = False
    """Whether there has been no record for `QUIET`."""
    silent: Silent | None = None
    was_live: bool = False
    """Whether the run went on after it was opened, so that its end is news."""
    remark: str = ""
    """A further fact about the job, such as how its process ended."""


def trail(run: Run, ref: str, title: str) -> tuple[str, ...]:
    """Return the run, the part of it that a page is about, and the page: `demo`, `[0:4/8]`, `inductor_output_code`.

    The title alone for the page of the run, and for an address that is not one of the run.
    """
    try:
        parsed = parse_ref(ref)
        node = run.resolve(place_of(parsed)) if parsed.view or parsed.artifact else None
    except BadAddress:
        return (title,)
    if not str(parsed) or parsed.view in MANUAL or title in ("", run.title):
        return (title,)
    page, part = title, "" if isinstance(node, Artifact) else part_title(node)
    if part and title.endswith(of_part := f" of {part}"):
        page = title.removesuffix(of_part)
    elif part and title.startswith(f"{part} "):
        page = title.removeprefix(part).lstrip(SEPARATOR)
    else:
        part = ""
    return tuple(filter(None, (clip_middle(run.title, TITLE_SHORT), part, page)))


def reading_document(run: Run) -> TextDocument:
    """Return the page that a pane shows while the logs are read."""
    builder = Builder("@reading", "")
    doing = "searching for logs in" if run.is_sought else "reading"
    size = f", {size_of(run.size)}" if run.models else ""
    builder.add((f"{doing} {clip_middle(run.title, TITLE)}{size} …", tokens.DIM))
    return builder.document()


def silence(quiet: float) -> float:
    """Return the largest of `SILENT` that has passed; 0 for none."""
    return max((step for step in SILENT if step <= quiet), default=0.0)


def state(run: Run, live: Live, follow_key: str = "F") -> Piece | None:
    """Return whether the run goes on, in a few words; None if unknown. The text changes with a record or with `live`."""
    clock = run.clock[5:13]
    if not run.models:
        return ("waiting for the first record", tokens.RUNNING) if run.is_awaited else None
    if run.finished:
        return (f"ended{clock and f' · last record {clock}'}", tokens.DIM) if live.was_live else None
    if live.grown:
        return (f"has new records · {follow_key} to follow", tokens.WARN)
    if live.silent is not None:
        return (_silence_text(live.silent), tokens.WARN)
    since = f"quiet since {clock}" if clock else "quiet"
    if not live.follows:
        return (f"{since if live.quiet else 'may grow'} · {follow_key} to follow", tokens.DIM)
    if live.quiet:
        return (since, tokens.DIM)
    return (f"live{clock and f' · last record {clock}'}", tokens.OK)


def _abbreviate(live: Live, room: int) -> Live:
    """Abbreviate the open phases to fit `room`: first and innermost, or the innermost alone, which is the most specific."""
    if live.silent is None:
        return live
    names = live.silent.inside.split(PHASES)
    trails = [live.silent.inside, *([PHASES.join((names[0], "…", names[-1]))] if len(names) > 2 else []), names[-1]]
    spent = cell_len(_silence_text(replace(live.silent, inside="")))
    inside = next((trail for trail in trails if spent + cell_len(trail) <= room), names[-1])
    return replace(live, silent=replace(live.silent, inside=inside))


def _silence_text(silent: Silent) -> str:
    who = f"{silent.ranks}: " if silent.ranks else ""
    return f"{who}no record for {_duration_text(silent.seconds)}, inside {silent.inside}"


def _duration_text(value: float) -> str:
    return f"{value / 3600:.0f} h" if value >= 3600 else f"{value / 60:.0f} min"


def header(
    run: Run, version: str, live: Live, width: int, ascii_only: bool, follow_key: str = "F"
) -> tuple[list[Piece], list[Piece]]:
    """Return the left and right part of the line; the least important pieces are dropped first where it is too narrow."""
    pieces = _left_pieces(run, version, ascii_only)
    right = _right_pieces(run, state(run, _abbreviate(live, width * 2 // 3), follow_key), live)
    if _width(pieces) + _width([item for item in right if item[0] != SPENT], len(SEPARATOR)) + 2 > width:
        pieces = _left_pieces(run, version, ascii_only, words=False)
    while _width(pieces) + _width(right, len(SEPARATOR)) + 2 > width:
        both = [item for item in (*pieces, *right) if item[0]]
        if not both:
            pieces = []
            break
        least = min(both, key=lambda item: item[0])
        pieces = [item for item in pieces if item is not least]
        right = [item for item in right if item is not least]
        if least[0] == TITLE:
            pieces.insert(0, (0, (f" {clip_middle(_run_title(run, ascii_only), TITLE_SHORT)}", tokens.TITLE)))
    pieces_right = [piece for _, piece in right]
    separated: list[Piece] = [each for piece in pieces_right for each in ((SEPARATOR, tokens.DIM), piece)][1:]
    return [piece for _, piece in pieces], [*separated, " "] if separated else []


Ranked = tuple[int, Piece]
"""A priority (the smallest is dropped first; 0: never) and a piece."""


def _run_title(run: Run, ascii_only: bool) -> str:
    """Return the title as it is drawn: as ASCII some characters take several cells."""
    return script_for(ascii_only=True).drawn(sanitize(run.title)) if ascii_only else run.title


def _left_pieces(run: Run, version: str, ascii_only: bool, words: bool = True) -> list[Ranked]:
    tally = run.tally
    pieces: list[Ranked] = [(TITLE, (f" {clip_middle(_run_title(run, ascii_only), TITLE)}", tokens.TITLE))]
    if version:
        pieces.append((2, (f"  torch {clip(version, 24)}", tokens.DIM)))
    numbered = rank_count(run)  # what has no rank is no rank more
    if numbered > 1:
        pieces.append((4, f"  {plural(numbered, 'rank')}"))
    if run.models:
        pieces.append((50, f"  {plural(tally.compiles, 'compile')}"))
    for place, (count, mark, word, style) in enumerate(marks(tally, ascii_only)):
        pieces.append((30 - place, (f"  {mark} {count:,} {word}" if words else f" {mark}{count:,}", style)))
    if ranks_without_graph(run):
        pieces.append((10, ("  no graph", tokens.ERROR)))
    if run.damaged:
        pieces.append((9, (f"  {run.damaged} damaged", tokens.WARN)))
    if run.lost:
        pieces.append((61, (f"  {plural(len(run.lost), 'log')} changed, ctrl+r", tokens.WARN)))
    if run.unreadable:
        pieces.append((60, (f"  {plural(len(run.unreadable), 'log')} unreadable, ctrl+r", tokens.WARN)))
    if skipped := len(run.discovered.skipped) + len(run.failures):
        pieces.append((8, (f"  {skipped} not opened", tokens.WARN)))
    return pieces


def _right_pieces(run: Run, state_piece: Piece | None, live: Live) -> list[Ranked]:
    search = run.discovered.search
    if search is not None and not search.is_over:
        doing = "searching for the newest run" if search.discovery.latest else "searching for logs"
        return [(0, (f"{doing}: {search.count:,} found", tokens.DIM))]
    if run.models and not run.is_read and not live.was_live:
        return [(0, (f"reading {100 * run.scanned // run.size}% of {size_of(run.size)}", tokens.DIM))]
    right: list[Ranked] = []
    if run.tally.compile_s > 0:
        right.append((SPENT, (f"{seconds(run.tally.compile_s)} compiling", tokens.DIM)))
    if live.remark:
        right.append((70, (live.remark, tokens.STRONG)))
    if state_piece is not None:
        right.append((0, state_piece))
    return right


def _width(pieces: Sequence[Ranked], gap: int = 0) -> int:
    """Return the cells of pieces with gaps between them."""
    cells = [cell_len(piece_text(piece)) for _, piece in pieces]
    return sum(cells) + gap * max(len(cells) - 1, 0)
