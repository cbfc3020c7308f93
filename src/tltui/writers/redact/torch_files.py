"""Source files of torch, and paths without user names."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from tltui.writers.redact.torch_words import PUBLIC, TRUSTED, vocabulary

SPLIT = re.compile(r"([/\\]+)")
FILE = re.compile(
    r"py[cix]?|ipynb|cpp|cc|cxx|cu|cuh|hpp|[cho]|log|ya?ml|json|toml|txt|sh|pth?|pt2|so|gz|zip|pkl|bin|safetensors|ptx|cubin|best_config"
)
"""What a file's name ends in. Another ending is a part of the name."""
_PACKAGED = re.compile(r"(?:^|.*[/\\])(?:site|dist)-packages[/\\]+([\w\-]+)")
_STDLIB = re.compile(r"(?:^|.*[/\\])python\d[\w.]*[/\\]+([A-Za-z_]\w*)(?=[/\\.])")
_TORCH = re.compile(r"(?:^|.*[/\\])(torch[/\\].*)")
_MADE = re.compile(r"<(?:eval_with_key>\.\d+|string>|stdin>|frozen [\w.]+>|unknown file>|built-in>)")
_KEPT = re.compile(
    r"lib(?:32|64)?|python\d[\d.]*|(?:site|dist)-packages|usr|opt|bin|home|Users|tmp|private|var|dev|proc|self|etc|null|local|share"
    r"|include|\.+|~|[A-Za-z]:"
)
"""Directories that every machine has."""
_CACHE = "torchinductor_"
_WITHIN = "nn optim fx utils autograd distributed export jit cuda amp func ao testing _dynamo _inductor _functorch _export"
_PACKAGES = frozenset(_WITHIN.split())
"""Packages within torch by which its files are told from the user's."""


def is_public(path: str) -> bool:
    """Whether a file is torch's, of a package that torch is made with, or Python's: its lines are no secret."""
    return _public_from(path) is not None


def _public_from(path: str) -> int | None:
    """Where in a path torch's or Python's part of it begins."""
    if path.startswith("<"):
        return 0 if _MADE.fullmatch(path) else None
    if match := _PACKAGED.match(path):
        return match.start(1) if match[1] in TRUSTED else None
    if match := _STDLIB.match(path):
        return match.start(1) if match[1] in sys.stdlib_module_names else None
    match = _TORCH.match(path)
    return match.start(1) if match and match[1].replace("\\", "/") in vocabulary().files else None


def is_torch_tail(path: str) -> bool:
    """Whether a path of which the beginning is missing, as guards name files, can be torch's."""
    return path.replace("\\", "/") in vocabulary().tails


def tail(path: str) -> str:
    """The file with the directory that it is in."""
    return "/".join(parts_of(path)[-2:])


def parts_of(path: str) -> list[str]:
    """The names in a path."""
    return [part for part in SPLIT.split(path) if part and not SPLIT.fullmatch(part)]


def ending(name: str) -> tuple[str, str]:
    """A file's name without its ending, and that with its dot: `('x', '.py')`; of a name without one `(name, '')`."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if stem and FILE.fullmatch(suffix) else (name, "")


def replaced(path: str, anon: Callable[[str], str]) -> str:
    """The path with what `anon` makes of its parts; what is torch's or Python's of it stays."""
    start = _public_from(path)
    out = []
    pieces = SPLIT.split(path if start is None else path[:start])
    before = ""
    cached = False
    for number, piece in enumerate(pieces):
        if not piece or SPLIT.fullmatch(piece):
            out.append(piece)
            continue
        after = pieces[number + 2] if number + 2 < len(pieces) else ""
        out.append(_part(piece, before, after, anon, cached))
        before = piece
        cached = cached or piece.startswith(_CACHE)
    return "".join(out) + ("" if start is None else path[start:])


def _part(piece: str, before: str, after: str, anon: Callable[[str], str], cached: bool) -> str:
    """One part of a path, between two others; `cached`: within Inductor's cache."""
    stem, suffix = ending(piece)
    if _KEPT.fullmatch(piece) or piece.isdigit() or (cached and len(stem) <= 2):
        return piece
    if before.endswith("-packages") and stem in PUBLIC:
        return piece
    if (piece == "torch" and after in _PACKAGES) or (before == "torch" and piece in _PACKAGES):
        return piece  # a checkout of torch, of a version that nobody knows
    if piece.startswith(_CACHE):
        return _CACHE + anon(piece.removeprefix(_CACHE))
    return anon(stem) + suffix
