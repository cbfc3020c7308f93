"""Parser of the text of FX graphs: nodes, inputs, and the user's source lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import field

from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern

# Lines are of any length and may be hostile: no expression here may take more than linear time. So a string that is
# not closed ends with the line, and nothing that may be blank stands beside something else that may be blank.
_QUOTED = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"
QUOTED = lazy_pattern(_QUOTED)
_PIECE = lazy_pattern(rf"(?:{_QUOTED}|[^;\"'])+|[;\"']")
_NAME = r"[A-Za-z_]\w*"
_FREE = lazy_pattern(rf"^(?:{_NAME} = )+None$|^del {_NAME}(?:, {_NAME})*$|^pass$")
_ASSIGN = lazy_pattern(rf"^({_NAME})(?!\w)\s*(?::\s*(\"[^\"]*\"\s*|[^=\"'\s][^=\"']*))?=(?!=)\s*(.+)$")
_DECLARED = lazy_pattern(rf"^({_NAME})\s*:\s*(\"[^\"]*\")$")
_UNPACK = lazy_pattern(r"^([\[(]?[A-Za-z_][\w\s,]*(?:[\])]\s*)?)=(?!=)\s*(.+)$")
_IN_PLACE = lazy_pattern(rf"^({_NAME})\s*(\+|-|\*\*?|//?|%|@|&|\||\^|<<|>>)=\s*(.+)$")
_STORE = lazy_pattern(rf"^({_NAME})(\[.*\]|(?:\.\w+)+)\s*=(?!=)\s*(.+)$")
_RETURN = lazy_pattern(r"^return\b\s*(.*)$")
_WORD = lazy_pattern(rf"{_QUOTED}|(?<![\w.])({_NAME})(?!\s=[^=])(?!\w)")
_CALL = lazy_pattern(rf"^({_NAME}(?:\.\w+)*)\(")
_ATTRIBUTE = lazy_pattern(r"^self(?:\.\w+)+$")
_ITEM = lazy_pattern(rf"^{_NAME}(?:\.{_NAME})*\[")
_OPERATOR = lazy_pattern(r"\s(\+|-|\*\*|\*|//|/|%|@|&|\||\^|<<|>>|<=|>=|==|!=|<|>|and|or|in|is)\s|^(-|~|not )")
_PARAMETER = lazy_pattern(
    rf"(?:^|(?<=[,\s(*]))({_NAME})(?!\w)\s*(?::\s*(\"[^\"]*\"|[^\s,=\"]+))?(?=\s*(?:,|=|$))"
)


@frozen
class Statement:
    """The effect of one statement. `kind` is one of `FxNode.kind`, 'free', or '' for an unknown statement."""

    kind: str
    names: tuple[str, ...] = ()
    type: str = ""
    target: str = ""
    words: tuple[str, ...] = ()
    """Every name that is read; the names of nodes are among them."""
    in_place: str = ""


def parameters(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and types of the parameters of a `def`, without `self`."""
    for match in _PARAMETER.finditer(text):
        if match[1] != "self":
            yield match[1], (match[2] or "").strip('"')


def split(text: str) -> list[str]:
    """Split a line into statements at `;` outside of strings."""
    first = text.find(";")
    if first < 0:
        return [text]
    if first > max(text.rfind('"'), text.rfind("'")):
        return [part for part in map(str.strip, text.split(";")) if part]
    parts = [""]
    for match in _PIECE.finditer(text):
        if match.group() == ";":
            parts.append("")
        else:
            parts[-1] += match.group()
    return [part.strip() for part in parts if part.strip()]


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a line. `x += y;  x_1: "T" = x` is one statement, the update in place that makes `x_1`."""
    update: Statement | None = None
    for part in split(text):
        statement = _statement(part)
        if update is not None and statement.kind == "alias" and statement.words == update.names:
            statement = Statement("call", statement.names, statement.type, update.target, update.words, update.in_place)
            update = None
        elif update is not None:
            yield update
            update = None
        if statement.in_place:
            update = statement
            continue
        yield statement
    if update is not None:
        yield update


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match[1] for match in _WORD.finditer(text) if match[1]))


def _statement(text: str) -> Statement:
    if _FREE.match(text):
        return Statement("free")
    match = _RETURN.match(text)
    if match:
        return Statement("output", ("output",), target="return", words=_words(match[1]))
    match = _ASSIGN.match(text)
    if match:
        kind, target = _expression(match[3])
        return Statement(kind, (match[1],), (match[2] or "").strip('" '), target, _words(match[3]))
    match = _DECLARED.match(text)
    if match:
        return Statement("placeholder", (match[1],), match[2][1:-1])
    match = _IN_PLACE.match(text)
    if match:
        operator = match[2] + "="
        return Statement("call", (match[1],), "", operator, (match[1], *_words(match[3])), operator)
    match = _STORE.match(text)
    if match:
        words = (match[1], *_words(match[2]), *_words(match[3]))
        return Statement("call", (match[1],), "", "setitem" if match[2][0] == "[" else "setattr", words, "[]=")
    match = _UNPACK.match(text)
    if match:
        names = tuple(re.findall(_NAME, match[1]))
        return Statement("unpack", names, "", _expression(match[2])[1], _words(match[2]))
    match = _CALL.match(text)
    if match and text.endswith(")"):
        return Statement("call", (), "", match[1], _words(text))
    return Statement("")


def _expression(text: str) -> tuple[str, str]:
    """Return the kind and target of the right side of an assignment."""
    if text.isidentifier():
        return "alias", ""
    call = _CALL.match(text)
    if call and text.endswith(")"):
        return "call", call[1]
    if _ATTRIBUTE.match(text):
        return "get_attr", text
    if _ITEM.match(text) and text.endswith("]"):
        return "getitem", "getitem"
    operator = _OPERATOR.search(text)
    if operator:
        return "expression", (operator[1] or operator[2]).strip()
    return "expression", text[:80]


@frozen
class Origin:
    """A `# File: …` comment: where the nodes below it come from."""

    line: int
    path: str
    place: int
    """The line number in `path`."""
    function: str
    code: str
    note: str = ""
    """What stands before `File:`, e.g. an annotation or the recompute mark."""


@frozen
class FxNode:
    """One value of a graph. `line` counts from 0; `graph` and `origin` are places in the lists of the `FxGraph`."""

    name: str
    line: int
    graph: int
    kind: str
    """`placeholder`, `call`, `getitem`, `get_attr`, `expression`, `alias` (another name), `unpack` (of a flattened
    input) or `output`."""
    type: str = ""
    target: str = ""
    """What is called (`torch.ops.aten.mm.default`, `.view` for a method), the operator, or the attribute."""
    args: tuple[str, ...] = ()
    """The names of the nodes that it reads, in the order of the text, each once."""
    origin: int = -1
    in_place: str = ""
    """The operator of an update in place, e.g. `+=`."""
    note: str = ""
    """The comment behind a parameter, e.g. `PlainAOTInput(idx=0)`."""


@frozen
class SubGraph:
    """One class of the text, lines `first` to `last` (both inclusive)."""

    path: str
    first: int
    last: int
    parent: int
    inputs_end: int
    """The last line of the `def forward(…):`, or of the class line where there is none."""


@frozen
class FxGraph:
    """The parsed contents of a text of FX graphs."""

    graphs: tuple[SubGraph, ...]
    nodes: tuple[FxNode, ...]
    origins: tuple[Origin, ...]
    statements: int
    unknown: tuple[int, ...]
    """Lines of statements that were not understood."""
    _by_name: dict[tuple[int, str], int] = field(default_factory=dict, repr=False, compare=False)
    _users: dict[tuple[int, str], list[int]] = field(default_factory=dict, repr=False, compare=False)

    def graph_at(self, line: int) -> int:
        """Return the innermost graph whose class holds `line`, -1 outside of all."""
        inner = -1
        for n, graph in enumerate(self.graphs):
            if graph.first <= line <= graph.last:
                inner = n
        return inner

    def find(self, name: str, graph: int) -> FxNode | None:
        """Return the node of a name in one graph."""
        place = self._by_name.get((graph, name))
        return None if place is None else self.nodes[place]

    def users(self, node: FxNode) -> tuple[FxNode, ...]:
        """Return the nodes that read `node`, in the order of the text."""
        return tuple(self.nodes[n] for n in self._users.get((node.graph, node.name), ()))

    def producers(self, node: FxNode) -> tuple[FxNode, ...]:
        """Return the nodes that `node` reads."""
        nodes = (self.find(name, node.graph) for name in node.args)
        return tuple(producer for producer in nodes if producer is not None)

    def at(self, line: int) -> tuple[FxNode, ...]:
        """Return the nodes that are defined on a line."""
        first = bisect_left(self.nodes, line, key=_line)
        return self.nodes[first : bisect_left(self.nodes, line + 1, first, key=_line)]


def _line(node: FxNode) -> int:
    return node.line


_CLASS = lazy_pattern(r"^( *)class (\S+)\([\w.]*\):")
_DEF = lazy_pattern(r"^( *)def (\w+)\((.*)$")
_ORIGIN = lazy_pattern(r":(\d{1,9}) in (\S+?)(?:, code: ?|$)")
_BARE = lazy_pattern(r"^(\*{0,2}[A-Za-z_]\w*)\s*:\s*(\"[^\"]*\")\s*(?:#\s*(.*))?$")
_END_OF_HEAD = lazy_pattern(r"\)\s*(?:->\s*.*)?:\s*(?:#.*)?$")


def _without_note(text: str) -> str:
    """Return a line without the comment at its end."""
    return text.partition("  # ")[0].rstrip() if "  # " in text else text


def _origin(n: int, text: str) -> Origin | None:
    """Parse a comment with the origin of the nodes below it."""
    match = _ORIGIN.search(text)
    start = text.rfind("File: ", 0, match.start()) if match else -1
    if match is None or start < 0:
        return None
    path, note = text[start + len("File: ") : match.start()], text[1:start].strip(" |")
    return Origin(n, path, int(match[1]), match[2], text[match.end() :], note)


def _depth(text: str) -> int:
    """Brackets that are opened and not closed."""
    if '"' in text or "'" in text:
        text = QUOTED.sub("", text)
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


class _Parser:
    """The state of a parse: one pass over the lines."""

    def __init__(self) -> None:
        self.graphs: list[SubGraph] = []
        self.nodes: list[FxNode] = []
        self.origins: list[Origin] = []
        self.unknown: list[int] = []
        self.count = 0
        self.names: dict[tuple[int, str], int] = {}
        self.users: dict[tuple[int, str], list[int]] = {}
        self.open: list[tuple[int, int, str, int]] = []  # graph, indentation of its class, path, last line with text
        self.origin = -1
        self.head = -1  # the graph of a `def forward(` that is still open
        self.pending: list[str] = []  # the parts of a statement that goes on
        self.began = (0, 0, 0)  # its line and indentation, and the brackets that are open

    def line(self, n: int, line: str) -> None:
        """Take the next line."""
        text = line.strip()
        if not text:
            return
        indent = len(line) - len(line.lstrip())
        if self.pending and self.go_on(indent, text):
            return
        while self.open and indent < self.open[-1][1] + 2:
            self.close()
        if text.startswith("class ") and (match := _CLASS.match(line)):
            self.begin(n, indent, match[2])
            return
        definition = _DEF.match(line) if text.startswith("def ") else None
        if definition and not self.open:
            self.begin(n, indent, definition[2])
        if not self.open:
            return  # what stands around the graphs: a signature, an id
        graph, at, path, _ = self.open[-1]
        self.open[-1] = (graph, at, path, n)
        if self.head >= 0:
            self.parameter(n, text)
        elif text.startswith("#"):
            self.comment(n, text)
        elif definition:
            self.definition(n, graph, definition[3])
        elif (code := _without_note(text)).endswith(("(", "[", "{", ",")) and (depth := _depth(code)) > 0:
            self.pending, self.began = [code], (n, indent, depth)
        else:
            self.statement(n, graph, text)

    def begin(self, n: int, indent: int, name: str) -> None:
        """Begin a graph inside of the innermost open one."""
        path = f"{self.open[-1][2]}.{name}" if self.open else name
        parent = self.open[-1][0] if self.open else -1
        self.open.append((len(self.graphs), indent, path, n))
        self.graphs.append(SubGraph(path, n, n, parent, n))
        self.origin = -1

    def go_on(self, indent: int, text: str) -> bool:
        """Continue a statement, which ends where its brackets are closed."""
        n, at, depth = self.began
        if indent <= at and not text.startswith((")", "]", "}")):
            self.pending = []  # it was cut off
            self.count += 1
            self.unknown.append(n)
            return False
        code = _without_note(text)
        self.pending.append(code)
        self.began = (n, at, depth + _depth(code))
        if self.began[2] <= 0:
            statement, self.pending = " ".join(self.pending), []
            self.statement(n, self.open[-1][0], statement)
        return True

    def close(self) -> None:
        """End the innermost class at its last line with text; so its parents reach at least as far."""
        graph, _, _, last = self.open.pop()
        self.head = self.origin = -1
        old = self.graphs[graph]
        self.graphs[graph] = SubGraph(old.path, old.first, last, old.parent, old.inputs_end)
        if self.open:
            self.open[-1] = (*self.open[-1][:3], last)

    def definition(self, n: int, graph: int, tail: str) -> None:
        end = _END_OF_HEAD.search(tail)
        self.head_ends(graph, n)
        if end is None:
            self.head = graph
            self.parameter(n, tail)
            return
        for name, kind in parameters(tail[: end.start()]):
            self.add(FxNode(name, n, graph, "placeholder", kind))

    def head_ends(self, graph: int, n: int) -> None:
        old = self.graphs[graph]
        self.graphs[graph] = SubGraph(old.path, old.first, old.last, old.parent, n)

    def parameter(self, n: int, text: str) -> None:
        """Add a line of an expanded `def forward(`."""
        graph = self.head
        if text.startswith(")") and _END_OF_HEAD.search(text):
            self.head = -1
            self.head_ends(graph, n)
            return
        code, _, note = text.partition("  # ")
        for name, kind in parameters(code):
            self.add(FxNode(name, n, graph, "placeholder", kind, note=note))

    def comment(self, n: int, text: str) -> None:
        origin = _origin(n, text) if "File: " in text else None
        if origin:
            self.origin = len(self.origins)
            self.origins.append(origin)
        elif "No stacktrace found" in text:
            self.origin = -1

    def statement(self, n: int, graph: int, text: str) -> None:
        bare = _BARE.match(text)
        if bare:
            self.count += 1
            self.add(FxNode(bare[1], n, graph, "placeholder", bare[2][1:-1], note=bare[3] or ""))
            return
        for statement in statements(text):
            if statement.kind == "free":
                continue
            self.count += 1
            if not statement.kind:
                self.unknown.append(n)
                continue
            self.add_statement(n, graph, statement)

    def add_statement(self, n: int, graph: int, statement: Statement) -> None:
        names = (name for name in statement.words if (graph, name) in self.names)
        args = tuple(dict.fromkeys(names))
        target = statement.target
        if statement.kind == "call" and (graph, target.partition(".")[0]) in self.names:
            target = "." + target.partition(".")[2]  # a method of a node
        for name in statement.names:
            if statement.kind == "unpack" and (graph, name) in self.names:
                continue  # the names of flattened inputs were declared above
            origin = -1 if statement.kind == "placeholder" else self.origin
            self.add(FxNode(name, n, graph, statement.kind, statement.type, target, args, origin, statement.in_place))

    def add(self, node: FxNode) -> None:
        key = (node.graph, node.name)
        for name in node.args:
            self.users.setdefault((node.graph, name), []).append(len(self.nodes))
        self.names[key] = len(self.nodes)
        self.nodes.append(node)


def parse(lines: Iterable[str]) -> FxGraph:
    """Parse the lines of a text of FX graphs. Never fails: unknown lines are listed in `unknown`."""
    parser = _Parser()
    for n, line in enumerate(lines):
        parser.line(n, line)
    while parser.open:
        parser.close()
    return FxGraph(
        tuple(parser.graphs),
        tuple(parser.nodes),
        tuple(parser.origins),
        parser.count,
        tuple(parser.unknown),
        parser.names,
        parser.users,
    )
