"""The own line that calls a library's model, where torch recorded no stacks: derived from guards and the order of the program.

A `# File:` comment names the innermost frame: for all of a model out of a library a line of that. The guards name the line that
calls each module (`layer_lines.py`), and the graph before grad stands in the order in which it was traced: all that stands between
the first and the last node that read a parameter of a module runs while that module is called. So it was called by the line that
calls the module, if that line is an own one and the module runs once.

Nothing is said of a module that may run twice, whose inner modules are read at an own line too, while which own code ran, or whose
nodes mix with those of another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tltui.analyses.provenance.graph import COMPUTED, GraphText
from tltui.analyses.provenance.layer_names import source_path
from tltui.analyses.provenance.result import Place
from tltui.analyses.stacks.stacks import is_end_of
from tltui.text.graphs.module_names import parameter_of
from tltui.text.owner import Owner, owner_of

GUARDS = "dynamo_cpp_guards_str"
_GUARD = re.compile(
    r"^[^\n]*?: (?P<test>[^\n]*?(?P<module>[LG]\['\w+'\](?:\._modules\['[^'\n]+'\])*)[^\n]*?)"
    r"  # (?P<code>[^\n]*)  # (?P<file>\S[^\n]*?):(?P<line>\d{1,9}) in (?P<function>\S+)",
    re.M,
)
_CALL = "not ___dict_contains('forward', "
Module = tuple[str, ...]
"""The variable that holds the outermost module, and the path from there."""
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard on a module: where it was called, or something of it was read first."""

    module: Module
    call: bool
    file: str
    """As guards shorten it."""
    line: int
    function: str
    code: str


def guards_of(text: str) -> tuple[Guard, ...]:
    """The guards on modules, each place once, in their order."""
    found: dict[Guard, None] = {}
    for match in _GUARD.finditer(text):
        source = source_path(match["module"])
        if source is not None:
            call = match["test"].startswith(_CALL)
            module = (source[0], *source[1])
            found[Guard(module, call, match["file"], int(match["line"]), match["function"], match["code"].strip())] = None
    return tuple(found)


@dataclass(slots=True)
class _Files:
    """Which whole paths the shortened ones of guards mean."""

    own: frozenset[str]
    others: frozenset[str]
    _known: dict[str, str | None] = field(default_factory=dict)

    def own_path(self, short: str) -> str | None:
        """The own file; '' for one of a library or torch; None where that is not known."""
        if short not in self._known:
            own = [path for path in self.own if path == short or is_end_of(short, path)]
            other = any(path == short or is_end_of(short, path) for path in self.others) or owner_of(short) is not Owner.USER
            self._known[short] = None if bool(own) == other or len(own) > 1 else own[0] if own else ""
        return self._known[short]


def callers_of_lines(pre: GraphText, guards: Iterable[Guard], file: str) -> dict[Key, Place]:
    """Line of a library or of torch → the own line that called it, of those lines whose nodes all were called by the same one.
    `file` is that of the compiled function."""
    guards = tuple(guards)
    origins = {origin.path for origin in pre.graph.origins}
    own = frozenset(path for path in (*origins, file) if path and owner_of(path) is Owner.USER)
    files = _Files(own, frozenset(origins - own))
    calls = _calls(guards, files)
    uses = _uses(pre, calls)
    return _of_lines(pre, {n: calls[module] for module, nodes in _alone(pre, uses, guards, calls, files) for n in nodes})


def _calls(guards: tuple[Guard, ...], files: _Files) -> dict[Module, Place | None]:
    """Module → the own line that calls it; None of one that no own line calls, as far as is known. Those that libraries call are
    left out."""
    calls: dict[Module, Place | None] = {}
    for guard in guards:
        if not guard.call:
            continue
        own = files.own_path(guard.file)
        place = Place(own, guard.line, guard.function, guard.code) if own else None
        if own != "" and calls.setdefault(guard.module, place) != place:
            calls[guard.module] = None
    return calls


def _called(module: Module, calls: Mapping[Module, Place | None]) -> Module | None:
    """The nearest module around a module, or itself, that is not called by a library."""
    return next((module[:n] for n in range(len(module), 0, -1) if module[:n] in calls), None)


def _uses(pre: GraphText, calls: Mapping[Module, Place | None]) -> dict[Module, dict[str, list[int]]]:
    """Called module → parameter of it → the nodes that read it."""
    reads: dict[str, Module] = {}
    for node in pre.nodes:
        if node.graph == 0 and node.kind in ("placeholder", "get_attr"):
            parameter = parameter_of(node.name if node.kind == "placeholder" else node.target)
            called = _called((parameter.root, *parameter.path), calls) if parameter is not None else None
            if called is not None and parameter is not None and parameter.name:
                reads[node.name] = called
    uses: dict[Module, dict[str, list[int]]] = {}
    for n, node in enumerate(pre.nodes):
        if node.graph != 0 or node.kind in ("placeholder", "get_attr", "output"):
            continue
        read = {other.name for other in pre.graph.producers(node)} & reads.keys()
        if {name.lower() for name in read} == {node.name.lower()}:  # `l_x_ = L_x_`: another name for an input
            reads[node.name] = reads[read.pop()]
            continue
        for name in read:
            uses.setdefault(reads[name], {}).setdefault(name, []).append(n)
    return uses


def _alone(
    pre: GraphText, uses: Mapping[Module, dict[str, list[int]]], guards: tuple[Guard, ...], calls: Mapping[Module, Place | None],
    files: _Files,
) -> Iterable[tuple[Module, list[int]]]:  # fmt: skip
    """Called modules, and the nodes that run while each is called, where that is certain."""
    spans = {module: (min(map(min, found.values())), max(map(max, found.values()))) for module, found in uses.items()}
    for module, (first, last) in spans.items():
        place = calls[module]
        others = (span for other, span in spans.items() if other != module)
        if place is None or any(start <= last and first <= end for start, end in others):
            continue
        if _runs_twice(pre, uses[module]) or _read_elsewhere(module, place, guards, files):
            continue
        nodes = [n for n in range(first, last + 1) if pre.nodes[n].graph == 0 and pre.nodes[n].kind in COMPUTED]
        lines = [line for n in nodes if (line := _line(pre, n)) is not None]
        if all(owner_of(path) is not Owner.USER for path, _ in lines):
            yield module, nodes


def _runs_twice(pre: GraphText, uses: Mapping[str, list[int]]) -> bool:
    """Whether any parameter is read twice by one line."""
    for nodes in uses.values():
        lines = [_line(pre, n) for n in nodes]
        if len(set(lines)) < len(lines):
            return True
    return False


def _read_elsewhere(module: Module, place: Place, guards: tuple[Guard, ...], files: _Files) -> bool:
    """Whether what is inside of a module is read at another line than a library's and the one that calls it."""
    inside = (guard for guard in guards if len(guard.module) > len(module) and guard.module[: len(module)] == module)
    return any((own := files.own_path(guard.file)) and (own, guard.line) != (place.file, place.line) for guard in inside)


def _line(pre: GraphText, n: int) -> Key | None:
    origin = pre.origin(pre.nodes[n])
    return (origin.path, origin.place) if origin is not None else None


def _of_lines(pre: GraphText, known: Mapping[int, Place | None]) -> dict[Key, Place]:
    """What is known of nodes as what is known of lines: nothing of a line that ran outside of the call too."""
    found: dict[Key, set[Place | None]] = {}
    for n, node in enumerate(pre.nodes):
        line = _line(pre, n)
        if line is not None and node.kind in COMPUTED and owner_of(line[0]) is not Owner.USER:
            found.setdefault(line, set()).add(known.get(n))
    return {line: place for line, (place, *more) in found.items() if place is not None and not more}
