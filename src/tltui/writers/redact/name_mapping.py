"""Pseudonyms: a consistent replacement for each name that is not torch's."""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping

from tltui.writers.redact.torch_words import COUNTED, is_firm, is_name, is_word

_MADE = re.compile(
    r"_*[lLgGsS]_|_*(?:fwd|bwd|aot|aot\d+|wrapped|getattr|submod|subgraph|primals|tangents|partition|wrap|cond|true|false|body|call|self|is|const"
    r"|cached|torch|import|builtins|compiled|resume|closure|triton|cpp|cuda|mps|pallas|halide|extern_kernels|vllm|aoti|aoti_torch|(?:arg|buf|tmp|x|r|y)\d*)_"
    r"|[a-z]+_fused_"
)
"""How names begin that torch makes of others."""
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
"""What torch puts between the names of the user's."""

_HASH = re.compile(r"[a-zA-Z0-9+/=]{32,}")
_LONGEST = 400
"""Letters of the longest name that is looked at part by part."""
KEYED = 10**15
"""Numbers are below that where they are made with a key."""
_PARTS = 12
"""Parts of the longest name that is looked for within others."""


class Place(enum.Enum):
    """Where a word stands."""

    SENTENCE = enum.auto()
    """In what torch says: all words of its sentences stay."""
    CODE = enum.auto()
    """In code: a name that the user has too is the user's, unless it is one of torch's operators."""
    QUOTED = enum.auto()
    """Within quotes, behind a dot, in a path: the same, and words that only sentences have do not stay."""


class Names:
    """The substitutes. One for the whole bundle."""

    def __init__(self, user: Mapping[str, None], key: bytes = b"") -> None:
        """With a `key` a number is made of it and of what it stands for: several, each for a log of one job, then agree, and who
        does not have the key can find out nothing by trying. Without one they are counted."""
        self._user = user
        self._key = key
        self._numbers: dict[str, str] = {}
        self._replaced: dict[tuple[str, Place], str] = {}
        self.used: dict[str, None] = {}
        """Names that were replaced."""

    @property
    def substitutes(self) -> Mapping[str, str]:
        """Everything that was replaced and what stands for it."""
        return self._numbers

    def anon(self, text: str) -> str:
        """A substitute for whatever this is; one of a hash is long, as the keys of caches are known by that."""
        number = self.number(text, len(self._numbers) + 1)
        return self._numbers.setdefault(text, f"anon{number:08}" if _HASH.fullmatch(text) else f"anon{number}")

    def number(self, text: str, count: int) -> int:
        """The number of what is the `count`-th to be replaced."""
        if not self._key:
            return count
        own = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=8).digest()
        return int.from_bytes(own, "little") % KEYED

    def name(self, word: str) -> str:
        """A name that is replaced, whatever torch has of that name."""
        self.used.setdefault(word)
        return self.anon(word)

    def word(self, word: str, place: Place) -> str:
        """A name or a word, depending on where it stands."""
        known = self._replaced.get((word, place))
        if known is None:
            known = self._replaced[word, place] = self._word(word, place)
        return known

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
        """A name that torch made, part by part; one of which it does not look so as a whole."""
        if match := _COMPILED.fullmatch(word):
            return f"{match[1]}_{self.name(word)}"
        made = _MADE.match(word) is not None
        if (match := _OVERLOADED.fullmatch(word)) and is_firm(match[1]):
            return word
        parts = word.split("_")
        out: list[str] = []
        unknown: list[str] = []
        found = False
        at = 0
        while at < len(parts):
            taken, users = self._longest_name(parts, at)
            found = found or users
            if taken and unknown:
                out.append(self.name("_".join(unknown)))
                unknown.clear()
            here = "_".join(parts[at : at + taken])
            if taken:
                out.append(self.name(here) if users else here)
            else:
                unknown.append(parts[at])
            at += taken or 1
        if not made and not found:
            return self.name(word)
        if unknown:
            out.append(self.name("_".join(unknown)))
        return "_".join(out)

    def _longest_name(self, parts: list[str], at: int) -> tuple[int, bool]:
        """How many of the parts from here on are one name, and whether it is the user's; the most that are."""
        for taken in range(min(_PARTS, len(parts) - at), 0, -1):
            name = "_".join(parts[at : at + taken])
            if name in self._user:
                return taken, True
            if not name or name in _TORCHS or is_name(name):
                return taken, False
        return 0, False


__all__ = ["Names", "Place"]
