"""Names, files and lines of the user, learned from a trace by the patterns of source locations in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from tltui.writers.redact.torch_words import (
    PUBLIC,
    ending,
    is_firm,
    is_name,
    is_public,
    is_torch_tail,
    is_word,
    parts_of,
    tail,
)

FILE_SIGN = 'File "'
"""Part of every line that `FILE_LINE` matches: a text without it is not searched line by line."""
FILE_LINE = re.compile(r'([ \t|]*)File "([^"\n]+)", line \d+(?:, in ([^\n]+))?$')
STACKED_SIGN = "Line: "
"""Part of every line that `STACKED` matches."""
STACKED = re.compile(r"(Line: \d+, Name: )([^\n]{1,500}), Filename: ([^\n]+)$")
PLACE = re.compile(r"(?<![\w./\\\-+@~:])([\w./\\\-+@~:]+):(\d+) in ([\w<>.]+)")
NAME = re.compile(r"[^\W\d]\w*")
RESUME = re.compile(r"torch_dynamo_resume_in_(\w+?)_at_\d{1,7}(?=$|_ORIGINAL|_MODIFIED|_\d)")
_DEEPEST = 6
_SIGN = "  # "
_AND = ") and "
_CAUSE = "Caused by: "
_PATH = re.compile(r"(?<![\w.\-/<>*+@~])/(?:[\w.\-+@~]+/)+[\w.\-+@~]*\w")
_CLASS = re.compile(r"<class '([\w.<>]+)'>")
_SOURCE = re.compile(r"\b[LG]\['(\w+)'\]((?:\.\w+|\['\w+'\]|\[\d+\])*)")
_OPERATOR = re.compile(r"\btorch\.ops\.(\w+)\.(\w+)|(?<![\w:])([a-zA-Z_]\w*)::(\w+)(?![\w:(<])")
_SELF = re.compile(r"\bself\.(\w+)")
_DEF = re.compile(r"\b(?:def|class)\s+(\w+)\s*\(?([^)]*)")
_FOR = re.compile(r"\bfor ([^\n]{1,120}?) in ")
_HOST = re.compile(r"(?<![A-Za-z0-9+.\-])[a-z][a-z0-9+.\-]{1,15}://(?:[^\s/@]{1,100}@)?([\w.\-]{1,200})")
PUBLIC_HOST = re.compile(
    r"(?:[\w\-]+\.){0,4}(?:pytorch\.org|github\.com|python\.org|github\.io|google\.com)|localhost|127\.0\.0\.1|0\.0\.0\.0"
)
DIGEST_SIZE = 32
"""Bytes of the digest of a learned text, and characters of a text up to which it stands for itself."""
TEXTS = 1 << 18
"""Learned texts that are remembered."""
_NAMESPACES = (
    "aten prims prim rngprims inductor inductor_prims debugprims _c10d_functional _c10d_functional_autograd c10d c10d_functional "
    "higher_order quantized quantized_decomposed mkldnn mkldnn_prepacked onednn fsdp symm_mem streams torchvision torchaudio "
    "_quantized profiler flex_lib _dtensor dtensor autograd c10 at std torch triton xnnpack sparse cudnn export fbgemm "
    "_inductor_test inductor_utils helion vllm pyg torch_ipex bitsandbytes flash_attn xformers"
)
NAMESPACES = frozenset(_NAMESPACES.split())
"""Namespaces of operators that are torch's or of packages that everybody knows."""


class Commented(NamedTuple):
    """A line of source that torch wrote as a comment on its result."""

    start: int
    end: int
    path: str
    function: str


def commented(line: str) -> list[Commented]:
    """Return the source in `# File: /x/m.py:4 in f, code: y = x` or, possibly several, in `…  # y = x  # m.py:4 in f`."""
    at = line.find(", code: ")
    if at >= 0 and (start := line.find("File: ", 0, at)) >= 0:
        path, _, function = line[start + 6 : at].rpartition(" in ")
        return [Commented(at + 8, len(line), path.rpartition(":")[0], function)]
    comments = []
    end = line.find(_SIGN)
    cause = line.find(_CAUSE, 0, end)
    before: int | None = cause + len(_CAUSE) if cause >= 0 else None
    while end >= 0:
        start = end + len(_SIGN)
        place = PLACE.match(line, start)
        if place is not None and before is not None:
            comments.append(Commented(before, end, place[1], place[3]))
        end = line.find(_SIGN, start)
        joined = line.rfind(_AND, start, max(end, start))
        before = start if place is None else joined + len(_AND) if joined >= 0 else place.end()
    return comments


def source_lines(text: str) -> Iterator[tuple[str, re.Match[str] | None, re.Match[str] | None]]:
    """Yield each line with its match if it is a `File "…"` of a traceback, and with that of the `File` whose source line it is."""
    above: re.Match[str] | None = None
    for line in text.split("\n"):
        if FILE_SIGN in line and (file := FILE_LINE.match(line)) is not None:
            above = file
            yield line, file, None
            continue
        bare = line.lstrip(" \t|")
        if above is not None and (not bare or len(line) - len(bare) <= len(above[1])):
            above = None
        yield line, None, above


def is_marks(line: str) -> bool:
    """Return whether a line only points into the line above it: `~~~^^^`."""
    return not set(line.strip()) - set("^~ |")


def nested_json(text: str) -> Any:
    """Parse a text that is a JSON object or list; return None for any other text."""
    if text[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def values_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every object and string in a JSON value with its key, including those of JSON within strings."""
    rest: list[tuple[str, Any, int]] = [("", value, 0)]
    while rest:
        key, item, deep = rest.pop()
        if isinstance(item, str):
            inner = nested_json(item) if deep < _DEEPEST else None
            if inner is None:
                yield key, item
            else:
                rest.append((key, inner, deep + 1))
        elif isinstance(item, Mapping):
            yield key, item
            rest.extend((str(name), inner, deep) for name, inner in reversed(list(item.items())))
        elif isinstance(item, list):
            rest.extend((key, inner, deep) for inner in reversed(item))


class Learned:
    """The user's names, lines and files, in the order of the trace, so that numbering is stable."""

    def __init__(self, strings: Mapping[int, str] | None = None) -> None:
        self.table: Mapping[int, str] = strings or {}
        """The string table of the process whose records are learned."""
        self.names: dict[str, None] = {}
        """Names that the user chose, unless torch's operators and modules have them too."""
        self.lines: dict[str, None] = {}
        """Lines of the user's source."""
        self.people: dict[str, None] = {}
        """Accounts and hosts."""
        self.torch_lines: set[str] = set()
        self.torch_functions: set[str] = set()
        """Functions in files of torch and Python."""
        self.files: set[str] = set()
        """Names of the user's files."""
        self._tails: set[str] = set()
        self._texts: set[str | bytes] = set()
        """Texts that were learned, long ones by their digest."""
        self._unsure: list[tuple[str, str, str]] = []

    def is_public(self, path: str) -> bool:
        """Return whether a file is not the user's; a short path is theirs if one of their full paths ends in it."""
        return is_public(path) or (is_torch_tail(path) and tail(path) not in self._tails)

    def finish(self) -> None:
        """Decide the ambiguous places, and drop words that are not the user's. To be called after the last record."""
        for path, function, code in self._unsure:
            self._place(path, function, code, True)
        self._unsure.clear()
        self.lines = {line: None for line in self.lines if line not in self.torch_lines}
        self.people = {name: None for name in self.people if not all(map(is_word, NAME.findall(name))) or re.search(r"\d", name)}

    def value(self, value: Any) -> None:
        """Learn from a JSON value, such as an envelope."""
        for _, item in values_of(value):
            if isinstance(item, str):
                self.text(item)
                continue
            file = item.get("filename")
            if isinstance(item.get("name"), str) and isinstance(file, (int, str)) and "line" in item:
                path = file if isinstance(file, str) else self.table.get(file, "?")
                self._place(path, item["name"], str(item.get("loc") or ""))
            if isinstance(item.get("co_name"), str):
                self._place(str(item.get("co_filename") or "?"), item["co_name"], "")

    def _place(self, path: str, function: str, code: str, decided: bool = False) -> None:
        """Learn a function of a file and one of its lines."""
        code = code.strip()
        if not decided and not is_public(path) and is_torch_tail(path):
            self._unsure.append((path, function, code))
        elif self.is_public(path):
            self.torch_functions.add(function)
            if code:
                self.torch_lines.add(code)
        else:
            self.path(path)
            for word in NAME.findall(RESUME.sub(r"\1", function)):
                self.name(word)
            self.line(code)

    def name(self, word: str) -> None:
        """Learn a name that the user chose."""
        if not is_firm(word) and not (word.startswith("_") and is_name(word)):
            self.names.setdefault(word)

    def line(self, code: str) -> None:
        """Learn a line of the user's source, and the names in it."""
        code = code.strip()
        if not code or is_marks(code):
            return
        self.lines.setdefault(code)
        words = _SELF.findall(code)
        left, _, right = code.partition("=")
        if right and right[0] != "=" and left[-1:] not in "!<>" and "(" not in left:
            words += NAME.findall(left.partition(":")[0])
        if match := _FOR.search(code):
            words += NAME.findall(match[1])
        if match := _DEF.search(code):
            words += [match[1], *NAME.findall(match[2])]
        for word in words:
            self.name(word)
        for word in NAME.findall(code):
            if not is_word(word):
                self.name(word)

    def path(self, path: str) -> None:
        """Learn a path of the user's, and the names in it."""
        if is_public(path) or len(path) < 3:
            return
        self._tails.add(tail(path))
        parts = parts_of(path)
        for part in parts:
            stem, suffix = ending(part)
            if suffix:
                self.files.add(part)
            for word in NAME.findall(stem.replace("-", " ")):
                if not is_name(word):
                    self.name(word)

    def text(self, text: str) -> None:
        """Learn from a text."""
        if self._has_learned(text):
            return
        for match in _CLASS.finditer(text) if "<class '" in text else ():
            first, *rest = match[1].split(".")
            if first not in PUBLIC and (first == "__main__" or not is_name(first)):
                for word in (first, *rest):
                    self.name(word)
        for match in _SOURCE.finditer(text) if "['" in text else ():
            torchs = match[1] in PUBLIC or match[1].startswith(("__import_torch", "__builtins"))
            for word in (match[1], *NAME.findall(match[2])):
                if not (word.startswith("_") or (torchs and is_name(word))):
                    self.name(word)
        for match in _OPERATOR.finditer(text) if "::" in text or "torch.ops." in text else ():
            space, name = match[1] or match[3], match[2] or match[4]
            if space not in NAMESPACES and not is_name(space):
                self.name(space)
                self.name(name)
        for match in _HOST.finditer(text) if "://" in text else ():
            if not PUBLIC_HOST.fullmatch(match[1]):
                self.people.setdefault(match[1].strip("."))
        self._places_in(text)

    def _has_learned(self, text: str) -> bool:
        """Remember a text as learned; return whether it already was."""
        key = text if len(text) <= DIGEST_SIZE else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()
        if key in self._texts:
            return True
        if len(self._texts) >= TEXTS:
            self._texts.clear()
        self._texts.add(key)
        return False

    def _places_in(self, text: str) -> None:
        if "/" in text:
            for match in _PATH.finditer(text):
                self.path(match[0])
        if ":" not in text and "File " not in text:
            return
        for line, file, above in source_lines(text):
            if file is not None:
                self._place(file[2], file[3] or "", "")
            elif above is not None:
                if not is_marks(line):
                    self._place(above[2], above[3] or "", line.strip(" \t|"))
            elif STACKED_SIGN in line and (stacked := STACKED.search(line)):
                self._place(stacked[3], stacked[2], "")
            else:
                for comment in commented(line):
                    self._place(comment.path, comment.function, line[comment.start : comment.end])
                for match in PLACE.finditer(line) if " in " in line else ():
                    self._place(match[1], match[3], "")
