"""Compile time of the next process: the types of the answer."""

from __future__ import annotations

from tltui.text.frozen import frozen


@frozen
class KeptCache:
    """A cache that the next process can use."""

    cache: str
    files: str
    """Its files below the cache directory."""
    saved_s: float
    """Seconds of work that its entries make unnecessary, at most: loading them takes time."""
    compiles: int


@frozen
class RemainingTime:
    """Compile time that neither kept caches nor the repeated work of each process explains."""

    reason: str
    duration_s: float
    compiles: int


@frozen
class SizeChange:
    """A size that differed from the compile before."""

    source: str
    dim: int | None
    before: int | str
    """A text if it is an expression, '' if torch does not log it."""
    now: int | str


@frozen
class NewSize:
    """A recompilation for a size that was not compiled before."""

    ref: str
    function: str | None
    duration_s: float
    changes: tuple[SizeChange, ...]


@frozen
class ColdStart:
    """Compile time of the run, split by the work that the next process repeats."""

    compile_s: float
    """Seconds of all compiles; the next three add up to it."""
    cached_s: float
    """Seconds that kept caches save, at most."""
    repeated_s: float
    """Seconds of Dynamo and guards: only ahead-of-time compilation saves them."""
    rest_s: float
    saved_s: float
    """Seconds that hits of this run saved already, as torch estimates them."""
    caches: tuple[KeptCache, ...]
    rest: tuple[RemainingTime, ...]
    directories: tuple[str, ...]
    """Directories of Inductor's generated code, which are its cache directories; at most 8."""
    new_sizes: tuple[NewSize, ...]
    """The slowest first."""
    autotuned_s: float = 0.0
    """Seconds of the compiles in searches of autotuning; 0 for more compiles than are looked through."""
