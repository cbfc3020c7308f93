"""Pseudonyms: a consistent replacement for each name that is not torch's."""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping

from tltui.writers.redact.torch_words import COUNTED, is_firm, is_name, is_word

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


class Place(enum.Enum):
    """The place of a word in a text."""

    SENTENCE = enum.auto()
    """In a message of torch: all words of its messages stay."""
    CODE = enum.auto()
    """In code: a name that the user has too is the user's, unless it is one of torch's operators."""
    QUOTED = enum.auto()
    """Within quotes, behind a dot, in a path: the same, and words of messages alone do not stay."""


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


__all__ = ["Names", "Place"]
