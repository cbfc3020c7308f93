"""What in a trace is the user's: paths, functions, classes, attributes, variables, lines of source, accounts and hosts.

A first pass over the records collects it, so that the second one (`redact`) replaces the same thing in the same way everywhere.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tltui.analyses.redact.words import PUBLIC, kept_words

PATH = re.compile(r"(?<![\w.\-/<>*+@~])/(?:[\w.\-+@~]+/)*[\w.\-+@~]*\w|\b[A-Za-z]:\\+(?:[\w.\-+@~ ]+\\+)*[\w.\-+@~]+")
"""An absolute path of two components or more is taken for one; a lone `/x` may be a division."""
FILE_LINE = re.compile(r'^([ \t|]*)File "([^"\n]+)", line \d+(?:, in ([^\n]+))?$', re.MULTILINE)
COMMENT = re.compile(r"File: (?P<path>[^\n]+?):(?P<line>\d+) in (?P<fn>[^\s,]+), code: (?P<code>[^\n]*)")
GUARDED = re.compile(r"(?P<before> {2}# )(?P<code>[^\n]*?)(?P<after> {2}# (?P<path>[^\n#]+?):\d+ in (?P<fn>\S+))")
_IN = re.compile(r"([\w./\-+@~]+\.\w+):\d+ in ([\w<>.]+)")
_CLASS = re.compile(r"<class '([\w.<>]+)'>")
_SOURCE = re.compile(r"\b[LG]\['(\w+)'\]((?:\.\w+|\['\w+'\]|\[\d+\])*)")
_RESUME = re.compile(r"torch_dynamo_resume_in_(\w+?)_at_\d+")
_VOCABULARY = re.compile(r"\b(?:torch|aten|prims|ops|F|nn|triton|tl|extern_kernels|inductor_prims)((?:\.\w+)+)")
_METHOD = re.compile(r"\.(\w+)\(")
_SELF = re.compile(r"\bself\.(\w+)")
_ASSIGNED = re.compile(r"^\s*([A-Za-z_][\w, ]*?)\s*(?::[^=]+)?=(?!=)")
_DEF = re.compile(r"\b(?:def|class)\s+(\w+)\s*\(?([^)]*)")
_FOR = re.compile(r"\bfor\s+([\w, ()]+?)\s+in\b")
_LITERAL = re.compile(r"""'([^'\n]{6,})'|"([^"\n]{6,})\"""")
_ACCOUNT = re.compile(r"(?:/home/|/Users/|torchinductor_|\\Users\\+)([\w.\-]+)")
_HOST = re.compile(
    r"\b(?:[a-z]+://)([\w.\-]+)"  # an address on the net
    r"|\b([\w\-]+(?:\.[\w\-]+)*\.(?:internal|local|lan|corp|cluster|svc))\b"
    r"|[\w.+\-]+@([\w\-]+(?:\.[\w\-]+)+)"  # of a mail
)
_ADDRESS = re.compile(r"(?<![\d.])(?!127\.0\.0\.1)(?!0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_PUBLIC_HOST = re.compile(r"(?:^|\.)(?:pytorch\.org|github\.com|python\.org|github\.io|google\.com|localhost)$")
WORD = re.compile(r"[^\W\d]\w*")
_PACKAGED = re.compile(r".*[/\\](?:site|dist)-packages[/\\]+([\w\-]+)")
_STDLIB = re.compile(r".*[/\\]lib[/\\]python\d[^/\\]*[/\\](?!site-packages|dist-packages)")
_OWN_TORCH = re.compile(
    r".*/torch/(?:_\w+|fx|nn|autograd|utils|optim|distributed|cuda|export|ao|jit)/"
    r"|^torch/"
)
_LIKE_TORCH = re.compile(
    r"^(?:_(?:dynamo|inductor|functorch|subclasses|higher_order_ops|export|decomp|refs|prims|prims_common|library|logging|guards)/"
    r"|fx/|nn/(?:modules|utils|attention|parallel)/|nn/(?:functional|parameter|init)\.py|autograd/|optim/\w+\.py|utils/_\w+"
    r"|utils/(?:checkpoint|hooks)\.py|distributed/(?:_\w+|fsdp|tensor)/)"
)
"""How guards name torch's own files. The user may have such files too: then there is a full path that ends in it."""
_SYSTEM = re.compile(r"/(?:usr|proc|sys|dev|bin|etc)(?:/|$)|/redacted/|/$")


def is_public(path: str) -> bool:
    """Whether a file is one of torch, of Python or of a well-known package: its lines are no secret."""
    if match := _PACKAGED.match(path):
        return match[1] in PUBLIC
    if path.startswith("<") or _OWN_TORCH.match(path):
        return True
    return bool(_STDLIB.match(path) or _SYSTEM.match(path))


def _tail(path: str) -> str:
    """The file with the directory that it is in."""
    return "/".join(re.split(r"[/\\]+", path)[-2:])


def strings_of(value: Any, deep: int = 0) -> Iterator[str]:
    """All strings of a JSON value, also those of JSON within strings."""
    if isinstance(value, str):
        inner = nested_json(value) if deep < 6 else None
        if inner is None:
            yield value
        else:
            yield from strings_of(inner, deep + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from strings_of(item, deep)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item, deep)


def nested_json(text: str) -> Any:
    """The object or list that a text is as JSON; None for any other text."""
    if text[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


class Learned:
    """What was found. `names`, `lines` and so on keep the order in which they were met: numbering is stable."""

    def __init__(self, strings: Mapping[int, str] | None = None) -> None:
        self.table: Mapping[int, str] = strings or {}
        """The string table of the process whose records are learned."""
        self.kept = kept_words()
        self.paths: dict[str, None] = {}
        self.names: dict[str, None] = {}
        self.lines: dict[str, None] = {}
        self.literals: dict[str, None] = {}
        self.people: dict[str, None] = {}
        """Accounts and hosts."""
        self._tails: set[str] = set()
        self._unsure: list[tuple[str, str, str]] = []
        """Places in files that may be torch's."""

    def is_public(self, path: str) -> bool:
        """Like the function of this name; a short path is the user's if a full one of theirs ends in it."""
        if _LIKE_TORCH.match(path):
            return _tail(path) not in self._tails
        return is_public(path)

    def finish(self) -> None:
        """Drop names that turned out to be words of torch or of the log. To be called after the last record."""
        for path, function, code in self._unsure:
            if not self.is_public(path):
                self._place(path, function, code)
        self._unsure.clear()
        self.names = {name: None for name in self.names if name not in self.kept}
        self.people = {name: None for name in self.people if name not in self.kept}

    def value(self, value: Any) -> None:
        """Learn from an envelope or another JSON value."""
        self._frames(value)
        for text in strings_of(value):
            self.text(text)

    def envelope(self, envelope: Mapping[str, Any]) -> None:
        """An envelope: its keys and those of configurations in it are words of the log."""
        self.kept.update(envelope)
        for event in envelope.values():
            if not isinstance(event, Mapping):
                continue
            self.kept.update(event)
            for key, item in event.items():
                if key.endswith("_config") and isinstance(item, str) and isinstance(config := nested_json(item), Mapping):
                    self.kept.update(word for option in config for word in WORD.findall(option))
        self.value(dict(envelope))

    def _frames(self, value: Any) -> None:
        if isinstance(value, Mapping):
            if isinstance(value.get("name"), str) and isinstance(value.get("filename"), (int, str)) and "line" in value:
                file = value["filename"]
                path = file if isinstance(file, str) else self.table.get(file, "?")
                self._place(path, value["name"], str(value.get("loc") or ""))
            if isinstance(value.get("co_name"), str):
                self._place(str(value.get("co_filename") or "?"), value["co_name"], "")
            for item in value.values():
                self._frames(item)
        elif isinstance(value, list):
            for item in value:
                self._frames(item)

    def _place(self, path: str, function: str, code: str) -> None:
        """A function of a file and one of its lines."""
        if self.is_public(path):
            if _LIKE_TORCH.match(path):
                self._unsure.append((path, function, code))
            return
        self._path(path)
        for word in WORD.findall(_RESUME.sub(r"\1", function)):
            self.name(word)
        self.line(code)

    def name(self, word: str) -> None:
        """A name that the user chose. Those of one and two letters, and those with two underscores around, stay."""
        if len(word) > 2 and not (word.startswith("__") and word.endswith("__")) and WORD.fullmatch(word):
            self.names.setdefault(word)

    def line(self, code: str) -> None:
        """A line of the user's source, and the names in it."""
        code = code.strip()
        if not code:
            return
        self.lines.setdefault(code)
        words = _SELF.findall(code)
        for pattern in (_ASSIGNED, _FOR):
            if match := pattern.search(code):
                words += WORD.findall(match[1])
        if match := _DEF.search(code):
            words += [match[1], *WORD.findall(match[2])]
        for word in words:
            self.name(word)
        for single, double in _LITERAL.findall(code):
            if " " in (text := single or double).strip():
                self.literals.setdefault(text)

    def _path(self, path: str) -> None:
        if is_public(path) or len(path) < 3:
            return
        self.paths.setdefault(path)
        self._tails.add(_tail(path))
        for part in re.split(r"[/\\]+", path):
            stem = part.partition(".")[0] if part.rpartition(".")[2] in ("py", "pyc", "ipynb", "log") else part
            for word in WORD.findall(stem.replace("-", " ")):
                self.name(word)

    def text(self, text: str) -> None:
        """Learn from a text."""
        if "/" in text or "\\" in text:
            self._paths_in(text)
        for match in _CLASS.finditer(text):
            first, *rest = match[1].split(".")
            if rest and first not in PUBLIC and first not in sys.stdlib_module_names - {"__main__"}:
                for word in (first, *rest):
                    self.name(word)
        for match in _SOURCE.finditer(text):
            self.name(match[1])
            for word in WORD.findall(match[2]):
                if not word.startswith("_"):
                    self.name(word)
        for match in _RESUME.finditer(text):
            self.name(match[1])
        for match in _VOCABULARY.finditer(text):
            self.kept.update(match[1][1:].split("."))
        for match in _HOST.finditer(text):
            host = next(group for group in match.groups() if group) if any(match.groups()) else ""
            if host and not _PUBLIC_HOST.search(host):
                self.people.setdefault(host.strip("."))
        for match in _ADDRESS.finditer(text):
            self.people.setdefault(match[0])

    def _paths_in(self, text: str) -> None:
        for match in PATH.finditer(text):
            if match[0].count("/") + match[0].count("\\") > 1:
                self._path(match[0])
        for match in _ACCOUNT.finditer(text):
            if match[1].strip("."):
                self.people.setdefault(match[1].strip("."))
        for match in FILE_LINE.finditer(text):
            if not is_public(match[2]):
                self._place(match[2], match[3] or "", "")
                for code in code_after(text, match.end(), len(match[1])):
                    self.line(code)
        for pattern in (COMMENT, GUARDED):
            for match in pattern.finditer(text):
                self._place(match["path"], match["fn"], match["code"])
        for match in _IN.finditer(text):
            self._place(match[1], match[2], "")

    def graph(self, text: str) -> None:
        """A graph calls nothing but torch: the methods in it are torch's words."""
        for line in text.split("\n"):
            if not line.lstrip().startswith("#"):
                self.kept.update(_METHOD.findall(line))


def code_after(text: str, at: int, indent: int) -> Iterator[str]:
    """The lines of source below a `File "…"` line of a traceback: those that are indented deeper."""
    while at < len(text) and text[at] == "\n":
        end = text.find("\n", at + 1)
        end = len(text) if end < 0 else end
        line = text[at + 1 : end]
        bare = line.lstrip(" \t|")
        if len(line) - len(bare) <= indent or not bare or bare.startswith('File "'):
            return
        if set(bare) - set("^~ "):
            yield line
        at = end
