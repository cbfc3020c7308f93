"""The view `stacks`: where in the code the compilations take place."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from tltui.analyses.trie import Stacks, TrieCompile, TrieNode, part_of, stacks
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.problem_parts import ranks_text
from tltui.documents.scope import Scope
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

STEP = 2
"""Columns of indentation."""
FOLD = 2
"""Frames of the framework from which on a run of them is folded."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The stack trie of the scope."""

    def fill(page: Page) -> Generator[None, None, Stacks]:
        found = yield from stacks(scope.processes, scope.compiles)
        if scope.n is not None:
            found = replace(found, nodes=part_of(found.nodes, scope.n), unknown=(), without=())
        _head(page, found, run.finished)
        yield from add_trie(page, found.nodes)
        _add_without(page, found.without)
        if found.unknown:
            page.heading(f"Records without a compile ({fmt.count(sum(node.count for node in found.unknown))})")
            what = "Torch knew no compile that they belong to, as in an export, and logged the stack instead."
            page.say(what, "  ", tokens.DIM)
            yield from add_trie(page, found.unknown)
        return found

    ref = replace(scope.ref, view="stacks", n=scope.n)
    return GrowingDocument(str(ref), f"stacks{scope.title}", options, fill, Page)


def _head(page: Page, found: Stacks, finished: bool) -> None:
    if not found.nodes:
        why = "" if finished else " so far"
        if found.compiles:
            page.say(f"No stack was logged{why} for {fmt.plural(found.compiles, 'compile')}.")
        elif not found.unknown:
            page.say(f"There is no compile and no other record with a stack{why}.")
        else:
            page.say(f"There is no compile{why}.")
        return
    ends = len({(c.rank, c.ref) for node in found.nodes for c in node.compiles})
    page.say(
        f"Where {fmt.plural(ends, 'compile')} began: the outermost call first, indented where the ways part. A compile stands"
        " before the function that it compiles.",
        style=tokens.DIM,
    )
    page.blank()


def _add_without(page: Page, found: Sequence[TrieCompile]) -> None:
    if not found:
        return
    page.heading(f"Without a stack ({fmt.count(len(found))})")
    what = "No dynamo_start was logged for them: so it is where the recompile limit was reached, or the log is cut off."
    page.say(what, "  ", tokens.DIM)
    page.row(_marks(page, found, apart=True), "  ")


def add_trie(page: Page, nodes: Sequence[TrieNode]) -> Generator[None, None, None]:
    """All frames; runs of framework frames, and subtrees of nothing else, are folded."""
    ends = _ends(nodes)
    closes: list[int] = []  # where the open sections end
    n = 0
    while n < len(nodes):
        while closes and closes[-1] <= n:
            page.close()
            closes.pop()
        node = nodes[n]
        end = _framework_to(nodes, n, ends[n])
        if end - n >= FOLD:
            _add_folded(page, nodes[n:end], whole=end == ends[n])
            n = end
        else:
            if node.branches > 1:
                page.open(f"{node.frame.name} {fmt.place(node.frame.file, node.frame.line)}")
                closes.append(ends[n])
            _add_node(page, node, _indent(page, node))
            n += 1
        if n % 100 == 0:
            yield
    for _ in closes:
        page.close()


def _ends(nodes: Sequence[TrieNode]) -> list[int]:
    """For each node the place after the last node below it."""
    ends = [n + 1 for n in range(len(nodes))]
    for n in range(len(nodes) - 1, 0, -1):
        parent = nodes[n].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[n])
    return ends


def _framework_to(nodes: Sequence[TrieNode], start: int, end: int) -> int:
    """Up to where only frames of the framework follow: the whole subtree, or else the run up to a branch."""
    n = start
    while n < end and nodes[n].frame.framework and not nodes[n].compiles and nodes[n].dump is None:
        n += 1
    if n in (start, end):
        return n
    m = start
    while m < n and nodes[m].branches == 1 and not nodes[m].count:
        m += 1
    return m


def _indent(page: Page, node: TrieNode, start: int = 1) -> str:
    return " " * (STEP * min(node.level + start, page.width // (3 * STEP)))


def _add_folded(page: Page, nodes: Sequence[TrieNode], whole: bool) -> None:
    indent = _indent(page, nodes[0])
    what = f"{fmt.plural(len(nodes), 'frame')} of the framework"
    records = sum(node.count for node in nodes)
    if whole and records:
        what += f", {fmt.plural(records, 'record')}"
    page.open(what, folded=True)
    page.add(indent, (what, tokens.DIM))
    for node in nodes:
        _add_node(page, node, _indent(page, node, 2))
    page.close()


def _add_node(page: Page, node: TrieNode, indent: str) -> None:
    """`✓ [0/0] models/train.py:12 forward   source line`, or the marks on lines of their own where they are many."""
    pieces = _marks(page, node.compiles)
    used = len(indent) + sum(len(piece if isinstance(piece, str) else piece[0]) for piece in pieces)
    if node.compiles and used > page.width // 2:
        page.row(pieces, indent)
        pieces, used = [], len(indent)
    elif pieces:
        pieces.append("  ")
        used += 2
    frame = node.frame
    place = fmt.clip_middle(sanitize(fmt.place(frame.file, frame.line)), max(page.width // 2 - len(indent), 16))
    target = _target(node)
    pieces += [(place, tokens.LINK if target and not frame.framework else tokens.DIM, target), " "]
    used += len(place) + 1
    name = fmt.clip_middle(sanitize(frame.name), max(page.width // 4, page.width - used - (24 if frame.code else 0), 12))
    pieces.append((name, tokens.DIM if frame.framework else tokens.FUNCTION))
    used += len(name)
    if node.count:
        what = f"  {fmt.plural(node.count, 'record')}"
        pieces.append((what, tokens.LINK, node.records[0] if node.records else ""))
        used += len(what)
    if frame.code and page.width - used >= 19:
        pieces += ["   ", (fmt.clip(sanitize(frame.code.strip()), page.width - used - 3), tokens.DIM)]
    page.add(indent, *pieces)


def _target(node: TrieNode) -> str:
    """The user's source, or for a file that exists only in memory the record with its source."""
    if node.dump is not None:
        return at_line(node.dump, node.frame.line) if node.frame.line else node.dump
    return fmt.place_target(node.frame.file, node.frame.line)


def _marks(page: Page, found: Sequence[TrieCompile], apart: bool = False) -> list[Piece]:
    """`✓ [0/0]  ↻ …`: each id once, with the ranks that have it with this status."""
    groups: dict[tuple[object, ...], list[TrieCompile]] = {}
    for item in found:
        groups.setdefault((item.ref,) if apart else (item.id, item.status), []).append(item)
    pieces: list[Piece] = []
    for members in groups.values():
        first = members[0]
        if pieces:
            pieces.append("  ")
        pieces += [page.status(Status(first.status) if first.status else None), " "]
        label = f"[{first.ref}]" if len(members) == 1 else first.id
        pieces.append((label, tokens.LINK, first.ref))
        if len(members) > 1:
            ranks = {item.rank for item in members}
            pieces.append((f" {ranks_text(ranks)}" if len(ranks) > 1 else f" {len(members)} processes", tokens.DIM))
    return pieces
