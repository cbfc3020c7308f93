"""Pages that compare: two artifacts, two compiles, two ranks, two runs.

`@diff::LEFT RIGHT` is the address of a comparison within a run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial

from tltui.analyses.compare.compared import CHANGED, ONLY_LEFT, ONLY_RIGHT, OUTCOMES, SAME, CompareResult, CompareRow
from tltui.analyses.compare.own_device import owns_of
from tltui.analyses.compare.pairing import Pair, artifact_pairs, compile_pairs, digest_of, rest_pairs
from tltui.analyses.told import told_less
from tltui.documents.compare.artifacts import artifact_page, compared, diff_ref, patch_lines, row_pieces
from tltui.documents.compare.compiles import fill_compiles
from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.run import Node, Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument

NOT_ALIKE = "are not of the same kind: compare two artifacts, two compiles, two frames, two ranks or two runs"


def sides_of(ref: Ref) -> tuple[str, str]:
    """The two addresses that the address of a comparison names. Raises `BadAddress`."""
    left, space, right = (ref.artifact or "").partition(" ")
    if not space:
        raise BadAddress("a comparison needs two addresses: @diff::0/0%200/1")
    return left, right


def compare_document(run: Run, ref: Ref, options: Options) -> Document:
    """The comparison that an address names. Raises `BadAddress`, OSError."""
    left, right = sides_of(ref)
    return compare_nodes(run, left, run, right, options)


def compare_nodes(run: Run, left: str, other: Run, right: str, options: Options) -> Document:
    """Compare what two addresses of two runs (or of one) name. Raises `BadAddress`, OSError."""
    a, b = run.resolve(left), other.resolve(right)
    title = f"{left or run.title} ↔ {right or other.title}"
    ref = diff_ref(left, right)
    if isinstance(a, Artifact) and isinstance(b, Artifact):
        return artifact_page(ref, title, a, b, options)
    if isinstance(a, Compile) and isinstance(b, Compile):
        attempts = parse_ref(left).attempt, parse_ref(right).attempt
        return GrowingDocument(ref, title, options, partial(fill_compiles, a, b, attempts, run is other), Page)
    groups = _compiles(run, a), _compiles(other, b)
    if groups[0] is None or groups[1] is None:
        raise BadAddress(f"{left or 'the run'} and {right or 'the run'} {NOT_ALIKE}")
    fill = partial(_sets, groups[0], groups[1], run is other, (left or run.title, right or other.title))
    return GrowingDocument(ref, title, options, fill, Page)


def are_alike(run: Run, left: str, right: str) -> bool:
    """Whether what two addresses of a run name can be compared. Raises `BadAddress`."""
    a, b = run.resolve(left), run.resolve(right)
    for kind in (Artifact, Compile):
        if isinstance(a, kind) or isinstance(b, kind):
            return isinstance(a, kind) and isinstance(b, kind)
    return _compiles(run, a) is not None and _compiles(run, b) is not None


def patch_of(run: Run, left: str, other: Run, right: str) -> Iterator[bytes]:
    """The patch that makes one artifact of the other, in bytes. Raises `BadAddress`, OSError."""
    a, b = run.resolve(left), other.resolve(right)
    if not (isinstance(a, Artifact) and isinstance(b, Artifact)):
        raise BadAddress("a patch needs two artifacts")
    return patch_lines(a, b)


def _compiles(run: Run, node: Node | None) -> list[Compile] | None:
    """All compiles of a rank, process, frame or run; None for what has none."""
    if isinstance(node, Frame):
        return list(node.compiles)
    processes = [node] if isinstance(node, Process) else node.processes if isinstance(node, Rank) else None
    if node is None:
        processes = list(run.processes())
    if processes is None:
        return None
    return [compile_ for process in processes for frame in process.frames.values() for compile_ in frame.compiles]


def _sets(
    left: list[Compile], right: list[Compile], linked: bool, names: tuple[str, str], page: Page
) -> Generator[None, None, object]:
    """Two ranks or runs: their compiles in pairs."""
    page.add((names[0], tokens.TITLE), (" ↔ ", tokens.TITLE), (names[1], tokens.TITLE))
    page.say("Compiles are paired by function, file, line and how often that was compiled before: ids may differ.", "",
             tokens.DIM)  # fmt: skip
    if less := told_less(*([compile_.process for compile_ in side] for side in (left, right))):
        page.say(less, "", tokens.WARN)
    page.blank()
    rows: list[CompareRow] = []
    same: list[tuple[Pair[Compile], CompareRow]] = []
    for pair in compile_pairs(left, right) or rest_pairs(left, right):
        row = _compile_row(pair)
        rows.append(row)
        if row.outcome == SAME:
            same.append((pair, row))
        else:
            page.row(_compile_pieces(pair, row, linked))
        yield
    if same:
        label = f"{plural(len(same), 'pair')} the same" if len(rows) > len(same) else f"all {len(same)} are the same"
        page.open(label, folded=len(rows) > len(same))
        page.add((f"  {label}", tokens.OK))
        for pair, row in same:
            page.row(_compile_pieces(pair, row, linked))
        page.close()
    page.blank()
    counts = {outcome: sum(row.outcome == outcome for row in rows) for outcome in OUTCOMES}
    page.add(" · ".join(f"{count} {outcome}" for outcome, count in counts.items() if count) or "neither has a compile")
    return CompareResult(1, *names, tuple(rows))


def _compile_row(pair: Pair[Compile]) -> CompareRow:
    left, right = pair.left, pair.right
    shown = left or right
    assert shown is not None
    name, file, line = shown.frame.code
    place = f"  {(file or '').rpartition('/')[2]}:{line}" if file else ""
    label = f"{name or shown.label}{place}"
    if left is None or right is None:
        refs = str(left.ref) if left else None, str(right.ref) if right else None
        return CompareRow(label, *refs, ONLY_LEFT if left else ONLY_RIGHT)
    if _surely_same(left, right):
        return CompareRow(label, str(left.ref), str(right.ref), SAME)
    rows = [compared(artifacts) for artifacts in artifact_pairs(left, right)]
    changed = [row for row in rows if row.outcome != SAME]
    same = not changed and left.status is right.status
    return CompareRow(
        label, str(left.ref), str(right.ref), SAME if same else CHANGED,
        sum(row.added for row in changed), sum(row.removed for row in changed), sum(row.hidden for row in rows),
    )  # fmt: skip


def _surely_same(left: Compile, right: Compile) -> bool:
    """Whether nothing need be compared: most compiles of a run are those of the other one."""
    a, b = owns_of(left.process, right.process)
    if left.status is not right.status or a.name != b.name:
        return False
    try:
        digest = digest_of(left)
        return bool(digest) and digest == digest_of(right)
    except (OSError, ValueError, RecursionError):
        return False


def _compile_pieces(pair: Pair[Compile], row: CompareRow, linked: bool) -> list[Piece]:
    pieces = row_pieces(row, linked)
    pieces.append((f"   {row.left or '–'} ↔ {row.right or '–'}", tokens.DIM))
    if pair.left and pair.right and pair.left.status is not pair.right.status:
        pieces.append((f"   {pair.left.status or 'unknown'} → {pair.right.status or 'unknown'}", tokens.WARN))
    return pieces
