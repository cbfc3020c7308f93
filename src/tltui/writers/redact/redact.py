"""Redaction of a trace: everything not known to be torch's is replaced consistently, names by pseudonyms."""

from __future__ import annotations

import enum
import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping

from tltui.text.frozen import frozen
from tltui.writers.redact.torch_words import (
    COUNTED,
    NUMBER,
    PUBLIC,
    ending,
    is_firm,
    is_name,
    is_torch_tail,
    is_word,
    replaced,
    vocabulary,
)
from tltui.writers.redact.user_names import (
    FILE_SIGN,
    NAME,
    NAMESPACES,
    PUBLIC_HOST,
    RESUME,
    STACKED,
    STACKED_SIGN,
    Learned,
    commented,
    is_marks,
    nested_json,
    source_lines,
)

_COMPOSED = re.compile(
    r"_*[lLgGsS]_|_*(?:fwd|bwd|aot|aot\d+|wrapped|getattr|submod|subgraph|primals|tangents|partition|wrap|cond|true|false|body|call|self|is|const"
    r"|cached|torch|import|builtins|compiled|resume|closure|triton|cpp|cuda|mps|pallas|halide|extern_kernels|vllm|aoti|aoti_torch|(?:arg|buf|tmp|x|r|y)\d*)_"
    r"|[a-z]+_fused_"
)
"""The beginning of a name that torch composed of others."""
_OVERLOADED = re.compile(
    r"(\w+?)_(?:default|int|[tT]ensor|[sS]calar|self|out|dim|float|bool|str|list|dimname|dim_int_list|dim_IntList|input|start|end|mode|msg)"
)
"""The name of a node that calls an overload: `sym_size_int`."""
_COMPILED = re.compile(r"(__compiled_fn_\d+)_\w+")
_PUT = (
    "self modules parameters buffers args kwargs stack import dot builtins dict closure compiled resume fn cls instance type co "
    "const super base class subclass code defaults kwdefaults func partial keywords"
)
_TORCHS = frozenset(_PUT.split())
"""Words that torch puts between names of the user."""

_HASH = re.compile(r"[a-zA-Z0-9+/=]{32,}")
_LONGEST = 400
"""Letters of the longest name that is looked at part by part."""
KEYED = 10**15
"""Numbers are below that where they are made with a key."""
_PARTS = 12
"""Parts of the longest name that is looked for within others."""

_JSON = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]')
_DECODER = json.JSONDecoder(strict=False)
_TOKEN = re.compile(
    r"""(?P<url>(?<![A-Za-z0-9+.\-])[a-zA-Z][a-zA-Z0-9+.\-]{1,15}://[^\s'"<>`)\]},;]+)"""
    r"""|(?P<place>(?<![\w./\\\-+@~:])[\w./\\\-+@~:]+:\d+ in [\w<>.]+)"""
    r"""|(?P<path>(?<![\w.\-/<>*+@~])(?:/(?:[\w.\-+@~]+/)+[\w.\-+@~]*\w|[A-Za-z]:\\+(?:[\w.\-+@~]+\\+)*[\w.\-+@~]+))"""
    r"""|(?P<mail>(?<![\w.+\-])[\w.+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8})"""
    r"""|(?P<uuid>(?<![\w\-])[0-9a-zA-Z]{8}(?:-[0-9a-zA-Z]{4}){3}-[0-9a-zA-Z]{12}(?![\w\-]))"""
    r"""|(?P<mac>(?<![\w:\-])[0-9a-fA-F]{2}(?:[:\-][0-9a-fA-F]{2}){5}(?![\w:\-]))"""
    r"""|(?P<ip6>(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:]))"""
    r"""|(?P<ip4>(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]))"""
    r"""|(?P<quoted>(?<![\w\\])(?:'(?:[^'\\\n]|\\.)+'|"(?:[^"\\\n]|\\.)+"))"""
    r"""|(?P<file>(?<![\w./\\\-+@~])[\w\-+@~]{1,100}(?:\.[\w\-+@~]{1,50}){0,3}\."""
    r"""(?:pyc?|ipynb|cpp|cu|ya?ml|toml|json|log|txt|sh|pth?|so)(?![\w\-]))"""
    r"""|(?P<short>(?<![\w./\\\-+@~])[\w.\-+@~]+(?:[/\\][\w.\-+@~]+)+)"""
    r"""|(?P<hyphened>(?<![\w\-])[^\W\d]\w*(?:-\w+)+)"""
    r"""|(?P<word>\w+(?:(?:\.|::)[^\W\d]\w*)*)"""
)
_TYPE = re.compile(r"\*?(?:Sym\(.*\)|[a-zA-Z]{1,5}\d{0,2}(?:\[[^\]]*\])*\w*)")
_CODE = re.compile(r"[\w.:<>\[\](){}/\\=,*&%@$|+~^!?;#]+|.*['\"\\].*|origins=OrderedSet\(\[[\w, ]*\]\)")
"""A string that is read word by word: without blanks, or with strings in it; and what a node of the scheduler is made of."""
_NO_VALUE = frozenset(("", "None", "none", "null", "unknown", "True", "False", "default", "0"))
_OPAQUE = (
    "job_name job_id tags tag hostname host user username owner mast_job_name entitlement oncall team email url "
    "remote_cache_version jobname run_id experiment project workspace token"
)
_USERS = frozenset(_OPAQUE.split())
"""Keys of JSON whose values always belong to the user."""
REMEMBERED = 1000
"""Characters of a string up to which its substitute is cached: the same few are in thousands of records."""
STRINGS = 1 << 16
"""Maximum cached strings of JSON."""
EMBEDDED = 8
"""Minimum characters of a line of source that is replaced within a text too."""
_WORDS = re.compile(r"[\w ]+")
_CALL = re.compile(r"torch\.[\w.]+\(\)")
"""Calls that torch's messages quote too."""
_STATEMENT = re.compile(r"(?:assert|if|elif|while|for|return|raise|with|def|class|import|from) ")
"""The kind of a statement, which stays: `assert anon line 4`."""
_START = re.compile(r"(?<![\w`])(?=\S)")
_LINES = frozenset(("loc", "code"))
_BEFORE = frozenset(".'\"[/\\@=%`:")
_AFTER = frozenset("]/\\@=`")
_PYTHON = frozenset(("fx", "output_code", "cpp", "guards", "python", "bytecode"))


class Place(enum.Enum):
    """The place of a word in a text."""

    SENTENCE = enum.auto()
    """In a message of torch: all words of its messages stay."""
    CODE = enum.auto()
    """In code: a name that the user has too is the user's, unless it is one of torch's operators."""
    QUOTED = enum.auto()
    """Within quotes, behind a dot, in a path: the same, and words of messages alone do not stay."""


@frozen
class Redacted:
    """How many different things of each kind were replaced."""

    paths: int
    lines: int
    names: int
    people: int
    """Accounts, hosts, addresses on the net."""
    texts: int
    """String constants and values of settings that are not torch's."""


class Names:
    """The substitutes. One for the whole bundle."""

    def __init__(self, user: Mapping[str, None], key: bytes = b"") -> None:
        """Set the names of the user, and the key of the hashes by which they are numbered (b"": they are counted).

        With the same key the logs of a job get the same numbers, and without the key nobody can find out a name by trying.
        """
        self._user = user
        self._key = key
        self._numbers: dict[str, str] = {}
        self._replaced: dict[tuple[str, Place], str] = {}
        self.used: dict[str, None] = {}
        """Names that were replaced."""

    @property
    def substitutes(self) -> Mapping[str, str]:
        """Replaced text → its substitute."""
        return self._numbers

    def anon(self, text: str) -> str:
        """Return the substitute of a text; that of a hash is long, as cache keys are recognised by their length."""
        number = self.number(text, len(self._numbers) + 1)
        return self._numbers.setdefault(text, f"anon{number:08}" if _HASH.fullmatch(text) else f"anon{number}")

    def number(self, text: str, count: int) -> int:
        """Return the number of the `count`-th replaced text."""
        if not self._key:
            return count
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=8).digest()
        return int.from_bytes(digest, "little") % KEYED

    def name(self, word: str) -> str:
        """Replace a name, even if torch has the same one."""
        self.used.setdefault(word)
        return self.anon(word)

    def word(self, word: str, place: Place) -> str:
        """Replace a name or a word, depending on its place."""
        substitute = self._replaced.get((word, place))
        if substitute is None:
            substitute = self._replaced[word, place] = self._word(word, place)
        return substitute

    def _word(self, word: str, place: Place) -> str:
        if len(word) > _LONGEST:
            return self.name(word)
        if is_firm(word):
            return word
        if word in self._user and place is not Place.SENTENCE:
            return self.name(word)
        base = COUNTED.sub("", word)
        if base in self._user and place is not Place.SENTENCE and word[len(base)] == "_":
            return self.name(base) + word[len(base) :]
        if is_name(word) or (is_word(word) and place is not Place.QUOTED):
            return word
        if word in self._user:
            return self.name(word)
        if base and base != word and (base in self._user or word[len(base)] == "_"):
            return self._word(base, place) + word[len(base) :]
        return self._compound(word)

    def _compound(self, word: str) -> str:
        """Replace the user's parts of a name that torch composed; any other name as a whole."""
        if match := _COMPILED.fullmatch(word):
            return f"{match[1]}_{self.name(word)}"
        is_composed = _COMPOSED.match(word) is not None
        if (match := _OVERLOADED.fullmatch(word)) and is_firm(match[1]):
            return word
        parts = word.split("_")
        out: list[str] = []
        unknown: list[str] = []
        has_users = False
        at = 0
        while at < len(parts):
            length, is_users = self._longest_name(parts, at)
            has_users = has_users or is_users
            if length and unknown:
                out.append(self.name("_".join(unknown)))
                unknown.clear()
            name = "_".join(parts[at : at + length])
            if length:
                out.append(self.name(name) if is_users else name)
            else:
                unknown.append(parts[at])
            at += length or 1
        if not is_composed and not has_users:
            return self.name(word)
        if unknown:
            out.append(self.name("_".join(unknown)))
        return "_".join(out)

    def _longest_name(self, parts: list[str], at: int) -> tuple[int, bool]:
        """Return the length of the longest name that begins at a part, in parts, and whether it is the user's."""
        for length in range(min(_PARTS, len(parts) - at), 0, -1):
            name = "_".join(parts[at : at + length])
            if name in self._user:
                return length, True
            if not name or name in _TORCHS or is_name(name):
                return length, False
        return 0, False


class Redactor:
    """Replacement of everything that is not torch's. One for the whole bundle: a name has one substitute in all its files."""

    def __init__(self, learned: Learned, key: bytes = b"") -> None:
        """Prepare the replacement of the learned texts; `key`: see `Names`."""
        learned.finish()
        self.learned = learned
        self.names = Names(learned.names, key)
        self._lines = {line: f"anon line {self.names.number(line, count)}" for count, line in enumerate(learned.lines, 1)}
        self._embedded: dict[str, list[int]] = {}
        for line in learned.lines:
            if EMBEDDED <= len(line) <= 400 and not _WORDS.fullmatch(line) and not _CALL.fullmatch(line):
                lengths = self._embedded.setdefault(line[:EMBEDDED], [])
                if len(line) not in lengths and len(lengths) < 64:
                    lengths.append(len(line))
                    lengths.sort(reverse=True)
        self._used: dict[str, set[str]] = {kind: set() for kind in ("paths", "lines", "people", "texts")}
        self._redacted: dict[tuple[str, bool], str] = {}
        self._strings: dict[tuple[str, str, bool], str] = {}
        """A string of JSON as it is written, its key, whether it is a key → its substitute."""
        people = sorted(learned.people, key=len, reverse=True)[:500]  # of more the words go, as of everything
        self._people = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, people))})(?![A-Za-z0-9])") if people else None

    @property
    def counts(self) -> Redacted:
        """Counts of the texts that were replaced so far."""
        return Redacted(names=len(self.names.used), **{kind: len(texts) for kind, texts in self._used.items()})

    def payload(self, text: str, language: str = "text") -> str:
        """Redact a payload, JSON or not."""
        return self.json(text) if nested_json(text) is not None else self.text(text, language in _PYTHON)

    def json(self, text: str, key: str = "") -> str:
        """Redact the strings of a JSON text under `key`; everything else stays as it was written."""
        keys = [key]
        out = []
        end = 0
        strings = self._strings
        for match in _JSON.finditer(text):
            sign = match[0]
            if sign in "{[":
                keys.append(keys[-1])
            elif sign in "}]":
                if len(keys) > 1:
                    keys.pop()
            else:
                written, key, is_key = f'"{match[1]}"', keys[-1], match[2] is not None
                new = strings.get((written, key, is_key)) or self._remembered(written, key, is_key)
                if is_key:
                    keys[-1] = match[1]
                if new != written:
                    out += [text[end : match.start()], new]
                    end = match.start() + len(written)
        return "".join((*out, text[end:]))

    def _remembered(self, written: str, key: str, is_key: bool) -> str:
        """Replace a string of JSON, and cache the substitute unless strings of this kind hardly repeat."""
        new = self._string(written, key, is_key)
        if len(written) < REMEMBERED and key != "has_payload":
            if len(self._strings) >= STRINGS:
                self._strings.clear()
            self._strings[written, key, is_key] = new
        return new

    def _string(self, written: str, key: str, is_key: bool) -> str:
        try:
            inner = _DECODER.decode(written) if "\\" in written else written[1:-1]
        except ValueError:
            return '""'
        if is_key:
            new = self.text(inner, True)
        elif key == "has_payload":
            return written
        elif key in _LINES:
            new = self._line(inner)
        elif key in _USERS:
            new = self._opaque(inner)
        elif nested_json(inner) is not None:
            new = self.json(inner, key)
        else:
            new = self._value(inner)
        return written if new == inner else json.dumps(new)

    def _value(self, text: str) -> str:
        """Redact a string of JSON: a text if it is more than a name."""
        if text in self.learned.torch_functions:
            return text
        return self.text(text, " " not in text)

    def text(self, text: str, code: bool = False) -> str:
        """Redact any other text. `code`: whether its words are names; else it is a message of torch."""
        if FILE_SIGN not in text:
            if "\n" not in text:
                return self._plain(text, code)
            return "\n".join([self._plain(line, code) for line in text.split("\n")])
        out = []
        for line, file, above in source_lines(text):
            if file is not None:
                out.append(self._file_line(line, file))
            elif above is None or is_marks(line):
                out.append(self._plain(line, code))
            elif self.learned.is_public(above[2]):
                out.append(line)
            else:
                bare = line.strip(" \t|")
                out.append(line.replace(bare, self._line(bare)))
        return "\n".join(out)

    def _file_line(self, line: str, match: re.Match[str]) -> str:
        function = match[3] or ""
        start = line[: match.start(2)] + self.path(match[2])
        if not function:
            return start + line[match.end(2) :]
        return start + line[match.end(2) : match.start(3)] + self._function(match[2], function)

    def _function(self, path: str, function: str) -> str:
        return function if self.learned.is_public(path) else self.text(function, True)

    def _line(self, code: str) -> str:
        """Replace a whole line of source, unless it is torch's."""
        bare = code.strip()
        if not bare or bare in self.learned.torch_lines:
            return code
        self._used["lines"].add(bare)
        statement = _STATEMENT.match(bare)
        return (statement[0] if statement else "") + self._lines.setdefault(
            bare, f"anon line {self.names.number(bare, len(self._lines) + 1)}"
        )

    def _plain(self, line: str, code: bool) -> str:
        redacted = self._redacted.get((line, code))
        if redacted is None:
            redacted = self._commented(line, code)
            if len(line) < REMEMBERED:
                self._redacted[line, code] = redacted
        return redacted

    def _commented(self, line: str, code: bool) -> str:
        """Redact a line that may have source in it."""
        if STACKED_SIGN in line and (match := STACKED.search(line)) is not None:
            where = self._function(match[3], match[2])
            return f"{self._tokens(line[: match.start()], code)}{match[1]}{where}, Filename: {self.path(match[3])}"
        out = []
        end = 0
        for comment in commented(line):
            source = line[comment.start : comment.end]
            source = source if self.learned.is_public(comment.path) else self._line(source)
            out += [self._tokens(line[end : comment.start], code), source]
            end = comment.end
        return "".join((*out, self._tokens(line[end:], code)))

    def _place(self, text: str) -> str:
        """Redact a place in source: `m.py:4 in f`."""
        file, _, function = text.rpartition(" in ")
        path, _, line = file.rpartition(":")
        return f"{self._short(path)}:{line} in {self._function(path, function)}"

    def _tokens(self, text: str, code: bool) -> str:
        """Redact a text without a whole line of source, but possibly with one embedded."""
        if not self._embedded or len(text) < EMBEDDED:
            return self._words(text, code)
        out = []
        end = 0
        first = 0 if not code else min((at for at in map(text.find, "'\"#") if at >= 0), default=len(text))
        for match in _START.finditer(text, first):
            at = match.start()
            lengths = self._embedded.get(text[at : at + EMBEDDED]) if at >= end else None
            for length in lengths or ():
                if text[at : at + length] in self._lines:
                    out += [self._words(text[end:at], code), self._line(text[at : at + length])]
                    end = at + length
                    break
        return "".join((*out, self._words(text[end:], code)))

    def _words(self, text: str, code: bool) -> str:
        if self._people is not None:
            text = self._people.sub(self._person, text)

        def token(match: re.Match[str]) -> str:
            kind = match.lastgroup
            if kind == "word":
                return self._dotted(match, code)
            redact: Callable[[str], str] = getattr(self, f"_{kind}")
            return redact(match[0])

        return _TOKEN.sub(token, text)

    def _person(self, match: re.Match[str]) -> str:
        self._used["people"].add(match[0])
        return self.names.anon(match[0])

    def _dotted(self, match: re.Match[str], code: bool) -> str:
        """Redact `torch.ops.acme.blend.default`, `L` or `train.py` word by word."""
        text = match[0]
        if "." not in text and ":" not in text:
            start, end = match.span()
            around = match.string
            quoted = around[max(start - 1, 0) : start] in _BEFORE or around[end : end + 1] in _AFTER
            return self._number(text, Place.QUOTED if quoted else Place.CODE if code or not text[0].isalpha() else Place.SENTENCE)
        return self._parts(re.split(r"(\.|::)", text))

    def _number(self, word: str, place: Place = Place.QUOTED) -> str:
        if not word[0].isdigit():
            return self._name(word, place)
        _, _, rest = word.partition("_")
        return word if NUMBER.fullmatch(word) or is_name(word) or (rest and is_name(rest)) else self._secret(word)

    def _name(self, word: str, place: Place) -> str:
        if match := RESUME.match(word):
            return f"{word[: match.start(1)]}{self.names.word(match[1], Place.QUOTED)}{word[match.end(1) :]}"
        return self.names.word(word, place)

    def _parts(self, parts: list[str]) -> str:
        """Redact a dotted name, split with its separators; the names of torch's own modules stay."""
        names = parts[::2]
        public = names[0] in PUBLIC or names[0] in NAMESPACES or names[0] in sys.stdlib_module_names
        if names[:2] == ["torch", "ops"] and len(names) > 2:
            public = names[2] in NAMESPACES
        elif "torch" in names[:-2] and "ops" in names:
            public = False
        new = [name if public and is_word(name) else self._number(name) for name in names]
        parts[::2] = new
        return "".join(parts)

    def _secret(self, text: str) -> str:
        self._used["texts"].add(text)
        return self.names.anon(text)

    def _opaque(self, text: str) -> str:
        """Replace a value that belongs to the user by its key."""
        return text if text in _NO_VALUE or NUMBER.fullmatch(text) else self._secret(text)

    def _quoted(self, text: str) -> str:
        """Redact a string constant: word by word if it is code, else all of it or nothing."""
        sign, inner = text[0], text[1:-1]
        words = NAME.findall(inner)
        if not words or inner[:1] == "/" or _TYPE.fullmatch(inner) or _CODE.fullmatch(inner):
            return sign + self._tokens(inner, True) + sign
        if all(map(is_name, words)) and ("-" not in inner or inner in vocabulary().names):
            return text
        if len(words) > 3 and all(map(is_word, words)):
            return text
        return sign + self._secret(inner) + sign

    def _file(self, text: str) -> str:
        """Redact the name of a file without a directory."""
        stem, suffix = ending(text)
        if text in self.learned.files:
            return self.names.anon(stem) + suffix
        return re.sub(r"\w+", lambda m: self._number(m[0]), stem) + suffix

    def _hyphened(self, text: str) -> str:
        if text in vocabulary().names or (all(map(is_word, NAME.findall(text))) and not re.search(r"\d", text)):
            return text
        return self._secret(text) if re.search(r"\d", text) else "-".join(self._number(word) for word in text.split("-"))

    def _url(self, text: str) -> str:
        scheme, _, rest = text.partition("://")
        host, slash, after = rest.partition("/")
        if PUBLIC_HOST.fullmatch(host.partition(":")[0]):
            after = re.sub(r"\w+", lambda m: self._number(m[0]), after)
            return f"{scheme}://{host}{slash}{after}"
        self._used["people"].add(host)
        parts = [self.names.anon(part) if part else "" for part in after.partition("?")[0].split("/")]
        return f"{scheme}://{self.names.anon(host)}{slash}{'/'.join(parts)}"

    def _mail(self, text: str) -> str:
        self._used["people"].add(text)
        name, _, host = text.partition("@")
        return f"{self.names.anon(name)}@{self.names.anon(host)}"

    def _address(self, text: str) -> str:
        self._used["people"].add(text)
        return self.names.anon(text)

    def _ip4(self, text: str) -> str:
        return text if text in ("127.0.0.1", "0.0.0.0") else self._address(text)

    def _ip6(self, text: str) -> str:
        groups = [group for group in text.split(":") if group]
        if len(groups) >= 3 and (text.count(":") > 3 or "::" in text):
            return self._address(text)
        return re.sub(r"\w+", lambda m: self._number(m[0]), text)

    _uuid = _mac = _address

    def path(self, path: str) -> str:
        """Redact a path, part by part."""
        if not path.startswith("<") and self.learned.is_public(path) and "/" not in path[:1]:
            return path
        if path.startswith("<"):
            return path if self.learned.is_public(path) else re.sub(r"\w+", lambda m: self._number(m[0]), path)
        new = replaced(path, self.names.anon)
        if new != path:
            self._used["paths"].add(path)
        return new

    _path = path

    def _short(self, text: str) -> str:
        """Redact a path without its beginning, a quotient or the address of a compile."""
        if text.rstrip(".") == "eager/uncompiled":  # in a hint of torch's
            return text
        if not ending(text)[1]:
            return re.sub(r"\w+", lambda m: self._number(m[0]), text)
        if is_torch_tail(text) and self.learned.is_public(text):
            return text
        if text.partition("/")[0] in PUBLIC and all(map(is_name, NAME.findall(text))):
            return text
        return self.path(text)


__all__ = ["Learned", "Redacted", "Redactor"]
