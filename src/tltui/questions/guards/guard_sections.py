"""Sections of the page `guards`: the guard tree, and guards of many compiles in groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.rank_groups import GROUPS_SHOWN, Named, OnRanks, add_named, alike_on_ranks, functions, said_ranks
from tltui.model.nodes import Compile, Frame
from tltui.model.ref import at_line
from tltui.questions.guards.guard_report import Guard, GuardCounts, GuardFilter
from tltui.questions.recompiles.failed_guard_text import OBJECTS, class_name
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.frozen import mutable
from tltui.text.graphs.guard_tree import GuardNode
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

DEEP = 12
"""Maximum number of indented levels."""
SAME = 3
"""Guards of one kind in a row, from which on they are folded."""
SHOWN_HERE = ("TENSOR_MATCH", "EQUALS_MATCH", "LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD")
"""Kinds whose guards are listed one by one."""
_FRAMEWORK = re.compile(r"^G\['__(?:import|builtins_dict)_|^G\['torch'\]")
_TENSOR = re.compile(
    r"^check_tensor\(.*?, (?P<class>\w+), DispatchKeySet\((?P<keys>[^)]*)\), (?:torch\.)?(?P<dtype>\w+), device=(?P<device>\w+), "
    r"requires_grad=(?P<grad>\w+), size=(?P<size>\[[^\]]*\]), stride=(?P<stride>\[[^\]]*\])\)$"
)
_HAS = re.compile(
    r"^(?P<no>not )?(?:___dict_contains\((?P<key>'[^']*'|\d+), [^,]*\)|hasattr\([^,]*, (?P<attribute>'[^']*')\))"
    r"(?: == (?P<said>\w+))?$"
)
_CALL = re.compile(r"^___check_\w+\(.*, \d+\)$")


class TreeWriter:
    """Writes the nodes of a guard tree, one after another, as they are parsed."""

    def __init__(
        self, page: Page, head: list[Piece], artifact: str, file: str | None, failed: dict[int, list[str]], wanted: GuardFilter
    ) -> None:
        """Make a writer. `head` goes above the first node; `failed` has the recompiles by the line (from 1) of the guard."""
        self._page = page
        self._head = head
        self._artifact = artifact
        self._file = file
        self._failed = failed
        self._wanted = wanted
        self._nodes: list[GuardNode] = []
        self._open: list[int] = []  # managers whose heads are written, outermost first
        self._run: list[tuple[GuardNode, str, list[str]]] = []
        self.guards: list[Guard] = []
        """The guards that were written."""

    def write(self, nodes: Iterable[object]) -> Iterator[None]:
        """Write all nodes. Yields after every few."""
        for n, node in enumerate(nodes):
            if isinstance(node, GuardNode):
                self._add_node(node)
            if n % 64 == 63:
                yield
        self._flush()
        self._page.close(0)

    def _add_node(self, node: GuardNode) -> None:
        self._nodes.append(node)
        if node.is_manager:
            if not self._wanted:
                self._enter(len(self._nodes) - 1)
            return
        source = self._source(node)
        failed = self._failed.get(node.line + 1, []) if node.line >= 0 else []
        if self._wanted and not self._wanted.matches(node, source, bool(failed)):
            return
        self._enter(node.parent)
        if self._run and (self._run[0][0].kind != node.kind or self._run[0][0].parent != node.parent):
            self._flush()
        self._run.append((node, source, failed))

    def _source(self, node: GuardNode) -> str:
        """Return the source of a guard: that of the nearest manager with a source."""
        if node.source:
            return node.source
        above = node.parent
        while above >= 0:
            if self._nodes[above].source:
                return self._nodes[above].source
            above = self._nodes[above].parent
        return ""

    def _enter(self, manager: int) -> None:
        """Write the heads of a manager and of those above it that are not written yet, and leave all others."""
        path = []
        while manager >= 0:
            path.append(manager)
            manager = self._nodes[manager].parent
        path.reverse()
        if path == self._open:
            return
        if self._head:
            self._page.close(0)
            self._page.blank()
            self._page.open("".join(piece_text(piece) for piece in self._head))
            self._page.add(*self._head)
            self._head = []
        self._flush()
        same = 0
        while same < min(len(path), len(self._open)) and path[same] == self._open[same]:
            same += 1
        while len(self._open) > same:
            self._open.pop()
            self._page.close()
        for number in path[same:]:
            self._open.append(number)
            self._manager(self._nodes[number])

    def _manager(self, node: GuardNode) -> None:
        name = node.source or ("the frame as a whole" if node.depth == 0 else node.kind)
        if node.side:
            name = f"{node.side.removesuffix('Manager').lower()} {name}"
        elif node.kind == "KeyValueManager":
            name = f"item {node.expression}"
        above = self._nodes[node.parent].source.removesuffix(".__dict__") if node.parent >= 0 else ""
        short = name[len(above) :] if above and name.startswith(above) and len(name) > len(above) else name
        self._page.open(name, folded=bool(_FRAMEWORK.match(node.source)))
        indent = self._indent(node.depth)
        kind = class_name(node.type_name)
        room = self._page.width - len(indent)
        head = self._page.clip_middle(sanitize(short), max(room - min(len(kind) + 2, room // 2), 8))
        target = at_line(self._artifact, node.line + 1) if node.line >= 0 else self._artifact
        left = room - len(head) - 2
        type_: list[Piece] = [("  " + fmt.clip_middle(sanitize(kind), left), tokens.TYPE)] if kind and left >= 8 else []
        self._page.add(indent, (head, tokens.DEFINITION, target), *type_)

    @staticmethod
    def _indent(depth: int) -> str:
        return "  " * (min(depth, DEEP) + 1)

    def _flush(self) -> None:
        """Write the guards of one kind that wait."""
        run, self._run = self._run, []
        if not run:
            return
        kind = run[0][0].kind
        folded = len(run) >= SAME and kind not in SHOWN_HERE and not any(failed for _, _, failed in run)
        depth = run[0][0].depth
        if folded:
            text = f"{len(run)} × {kind}"
            self._page.open(text, folded=True)
            self._page.add(self._indent(depth), (text, tokens.DIM))
        for node, source, failed in run:
            self._guard(node, source, failed, depth + folded, "" if folded else kind)
        if folded:
            self._page.close()

    def _guard(self, node: GuardNode, source: str, failed: list[str], depth: int, kind: str) -> None:
        page, indent = self._page, self._indent(depth)
        file = self._full_path(node.path)
        line = node.line + 1 if node.line >= 0 else None
        self.guards.append(
            Guard(line, node.kind, source, node.expression, file, node.place or None, node.code or None, node.function or None,
                  node.hint, tuple(failed))
        )  # fmt: skip
        place = f"{fmt.file_name(file)}:{node.place}" if file else ""
        check = sanitize(shown(node, source))
        name = kind or page.clip(check, page.width - len(indent) - len(place) - 2)  # in a fold of one kind that goes without saying
        check = check if kind else ""
        room = page.width - len(indent) - len(name) - 2
        where: list[Piece] = []
        if place and room - len(place) - 2 >= min(len(check), 24):
            room -= len(place) + 2
            where = ["  ", (place, tokens.DIM, fmt.place_target(file, node.place))]
        target = at_line(self._artifact, line) if line is not None else self._artifact
        style = tokens.ERROR if failed else tokens.KEYWORD if kind else tokens.VALUE
        page.add(indent, (name, style, target), *([("  " + page.clip(check, room), tokens.VALUE)] if check else []), *where)
        if place and not where:
            page.add(indent, "  ", (place, tokens.DIM, fmt.place_target(file, node.place)))
        if failed:
            pieces: list[Piece] = [("failed for ", tokens.ERROR)]
            for ref in failed[:8]:
                pieces += [(f"[{ref}]", tokens.LINK, ref), " "]
            if len(failed) > 8:
                pieces.append((f"and {len(failed) - 8} more", tokens.DIM))
            page.row(pieces, indent + "  ")

    def _full_path(self, path: str) -> str | None:
        """Complete the path of the compiled function: guards have only its end."""
        if not path:
            return None
        return self._file if self._file and self._file.endswith(path) else path


def shown(node: GuardNode, source: str) -> str:
    """Format a guard's check without the part that its position in the tree implies."""
    text = node.expression
    if node.kind == "TENSOR_MATCH" and (match := _TENSOR.match(text)):
        device = match["keys"].partition(",")[0].lower()
        index = f":{match['device']}" if match["device"] != "None" else ""
        kind = f"{match['class']} " if match["class"] != "Tensor" else ""
        grad = "  requires_grad" if match["grad"] == "True" else ""
        return f"{kind}{match['dtype']} {match['size']} stride {match['stride']} {device}{index}{grad}".replace("None", "dynamic")
    if _CALL.match(text):
        kind = class_name(node.type_name)
        if "type" in text[:26]:
            return f"type is {kind}" if kind else "has the same type"
        return f"is this {OBJECTS.get(kind, kind) or 'object'}"
    if match := _HAS.match(text):
        absent = (match["no"] is not None) != (match["said"] == "False")
        name = f"key {match['key']}" if match["key"] else match["attribute"].strip("'")
        return f"{'no' if absent else 'has'} {name}"
    if source and text == f"not {source}":
        return "is empty"
    if source and text.startswith(f"len({source}) == "):
        return f"length{text[len(source) + 5 :]}"
    if source and text.startswith(source):
        return text[len(source) :].strip() or text
    return text


SHOWN = 40
"""Functions with failed guards above the fold."""
FOLDED = 400
"""Functions with failed guards below the fold."""
CAUSES = 3


@mutable
class _Failed:
    """The compiles of a frame whose guards failed later."""

    frame: Frame
    compiles: int = 0
    recompiles: set[str] = field(default_factory=set)
    causes: Counter[str] = field(default_factory=Counter)


class GuardGroups:
    """A writer that collects compiles, and writes those with the same kinds of guards together."""

    def __init__(self, newest: Collection[str] = ()) -> None:
        self._newest = newest
        self._failed: dict[int, _Failed] = {}
        self._alike: dict[tuple[tuple[str, int], ...], list[tuple[Compile, GuardCounts]]] = {}

    def add(self, compile_: Compile, counts: GuardCounts) -> None:
        """Add a compile."""
        self._alike.setdefault(counts.kinds, []).append((compile_, counts))
        if counts.failed:
            frame = compile_.frame
            sums = self._failed.setdefault(id(frame), _Failed(frame))
            sums.compiles += 1
            for failed in counts.failed:
                sums.recompiles.add(failed.ref)
                sums.causes[failed.cause] += 1

    def write(self, page: Page) -> Generator[None, None, None]:
        """Add the failed guards, then all compiles as links to their guards."""
        if self._failed:
            self._write_failed(page)
            yield
        if self._alike:
            page.heading(f"Compiles with the same kinds of guards ({fmt.plural(len(self._alike), 'group')})")
        groups = sorted(self._alike.values(), key=len, reverse=True)
        for group in groups[:GROUPS_SHOWN]:
            yield from _group(page, group)
        rest = [member for group in groups[GROUPS_SHOWN:] for member in group]
        if rest:
            text = f"{fmt.plural(len(rest), 'compile')} in {len(groups) - GROUPS_SHOWN:,} smaller groups"
            yield from add_named(page, text, [], list(map(_member_piece, rest)))

    def _write_failed(self, page: Page) -> None:
        failed = sorted(self._failed.values(), key=lambda failed: -len(failed.recompiles))
        compiles, recompiles = sum(f.compiles for f in failed), sum(len(f.recompiles) for f in failed)
        page.heading(f"Failed later: guards of {fmt.plural(compiles, 'compile')}, causing {fmt.plural(recompiles, 'recompile')}")
        groups = alike_on_ranks(failed, lambda item: str(item.frame.ref), self._newest, _same)
        ordered = FAILED.ordered([(group[0], _on_ranks(group, self._newest)) for group in groups], page.sort)
        rows = ordered[: SHOWN + FOLDED]
        page.table(FAILED, rows[:SHOWN])
        rest = rows[SHOWN:]
        if rest:
            text = f"{fmt.plural(len(groups) - SHOWN, 'more function')}"
            text += f", the first {fmt.count(len(rest))}" if len(groups) - SHOWN > len(rest) else ""
            with page.fold(text):
                page.table(replace(FAILED, indent="    "), rest)


def _same(failed: _Failed) -> Hashable:
    """Return the grouping key for a function on several ranks."""
    return failed.frame.code, failed.compiles, len(failed.recompiles), tuple(failed.causes.items())


def _on_ranks(group: Sequence[_Failed], newest: Collection[str]) -> OnRanks:
    refs = tuple(str(failed.frame.ref) for failed in group)
    return OnRanks(refs, said_ranks(refs, newest))


def _recompiles(row: tuple[_Failed, OnRanks]) -> Piece:
    failed, on = row
    each = " each" if on.ranks else ""
    return (f"{fmt.plural(len(failed.recompiles), 'recompile')}{each}", tokens.ERROR, f"@recompiles:{on.ref}")


def _causes(failed: _Failed) -> str:
    """Return the most frequent causes: `tensor size 11, tensor dtype 1`."""
    causes = failed.causes.most_common()
    more = f" and {len(causes) - CAUSES} more" if len(causes) > CAUSES else ""
    return ", ".join(f"{cause} {fmt.count(count)}" for cause, count in causes[:CAUSES]) + more


def _place(failed: _Failed) -> Piece:
    _, file, line = failed.frame.code
    return (fmt.place(file, line), tokens.LINK, fmt.place_target(file, line))


FAILED: Table[tuple[_Failed, OnRanks]] = Table((
    Column("", lambda row: (f"[{row[1].label}]", tokens.LINK, f"@guards:{row[1].ref}")),
    Column("function", lambda row: (fmt.clip_middle(sanitize(display_name(row[0].frame) or "?"), 30), tokens.FUNCTION),
           sort="name", key=lambda row: short(display_name(row[0].frame) or "")),
    Column("failed before", _recompiles, right=True, sort="failed"),
    Column("guards", lambda row: (_causes(row[0]), tokens.KEYWORD), sort="cause", key=lambda row: _causes(row[0])),
    Column("line", lambda row: _place(row[0]), sort="line",
           key=lambda row: (row[0].frame.code[1] or "", row[0].frame.code[2] or 0)),
    Column("", lambda row: (row[1].ranks, tokens.DIM), when=lambda rows: any(on.ranks for _, on in rows)),
), order="failed")  # fmt: skip


def latency_range(times_us: Sequence[float]) -> str:
    """Format latencies: `64–71 µs`, `64 µs`; '' for none."""
    bounds = dict.fromkeys(f"{us:,.0f}" for us in (min(times_us, default=None), max(times_us, default=None)) if us is not None)
    return f"{'–'.join(bounds)} µs" if bounds else ""


def _group(page: Page, group: Sequence[tuple[Compile, GuardCounts]]) -> Iterator[None]:
    """Add a group: `1,251 compiles of 3 functions  6 guards each  62–81 µs  f, g, h`."""
    first = group[0][1]
    codes = dict.fromkeys(compile_.frame.code for compile_, _ in group)
    times = [counts.latency_us for _, counts in group if counts.latency_us is not None]
    count = fmt.plural(len(group), "compile") + (f" of {fmt.plural(len(codes), 'function')}" if len(codes) > 1 else "")
    each = f"{fmt.plural(first.leaf_guard_count, 'guard')}{' each' if len(group) > 1 else ''}"
    took = f"  {latency_range(times)}" if times else ""
    names = functions([code[0] for code in codes], page.width - len(count) - len(each) - len(took) - 8)
    head: list[Piece] = [(each, tokens.NUMBER, first.artifact), took, "  ", names]
    yield from add_named(page, count, head, list(map(_member_piece, group)))


def _member_piece(member: tuple[Compile, GuardCounts]) -> Named:
    counts = member[1]
    return counts.ref, tokens.ERROR if counts.failed else tokens.LINK, f"@guards:{counts.ref}"
