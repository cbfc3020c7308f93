"""The page `stacks`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.model.status import TABLE, Status, error_name
from tltui.questions.problems.reason_sections import ranks_text
from tltui.questions.question import Question
from tltui.questions.stacks.stack_tree import Stacks, TrieCompile, TrieNode, part_of, stacks
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import PREFIX, RESUMED, Owner

FOLD = 2
"""Frames of torch and libraries from which on a run of them is folded."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the stack trie of the scope."""

    def fill(page: Page) -> Generator[None, None, Stacks]:
        page.add((f"Stacks{scope.title}", tokens.TITLE))
        started = sum(c.started is not None and c.started.name is not None for c in scope.compiles)
        if started and scope.n is None:  # shown before any stack is read
            _begun(page, started)
            yield
        result = yield from stacks(scope.processes, scope.compiles)
        if scope.n is not None:
            result = replace(result, nodes=part_of(result.nodes, scope.n), without_compile=(), without_stack=())
        if not started or scope.n is not None or not result.nodes:
            _head(page, result, run.finished)
        yield from add_trie(page, result.nodes)
        _add_legend(page, result.nodes)
        if any(node.compiles and node.frame.name.startswith(PREFIX) for node in result.nodes):
            page.say(f"{RESUMED}.", "  ", tokens.DIM)
        _add_without(page, result.without_stack, scope.compiles)
        if result.without_compile:
            page.heading(f"Records without a compile ({fmt.count(sum(node.record_count for node in result.without_compile))})")
            text = "Torch logs a stack with each record that belongs to no compile, for example during torch.export."
            page.say(text, "  ", tokens.DIM)
            yield from add_trie(page, result.without_compile)
        return result

    ref = replace(scope.ref, view="stacks", n=scope.n)
    return GrowingDocument(str(ref), f"stacks{scope.title}", options, fill, Page)


def _head(page: Page, stacks: Stacks, finished: bool) -> None:
    if not stacks.nodes:
        why = "" if finished else " yet"
        if stacks.compiles:
            page.say(f"No stack has been logged{why} for {fmt.plural(stacks.compiles, 'compile')}.")
        elif not stacks.without_compile:
            page.say(f"No compiles and no other records with a stack{why}.")
        else:
            page.say(f"No compiles{why}.")
        return
    _begun(page, len({(c.rank, c.ref) for node in stacks.nodes for c in node.compiles}))


def _begun(page: Page, count: int) -> None:
    page.say(
        f"{fmt.plural(count, 'compile')}, outermost call first. Each compile id is to the left of its function.",
        style=tokens.DIM,
    )
    page.blank()


def _add_legend(page: Page, nodes: Sequence[TrieNode]) -> None:
    """Add the meanings of the marks before the compile ids."""
    used = {compile_.status for node in nodes for compile_ in node.compiles}
    meanings = [f"{row.glyph} {row.words}" for status, row in TABLE.items() if status in used]
    if meanings:
        page.blank()
        page.say(" · ".join(meanings), "  ", tokens.DIM)


LIMIT = "The recompile limit was reached before torch logged a stack."
REFUSED = "error_on_recompile made the recompilation an error before torch logged a stack."
NOT_RECORDED, ABSENT = "The log does not record their callers.", "The log has no dynamo_start record of these compiles."


def _why_without(compile_: Compile) -> str:
    """Return the reason why no stack was logged for a compile, as far as the log shows it."""
    facts = compile_.facts
    if facts.recompile_limit_hit:
        return LIMIT
    if error_name(facts.fail_type) == "RecompileError":
        return REFUSED
    return ABSENT if facts.has_trace else NOT_RECORDED


def _add_without(page: Page, without: Sequence[TrieCompile], compiles: Sequence[Compile]) -> None:
    if not without:
        return
    page.heading(page.title_so_far(f"Without a stack ({fmt.count(len(without))})"))
    by_ref = {} if page.untold else {str(compile_.ref): compile_ for compile_ in compiles}
    groups: dict[str, list[TrieCompile]] = {LIMIT: [], REFUSED: [], NOT_RECORDED: [], ABSENT: []}
    for item in without:
        compile_ = by_ref.get(item.ref)
        groups[NOT_RECORDED if compile_ is None else _why_without(compile_)].append(item)
    for reason, members in groups.items():
        if not members:
            continue
        if not page.goes_on or reason in (LIMIT, REFUSED):
            page.say(reason, "  ", tokens.DIM)
        _add_groups(page, _marks(page, members, apart=True), "  ", "  ")


def add_trie(page: Page, nodes: Sequence[TrieNode]) -> Generator[None, None, None]:
    """Add all frames; library and torch runs and subtrees are folded."""
    ends, roots = _ends(nodes), sum(node.parent < 0 for node in nodes)
    guides: list[tuple[int, str]] = []  # end of a frame's subtree, and its guide line
    closes: list[int] = []  # where the open sections end
    n = 0
    while n < len(nodes):
        while closes and closes[-1] <= n:
            page.close()
            closes.pop()
        while guides and guides[-1][0] <= n:
            guides.pop()
        node, above = nodes[n], "".join(guide for _, guide in guides)
        mark = ""
        if (roots if node.parent < 0 else nodes[node.parent].child_count) > 1:
            last = ends[n] == (len(nodes) if node.parent < 0 else ends[node.parent])
            mark = "└ " if last else "├ "
            guides.append((ends[n], "  " if last else "│ "))
        deeper = "".join(guide for _, guide in guides)
        end = _framework_to(nodes, n, ends[n])
        if end - n >= FOLD:
            _add_folded(page, nodes[n:end], above + mark, deeper, is_subtree=end == ends[n])
            n = end
        else:
            if node.child_count > 1:
                page.open(f"{node.frame.name} {fmt.place(node.frame.file, node.frame.line)}")
                closes.append(ends[n])
            _add_node(page, node, above + mark, deeper)
            n += 1
        if n % 100 == 0:
            yield
    for _ in closes:
        page.close()


def _ends(nodes: Sequence[TrieNode]) -> list[int]:
    """Return the end index of each node's subtree."""
    ends = [n + 1 for n in range(len(nodes))]
    for n in range(len(nodes) - 1, 0, -1):
        parent = nodes[n].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[n])
    return ends


def _framework_to(nodes: Sequence[TrieNode], start: int, end: int) -> int:
    """Return the end of the framework frames: of the subtree, or of the run up to a fork."""
    n = start
    while n < end and nodes[n].frame.is_framework and not nodes[n].compiles and nodes[n].source_ref is None:
        n += 1
    if n in (start, end):
        return n
    m = start
    while m < n and not nodes[m].record_count:
        m += 1
        if nodes[m - 1].child_count > 1:
            break
    return m


def _indent(page: Page, guides: str) -> str:
    """Return the tree guides; for very deep trees the innermost."""
    room = page.width // 3
    return "  " + (guides if len(guides) <= room else guides[len(guides) - room :])


def _add_folded(page: Page, nodes: Sequence[TrieNode], first: str, deeper: str, is_subtree: bool) -> None:
    owners = {node.frame.owner for node in nodes}
    torch = owners <= {Owner.TORCH, Owner.PYTHON}
    whose = "torch" if torch else "library" if owners == {Owner.LIBRARY} else "torch and library"
    text = fmt.plural(len(nodes), f"{whose} frame")
    records = sum(node.record_count for node in nodes)
    if is_subtree and records:
        text += f", {fmt.plural(records, 'record')}"
    page.open(text, folded=True, aside=torch and not records)
    page.add((_indent(page, first), tokens.DIM), (text, tokens.DIM))
    base = nodes[0].indent
    for node in nodes:
        guides = deeper + "  " * (1 + node.indent - base)
        _add_node(page, node, guides, guides)
    page.close()


def _add_node(page: Page, node: TrieNode, first: str, deeper: str) -> None:
    """Add `✓ [0/0] models/train.py:12 forward   source line`; many marks go to lines of their own."""
    indent = _indent(page, first)
    groups = _marks(page, node.compiles)
    pieces = [piece for group in groups for piece in (*group, "  ")]
    used = len(indent) + _length(pieces)
    if groups and used > page.width // 2 + 2:
        _add_groups(page, groups, indent, _indent(page, deeper))
        indent = _indent(page, deeper)
        pieces, used = [], len(indent)
    records = f"  {fmt.plural(node.record_count, 'record')}" if node.record_count else ""
    frame = node.frame
    room = max(min(page.width // 2, page.width - used - len(records) - 16), 10)
    place = fmt.clip_middle(sanitize(fmt.place(frame.file, frame.line)), room)
    target = _target(node)
    pieces += [(place, tokens.LINK if target and not frame.is_framework else tokens.DIM, target), " "]
    used += len(place) + 1 + len(records)
    remaining = page.width - used
    shown = next((item.qualified_name for item in node.compiles if item.qualified_name), frame.name)
    name = fmt.clip_middle(sanitize(shown), min(max(remaining - (24 if frame.code else 0), page.width // 4, 8), max(remaining, 8)))
    pieces.append((name, tokens.DIM if frame.is_framework else tokens.FUNCTION))
    used += len(name)
    if records:
        pieces.append((records, tokens.LINK, node.records[0] if node.records else ""))
    if frame.code and page.width - used >= 19:
        pieces += ["   ", (fmt.clip(sanitize(frame.code.strip()), page.width - used - 3), tokens.DIM)]
    page.add((indent, tokens.DIM), *pieces)


def _target(node: TrieNode) -> str:
    """Return the link of a frame: the user's source, or the record with an in-memory file."""
    if node.source_ref is not None:
        return at_line(node.source_ref, node.frame.line) if node.frame.line else node.source_ref
    return fmt.place_target(node.frame.file, node.frame.line)


def _length(pieces: Sequence[Piece]) -> int:
    return sum(len(piece_text(piece)) for piece in pieces)


def _add_groups(page: Page, groups: Sequence[list[Piece]], indent: str, deeper: str) -> None:
    """Add the marks of many compiles, as many per line as fit."""
    line: list[Piece] = []
    for group in groups:
        if line and len(indent) + _length(line) + 2 + _length(group) > page.width:
            page.add((indent, tokens.DIM), *line)
            line, indent = [], deeper
        line += ["  "] * bool(line) + group
    page.add((indent, tokens.DIM), *line)


def _marks(page: Page, compiles: Sequence[TrieCompile], apart: bool = False) -> list[list[Piece]]:
    """Format `✓ [0/0] ranks 0–3`: each id once, with its ranks of this status."""
    same: dict[tuple[object, ...], list[TrieCompile]] = {}
    for item in compiles:
        same.setdefault((item.ref,) if apart else (item.id, item.status), []).append(item)
    groups: list[list[Piece]] = []
    for members in same.values():
        first = members[0]
        label = f"[{first.ref}]" if len(members) == 1 else first.id
        pieces: list[Piece] = [page.status(Status(first.status) if first.status else None), " ", (label, tokens.LINK, first.ref)]
        if len(members) > 1:
            ranks = {item.rank for item in members}
            pieces.append((f" {ranks_text(ranks)}" if len(ranks) > 1 else f" {len(members)} processes", tokens.DIM))
        groups.append(pieces)
    return groups


@frozen
class StackRow:
    """One frame of the tree of stacks, in the order of the tree."""

    frame_number: int
    """Its number in the tree."""
    parent: int
    """The number of the frame that calls it; as the page numbers them."""
    depth: int
    """How deep it is, from 0."""
    function: str
    """The function."""
    file: str
    """The file."""
    line: int | None
    """The line, from 1."""
    code: str | None
    """The source line."""
    is_framework: bool
    """Whether it is torch's own, or a library's."""
    compile_count: int
    """Compiles in this frame and in the functions that it calls."""
    refs: tuple[str, ...]
    """The addresses of the compiles whose stack ends here."""


def stack_rows(data: Stacks) -> Iterator[StackRow]:
    """Yield a row per frame."""
    for node in data.nodes:
        frame = node.frame
        refs = tuple(compile_.ref for compile_ in node.compiles)
        yield StackRow(node.frame_number, node.parent, node.depth, frame.name, frame.file, frame.line, frame.code,
                       frame.is_framework, node.record_count, refs)  # fmt: skip


QUESTION = Question(
    name="stacks",
    help="where in the code compilations happen: their stacks as one tree",
    key="4",
    group="find causes",
    order=40,
    help_order=65,
    needs=Needs("", ("+dynamo",), "the call stack of a compile"),
    document=document,
    answer=Stacks,
    rows=StackRow,
    records=stack_rows,
    doc="""
    Where in the code compilations happen: their stacks as one tree, one row per frame.
    """,
)
