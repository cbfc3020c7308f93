"""Sections of texts, by language: what can be folded and jumped over.

A finder sees the sanitised lines and gives sections that nest properly. It reads the shape of the text (indentation,
brackets at line ends, known first words) and never runs a parser of the whole language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tltui.text.document import Section
from tltui.text.graphs.fx_sections import fx_sections, short_title
from tltui.text.graphs.guard_tree import parse as parse_guards
from tltui.text.ir.scheduler_ir import parse as parse_ir
from tltui.text.owner import Owner, owner_of

FOLD_FRAMES = 2
"""Frames of torch or of libraries in a row from which on they are shown closed."""

TORCH = "torch"
WHOSE = {Owner.USER: "", Owner.LIBRARY: "libraries", Owner.PYTHON: TORCH, Owner.TORCH: TORCH}
"""Of whom a frame is said to be: Python's own stand between those of torch."""
_KERNEL = re.compile(r"^(\w+) = async_compile\.(\w+)\(")
_PYTHON = re.compile(r"(?:async def|def|class|if __name__)\b")
_FRAME = re.compile(r'^(\s*)File "([^"]+)"(?:, line (\d+))?(?:, in (.*))?$')
_HEADER = re.compile(
    r"^\s*(?:Traceback \(most recent call last\):|User code traceback:|User stack trace:|from user code:)\s*$"
)
_JSON_KEY = re.compile(r'^\s*"((?:[^"\\]|\\.)*)"\s*:')


def nested(sections: Iterable[Section]) -> list[Section]:
    """Sections in order, levels counted anew: whatever a strange text made a finder believe, they nest properly."""
    found: list[Section] = []
    opened: list[Section] = []
    for section in sorted(sections, key=lambda section: (section.first, -section.last, section.level)):
        while opened and opened[-1].last < section.first:
            opened.pop()
        last = min(section.last, opened[-1].last) if opened else section.last
        if last <= section.first:
            continue
        if section.level != len(opened) or last != section.last:
            section = Section(section.first, last, len(opened), section.title, section.folded, section.aside)
        found.append(section)
        opened.append(section)
    return found


def _last_text(lines: Sequence[str], first: int, last: int) -> int:
    """The last line with text in `first` … `last`."""
    while last > first and not lines[last].strip():
        last -= 1
    return last


def _python(lines: Sequence[str]) -> list[Section]:
    """Definitions at the margin, and those inside of a class."""
    return _definitions(lines, 0, len(lines), 0)


def _definitions(lines: Sequence[str], first: int, stop: int, level: int) -> list[Section]:
    """Definitions of one indentation, four blanks a level. A line that is further left ends one."""
    found: list[Section] = []
    margin, n = "    " * level, first
    while n < stop:
        line = lines[n]
        if not line.startswith(margin) or not _PYTHON.match(line, len(margin)):
            n += 1
            continue
        end = n + 1
        while end < stop and (not lines[end].strip() or lines[end].startswith((margin + " ", margin + ")"))):
            end += 1
        last = _last_text(lines, n, end - 1)
        if last > n:
            found.append(Section(n, last, level, short_title(line.strip().rstrip(":"))))
            if line.startswith("class ", len(margin)) and level < 4:
                found += _definitions(lines, n + 1, end, level + 1)
        n = end
    return found


def _output_code(lines: Sequence[str]) -> list[Section]:
    """Kernels, and between them the definitions of the wrapper."""
    found: list[Section] = []
    n = done = 0
    while n < len(lines):
        kernel = _KERNEL.match(lines[n]) if "async_compile." in lines[n] else None
        if kernel is None:
            n += 1
            continue
        found += _definitions(lines, done, n, 0)
        last = _kernel_end(lines, n)
        if last > n:
            found.append(Section(n, last, 0, short_title(f"{kernel[1]}  ({kernel[2]} kernel)")))
        n = done = last + 1
    found += _definitions(lines, done, len(lines), 0)
    return found


def _kernel_end(lines: Sequence[str], first: int) -> int:
    """The line that closes the string of a kernel, or its bracket where it has no string."""
    quote = next((quote for quote in ("'''", '"""') if quote in lines[first]), "")
    goes_on = lines[first].count(quote) == 1 if quote else lines[first].rstrip().endswith(("(", "[", "{", ","))
    if not goes_on:
        return first
    for n in range(first + 1, len(lines)):
        if _KERNEL.match(lines[n]):
            return first
        if quote in lines[n] if quote else lines[n][:1] in (")", "]", "}"):
            return n
    return first


def _cpp(lines: Sequence[str]) -> list[Section]:
    """Blocks whose first line and closing brace stand at the margin: functions, classes, namespaces."""
    found: list[Section] = []
    opened: list[int] = []
    head = -1
    for n, line in enumerate(lines):
        text = line.rstrip()
        if not text:
            continue
        if text.startswith("}"):
            head = -1
            if opened:
                first = opened.pop()
                title = lines[first].strip().rstrip("{( ")
                found.append(Section(first, n, len(opened), short_title(title)))
            continue
        at_margin = not text[0].isspace() and not text.startswith(("#", "//", "/*", "*"))
        if at_margin and (head < 0 or text[0] not in "{):"):
            head = n
        if head >= 0 and text.endswith("{"):
            opened.append(head)
            head = -1
        elif text.endswith(";"):
            head = -1
    return found


def _guards(lines: Sequence[str]) -> list[Section]:
    """The subtree of each manager."""
    tree = parse_guards(lines)
    ends = list(range(len(tree.nodes)))
    for n in range(len(tree.nodes) - 1, 0, -1):
        parent = tree.nodes[n].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[n])
    found = []
    for n, node in enumerate(tree.nodes):
        last = tree.nodes[ends[n]].line
        if last > node.line:
            title = " ".join(filter(None, (node.side, node.kind, node.source or node.expression)))
            found.append(Section(node.line, last, node.depth, short_title(title)))
    return found


def _traceback(lines: Sequence[str]) -> list[Section]:
    """Each traceback, and in it runs of the user's frames, of libraries' and of torch's; the latter two are closed."""
    found: list[Section] = []
    headers = [n for n, line in enumerate(lines) if _HEADER.match(line)]
    starts = headers if headers[:1] == [0] else [0, *headers]
    for first, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = _last_text(lines, first, stop - 1)
        level = 0
        if first in headers[:1] or first > 0:
            if last > first:
                found.append(Section(first, last, 0, short_title(lines[first].strip())))
            level = 1
        found += _frame_runs(lines, first, last, level)
    return found


@dataclass(slots=True)
class _Run:
    """Frames of one side, one directly below the other."""

    first: int
    last: int
    whose: str
    """Of whom the frames are, '' for the user's own."""
    frames: list[str]


def _frame_runs(lines: Sequence[str], first: int, last: int, level: int) -> list[Section]:
    """Runs of frames of one side. A frame is its `File` line and the deeper lines below it."""
    runs: list[_Run] = []
    n = first
    while n <= last:
        frame = _FRAME.match(lines[n])
        if frame is None:
            n += 1
            continue
        end = n + 1
        while end <= last and lines[end].startswith(frame[1] + "  ") and not _FRAME.match(lines[end]):
            end += 1
        whose = WHOSE[owner_of(frame[2])]
        if not (runs and runs[-1].whose == whose and runs[-1].last == n - 1):
            runs.append(_Run(n, n, whose, []))
        runs[-1].last = end - 1
        runs[-1].frames.append(f"{frame[4] or '?'}  {frame[2].rpartition('/')[2]}:{frame[3] or '?'}")
        n = end
    return [_run_section(run, level) for run in runs]


def _run_section(run: _Run, level: int) -> Section:
    if not run.whose:
        return Section(run.first, run.last, level, short_title("user: " + " › ".join(run.frames)))
    many = len(run.frames) >= FOLD_FRAMES
    what = f"{len(run.frames)} frames of {run.whose}" if many else f"a frame of {run.whose}"
    return Section(run.first, run.last, level, short_title(f"{what}: {run.frames[0]}"), many, many and run.whose == TORCH)


def _json(lines: Sequence[str]) -> list[Section]:
    """Objects and arrays that go over several lines, but for the outermost one. Works with any indentation."""
    found: list[Section] = []
    opened: list[tuple[int, str]] = []
    counts = [0]
    for n, line in enumerate(lines):
        text = line.strip()
        if text[:1] in ("}", "]") and opened:
            first, title = opened.pop()
            counts.pop()
            if opened and n > first:
                found.append(Section(first, n, len(opened) - 1, title))
        if text.endswith(("{", "[")):
            key = _JSON_KEY.match(line)
            opened.append((n, short_title(key[1]) if key else f"[{counts[-1]}]"))
            counts[-1] += 1
            counts.append(0)
        elif text[:1] not in ("}", "]", ""):
            counts[-1] += 1
    return found


def _ir(lines: Sequence[str]) -> list[Section]:
    """Nodes, the members of those that were fused, and loop bodies."""
    found: list[Section] = []
    waiting = [(node, 0) for node in reversed(parse_ir(lines))]
    while waiting:
        node, level = waiting.pop()
        last = _last_text(lines, node.first, node.last)
        if last > node.first:
            found.append(Section(node.first, last, level, short_title(f"{node.name}  {node.kind}")))
        if node.body is not None and node.body[1] > node.body[0]:
            found.append(Section(*node.body, level + 1, short_title(f"loop of {node.name}")))
        waiting += [(member, level + 1) for member in reversed(node.members)]
    return found


_FINDERS: dict[str, Callable[[Sequence[str]], list[Section]]] = {
    "output_code": _output_code,
    "python": _python,
    "cpp": _cpp,
    "guards": _guards,
    "ir": _ir,
    "traceback": _traceback,
    "json": _json,
}


def find_sections(language: str, lines: Sequence[str], inputs: Mapping[str, str] | None = None) -> Sequence[Section]:
    """The sections of a text in the order of their first lines; () for a language without. `inputs`: as `fx_sections` has them."""
    if language == "fx":
        return tuple(nested(fx_sections(lines, inputs)))
    finder = _FINDERS.get(language)
    return () if finder is None else tuple(nested(finder(lines)))
