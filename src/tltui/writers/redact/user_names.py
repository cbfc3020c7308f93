"""Names, files and lines of the user, learned from a trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tltui.writers.redact.patterns import NAME, PLACE, RESUME, STACKED, commented, is_marks, source_lines, values_of
from tltui.writers.redact.torch_files import ending, is_public, is_torch_tail, parts_of, tail
from tltui.writers.redact.torch_words import PUBLIC, is_firm, is_name, is_word

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
_NAMESPACES = (
    "aten prims prim rngprims inductor inductor_prims debugprims _c10d_functional _c10d_functional_autograd c10d c10d_functional "
    "higher_order quantized quantized_decomposed mkldnn mkldnn_prepacked onednn fsdp symm_mem streams torchvision torchaudio "
    "_quantized profiler flex_lib _dtensor dtensor autograd c10 at std torch triton xnnpack sparse cudnn export fbgemm "
    "_inductor_test inductor_utils helion vllm pyg torch_ipex bitsandbytes flash_attn xformers"
)
NAMESPACES = frozenset(_NAMESPACES.split())
"""Namespaces of operators that are torch's or of packages that everybody knows."""


class Learned:
    """What was found, in the order in which it was met: numbering is stable."""

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
        """What stands in files of torch and Python."""
        self.files: set[str] = set()
        """Names of the user's files."""
        self._tails: set[str] = set()
        self._unsure: list[tuple[str, str, str]] = []

    def is_public(self, path: str) -> bool:
        """Whether a file is none of the user's; a short path is theirs if a full one of theirs ends in it."""
        return is_public(path) or (is_torch_tail(path) and tail(path) not in self._tails)

    def finish(self) -> None:
        """Decide what had to wait for all records, and drop what is no name of the user's. To be called after the last record."""
        for path, function, code in self._unsure:
            self._place(path, function, code, True)
        self._unsure.clear()
        self.lines = {line: None for line in self.lines if line not in self.torch_lines}
        self.people = {name: None for name in self.people if not all(map(is_word, NAME.findall(name))) or re.search(r"\d", name)}

    def value(self, value: Any) -> None:
        """Learn from an envelope or another JSON value."""
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
        """A function of a file and one of its lines."""
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
        """A name that the user chose."""
        if not is_firm(word) and not (word.startswith("_") and is_name(word)):
            self.names.setdefault(word)

    def line(self, code: str) -> None:
        """A line of the user's source, and the names in it."""
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
        """A path of the user's, and the names in it."""
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
        for match in _CLASS.finditer(text):
            first, *rest = match[1].split(".")
            if first not in PUBLIC and (first == "__main__" or not is_name(first)):
                for word in (first, *rest):
                    self.name(word)
        for match in _SOURCE.finditer(text):
            torchs = match[1] in PUBLIC or match[1].startswith(("__import_torch", "__builtins"))
            for word in (match[1], *NAME.findall(match[2])):
                if not (word.startswith("_") or (torchs and is_name(word))):
                    self.name(word)
        for match in _OPERATOR.finditer(text):
            space, name = match[1] or match[3], match[2] or match[4]
            if space not in NAMESPACES and not is_name(space):
                self.name(space)
                self.name(name)
        for match in _HOST.finditer(text):
            if not PUBLIC_HOST.fullmatch(match[1]):
                self.people.setdefault(match[1].strip("."))
        self._places_in(text)

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
            elif stacked := STACKED.search(line):
                self._place(stacked[3], stacked[2], "")
            else:
                for found in commented(line):
                    self._place(found.path, found.function, line[found.start : found.end])
                for match in PLACE.finditer(line):
                    self._place(match[1], match[3], "")
