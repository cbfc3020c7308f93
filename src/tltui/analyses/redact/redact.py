"""Replace what is the user's in a trace: consistently, so that the trace still reads and its structure stays.

`anon7` is the same name wherever it stood: as a function, in a path, in a guard, as a part of `l_self_modules_anon7_…`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from tltui.analyses.redact.learn import COMMENT, FILE_LINE, GUARDED, PATH, WORD, Learned, code_after, is_public, nested_json

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_LOC = re.compile(r'("loc": |"code": )("(?:[^"\\]|\\.)*")')
_CONSTANT = re.compile(r"(ConstantVariable\(str: )('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_PACKAGES = re.compile(r".*[/\\]((?:site|dist)-packages[/\\].*)")
_LIBRARY = re.compile(r".*[/\\](lib[/\\]python\d[^/\\]*[/\\].*)")
_CACHE = re.compile(r"(?:.*[/\\])?torchinductor_([^/\\]+)(.*)")
_TORCH = re.compile(r".*/(torch/.*)")
_FILE = re.compile(r"[\w\-]+\.(?:pyc?|ipynb|cpp|cu|cuh|h|log|ya?ml|json|toml|txt|sh|pt|so)\b")
_SPLIT = re.compile(r"([/\\]+)")
LINE_WORTH = 6
"""Letters from which on a line of source is replaced wherever it stands by itself."""
EMBEDDED = 8
"""The same where it stands within a sentence."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """How many different things of each kind were replaced."""

    paths: int
    lines: int
    names: int
    people: int
    """Accounts and hosts."""
    texts: int
    """Texts from the source: string constants."""


class Redactor:
    """Replaces everything that was learned. One for the whole bundle: a name has one substitute in all its files."""

    def __init__(self, learned: Learned) -> None:
        learned.finish()
        self._numbers: dict[str, str] = {}
        self.learned = learned
        self._used: dict[str, set[str]] = {kind: set() for kind in ("paths", "lines", "names", "people", "texts")}
        self._words = _Words(self)
        self._files = {path_name(path) for path in learned.paths}
        self._parts = _alternation(learned.names, r"(?<![A-Za-z0-9])(?:%s)(?![A-Za-z0-9])")
        self._people = _alternation(learned.people, r"(?<![A-Za-z0-9])(?:%s)(?![A-Za-z0-9])")
        self._literals = _alternation((*learned.literals, *(p for p in learned.paths if " " in p)), "(?:%s)")
        self._lines = {line: f"anon line {number}" for number, line in enumerate(learned.lines, 1)}
        self._by_word: dict[str, list[str]] = {}
        for line in learned.lines:
            if len(line) >= EMBEDDED and not line.isidentifier() and (words := WORD.findall(line)):
                self._by_word.setdefault(max(words, key=len), []).append(line)

    @property
    def counts(self) -> Redacted:
        """What was replaced so far."""
        return Redacted(**{kind: len(found) for kind, found in self._used.items()})

    def _anon(self, word: str) -> str:
        return self._numbers.setdefault(word, f"anon{len(self._numbers) + 1}")

    def json(self, text: str) -> str:
        """A JSON text: its strings are replaced, everything else stays as it was written."""
        text = _LOC.sub(lambda m: m[1] + json.dumps(self._loc(json.loads(m[2], strict=False))), text)
        return _STRING.sub(self._string, text)

    def _loc(self, code: str) -> str:
        return self._lines.get(code.strip(), code)

    def _string(self, match: re.Match[str]) -> str:
        try:
            inner = json.loads(match[0], strict=False)
        except ValueError:
            return match[0]
        new = self.json(inner) if nested_json(inner) is not None else self.text(inner)
        return match[0] if new == inner else json.dumps(new)

    def payload(self, text: str) -> str:
        """A payload, JSON or not."""
        return self.json(text) if nested_json(text) is not None else self.text(text)

    def text(self, text: str) -> str:
        """Any other text."""
        if len(text) < 3:
            return text
        text = self._source_lines(text)
        if self._literals is not None:
            text = self._literals.sub(self._counted("texts", lambda m: self._path(m[0]) if "/" in m[0] else "anon text"), text)
        if "ConstantVariable" in text:
            text = _CONSTANT.sub(self._counted("texts", lambda m: f"{m[1]}'anon text'"), text)
        if "/" in text or "\\" in text:
            text = PATH.sub(lambda m: self._path(m[0]), text)
        if "." in text:
            text = _FILE.sub(lambda m: self._file(m[0]) if m[0] in self._files else m[0], text)
        if self._people is not None:
            text = self._people.sub(self._counted("people", lambda m: self._anon(m[0])), text)
        return WORD.sub(lambda m: self._words[m[0]], text)

    def _counted(self, kind: str, replaced: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
        def replace(match: re.Match[str]) -> str:
            self._used[kind].add(match[0])
            return replaced(match)

        return replace

    def _source_lines(self, text: str) -> str:
        """Lines of the user's source: in comments of graphs and guards, below `File "…"`, and by themselves."""
        if ", code: " in text:
            text = COMMENT.sub(self._comment, text)
        if "  # " in text:
            text = GUARDED.sub(self._guard, text)
        out = []
        inside: set[str] = set()
        if 'File "' in text:
            for match in FILE_LINE.finditer(text):
                if not self.learned.is_public(match[2]):
                    inside.update(code_after(text, match.end(), len(match[1])))
        for line in text.split("\n"):
            bare = line.strip(" \t|")
            if bare in self._lines and (line in inside or (len(bare) >= LINE_WORTH and not bare.isidentifier())):
                self._used["lines"].add(bare)
                line = line.replace(bare, self._lines[bare])
            out.append(line)
        return self._embedded("\n".join(out))

    def _embedded(self, text: str) -> str:
        """Lines of source within a sentence. Only those are looked for whose longest word the text has."""
        if self._by_word.keys().isdisjoint(words := set(WORD.findall(text))):
            return text
        for word in self._by_word.keys() & words:
            for line in sorted(self._by_word[word], key=len, reverse=True):
                if line in text:
                    self._used["lines"].add(line)
                    text = text.replace(line, self._lines[line])
        return text

    def _comment(self, match: re.Match[str]) -> str:
        code = match["code"].strip()
        if self.learned.is_public(match["path"]) or not code:
            return match[0]
        self._used["lines"].add(code)
        return f"File: {match['path']}:{match['line']} in {match['fn']}, code: {self._lines.get(code, 'anon line')}"

    def _guard(self, match: re.Match[str]) -> str:
        code = match["code"].strip()
        if self.learned.is_public(match["path"]) or not code:
            return match[0]
        self._used["lines"].add(code)
        return match["before"] + self._lines.get(code, "anon line") + match["after"]

    def _path(self, path: str) -> str:
        if path.startswith("/redacted/"):
            return path
        for pattern in (_PACKAGES, _LIBRARY, _TORCH):
            match = pattern.match(path)
            if match and is_public(path):
                self._used["paths"].add(path)
                return f"/redacted/{match[1]}"
        if match := _CACHE.match(path):
            self._used["people"].add(match[1])
            return f"/tmp/torchinductor_anon{match[2]}"
        if is_public(path) or path.count("/") + path.count("\\") < 2:
            return path
        self._used["paths"].add(path)
        return "/redacted" + self.relative(path)

    def relative(self, path: str) -> str:
        """A path with all its parts replaced, also those that would be kept elsewhere."""
        *parts, last = _SPLIT.split(path)
        return "".join("/" if _SPLIT.fullmatch(p) else self._anon(p) if p else "" for p in parts) + self._file(last)

    def _file(self, name: str) -> str:
        stem, dot, suffix = name.rpartition(".")
        return self._anon(stem) + dot + suffix if stem else self._anon(name)


class _Words(dict[str, str]):
    """Word → what stands for it. Each different word is looked at once."""

    def __init__(self, owner: Redactor) -> None:
        super().__init__()
        self._owner = owner

    def __missing__(self, word: str) -> str:
        own = self._owner
        new = word
        if word in own.learned.names:
            own._used["names"].add(word)
            new = own._anon(word)
        elif "_" in word and own._parts is not None and word not in own.learned.kept:
            new = own._parts.sub(own._counted("names", lambda m: own._anon(m[0])), word)
        self[word] = new
        return new


def path_name(path: str) -> str:
    """The last part of a path."""
    return re.split(r"[/\\]", path)[-1]


def _alternation(words: object, frame: str) -> re.Pattern[str] | None:
    found = sorted((str(word) for word in words), key=len, reverse=True)  # type: ignore[attr-defined]
    return re.compile(frame % "|".join(map(re.escape, found))) if found else None


__all__ = ["Learned", "Redacted", "Redactor"]
