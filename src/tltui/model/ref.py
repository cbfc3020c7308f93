"""Addresses: one string for every place in a run.

    [RANK[.PROCESS]:]ID[~EPOCH][_ATTEMPT][:ARTIFACT[#N]]      0/1   3:0/1_1   0/1~2   norank:2/0:inductor_output_code#2

ID is `F/C`, `aA/F/C` or `aA` with compiled autograd (torch writes `!A/F/C`), `F/` for a frame, or `none` for records
without an id (`[-/-]`). A lowering that exists only as a directory of `torch_compile_debug` has no id: its ID is `+NAME`, the
name of the directory (`+model__0_forward_1.0`), and it has no attempts. EPOCH counts from 1 how often ids began again
(`torch._dynamo.reset()`): every address of a process with several epochs has its own, and one without means the newest.
`RANK:` alone is a rank, `RANK.PROCESS:` a process (counted from 1, newest last). A page that is no record is `@name`, or
`@name:ADDRESS` when it is about a part of the run.
Brackets are accepted and never needed.
Names of artifacts are free text: characters that an address cannot contain are written `%XX`. `@L12` at the end of an
artifact's address is a line of it (`split_line`); as an address it means the artifact.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from typing import NamedTuple

from tltui.text.bad_input import BadInput
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

NORANK = -1
EXAMPLES = "0/1, 3:0/1_1, none, 0/1~2, 0/1:inductor_output_code, 2/0:aot_joint_graph#2"


class CompileId(NamedTuple):
    """torch's CompileId without the attempt, and which of the compiles with this id is meant. All None: a record without an id.

    What no id is known of has the name of its directory instead.
    """

    autograd: int | None = None
    frame: int | None = None
    compile: int | None = None
    epoch: int = 0
    """From 1; 0 in an address that does not name it, and of records without an id."""
    name: str = ""
    """The directory of a lowering whose id nothing tells; as it is in the file system, so it may hold anything."""

    def __str__(self) -> str:
        """As torch and tlparse print it, without brackets, and the epoch where it is named."""
        if self == NO_ID:
            return "-/-"
        epoch = f"~{self.epoch}" if self.epoch else ""
        if self.name:
            return f"{sanitize(self.name)}{epoch}"
        if self.autograd is None:
            return f"{_dash(self.frame)}/{_dash(self.compile)}{epoch}"
        if self.frame is None and self.compile is None:
            return f"!{self.autograd}{epoch}"
        return f"!{self.autograd}/{_dash(self.frame)}/{_dash(self.compile)}{epoch}"

    def of(self, epoch: int) -> CompileId:
        """Return the same id in another epoch; 0: without one."""
        if self.epoch == epoch or (self[:3] == NO_ID[:3] and not self.name):
            return self
        return CompileId(self.autograd, self.frame, self.compile, epoch, self.name)

    @property
    def bracketed(self) -> str:
        """`[0/1]`; a name needs no brackets."""
        return str(self) if self.name else f"[{self}]"

    @property
    def address(self) -> str:
        """As an address has it: no character that a shell would change."""
        if self.name:
            return f"+{_escaped(self.name, _PLAIN)}" + (f"~{self.epoch}" if self.epoch else "")
        return "none" if self == NO_ID else str(self).replace("!", "a")


NO_ID = CompileId()


def _dash(number: int | None) -> str:
    return "-" if number is None else str(number)


class BadAddress(BadInput):
    """An invalid, unknown or ambiguous address. The advice lists near addresses, or the candidates."""


class AmbiguousAddress(BadAddress):
    """An address with several meanings."""

    def __init__(self, ref: Ref | str, candidates: str, option: str) -> None:
        super().__init__(f"ambiguous address: '{ref}'", f"use {candidates}")
        self.option = option
        """The option of a command that selects one, without dashes: `unit` or `rank`."""


@frozen
class Ref:
    """A parsed address. None: not given."""

    rank: int | None = None
    """`NORANK` for the processes without one."""
    process: int | None = None
    id: CompileId | None = None
    attempt: int | None = None
    artifact: str | None = None
    n: int | None = None
    """Which of the records of that name in the compile, from 1; of a `@record` page: which record of the log."""
    view: str = ""
    bare: bool = False
    """Of an id with a frame and no compile number: whether the records that say just that are meant, not the frame."""

    @property
    def is_frame(self) -> bool:
        """Whether a frame is meant: all compiles of one code object."""
        return self.id is not None and self.id[0] is None and self.id[1] is not None and self.id[2] is None and not self.bare

    def __str__(self) -> str:
        text = ""
        if self.rank is not None:
            text = "norank" if self.rank == NORANK else str(self.rank)
            text += f".{self.process}:" if self.process is not None else ":"
        if self.id is not None:
            epoch = f"~{self.id.epoch}" if self.id.epoch else ""
            text += f"{self.id.frame}/{epoch}" if self.is_frame else self.id.address
        if self.attempt is not None and not (self.id is not None and self.id.name):
            text += f"_{self.attempt}"
        if self.artifact is not None:
            text += f":{_escaped(self.artifact)}"
        if self.n is not None:
            text += f"#{self.n}"
        if self.view:
            return f"@{self.view}:{text}" if text else f"@{self.view}"
        return text

    def at(self, view: str) -> Ref:
        """Return the page `view` about the same place."""
        return replace(self, view=view)


_GRAMMAR = re.compile(
    r"""(?:@(?P<view>[a-z]+)(?::|\Z))?
        (?:(?P<rank>norank|\d{1,40})(?:\.(?P<process>\d{1,9}))?:(?!/))?
        (?P<id>\[?(?:none|-/-|-/\d{1,40}|[!a]\d{1,40}(?:/(?:\d{1,40}|-)/(?:\d{1,40}|-))?|\d{1,40}/(?:\d{1,40}|-)?)
            (?:~(?P<epoch>[1-9]\d{0,8}))?(?:_(?P<attempt>\d{1,40}))?\]?|(?:\+(?P<name>[^\s:~\#@/\[\]+]+)|(?P<directory>[A-Za-z]\w{0,200}__\d{1,9}_\w{1,200}\.\d{1,9}))
                (?:~(?P<again>[1-9]\d{0,8}))?)?
        (?::(?P<artifact>[^#]+))?(?:\#(?P<n>\d{1,18}))?\Z""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_SAFE = re.compile(r"[\w.:<>/()+-]*", re.ASCII)
_PLAIN = re.compile(r"[\w.-]*", re.ASCII)
_ESCAPE = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_LINE = re.compile(r"(?<=.)@L(\d{1,9})\Z", re.DOTALL)


def _escaped(name: str, safe: re.Pattern[str] = _SAFE) -> str:
    """Escape the characters of a name that end an address, that a shell splits at, and that a terminal interprets.

    With `_PLAIN`, escape all characters but letters and digits.
    """
    if safe.fullmatch(name):
        return name
    return "".join(
        "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
        if character in "%#@" or character.isspace() or sanitize(character) != character
        or (safe is _PLAIN and not safe.fullmatch(character) and not character.isalnum())
        else character
        for character in name
    )  # fmt: skip


def _unescaped(text: str) -> str:
    def decoded(match: re.Match[str]) -> str:
        try:
            return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return match[0]

    return _ESCAPE.sub(decoded, text)


def at_line(ref: Ref | str, line: int) -> str:
    """Return the link target of a line of an artifact, from 1: `0/0:dynamo_cpp_guards_str@L12`."""
    return f"{ref}@L{line}"


def split_line(target: str) -> tuple[str, int | None]:
    """`0/0:dynamo_cpp_guards_str@L12` → the address, and 12; None where no line is named."""
    match = _LINE.search(target)
    return (target, None) if match is None else (target[: match.start()], int(match[1]))


def parse_ref(text: str) -> Ref:
    """Parse an address; a line in it is dropped. Raises `BadAddress`."""
    text, _ = split_line(text.strip())
    match = _GRAMMAR.match(text)
    lost = match and not match["view"] and (
        (match["id"] is None and match["artifact"]) or (match["artifact"] is None and match["n"])
    )  # fmt: skip
    if match is None or lost:
        raise BadAddress(f"not an address: {text!r}", f"examples: {EXAMPLES}")
    rank = None if match["rank"] is None else NORANK if match["rank"] == "norank" else int(match["rank"])
    return Ref(
        rank,
        _number(match["process"]),
        _compile_id(match["id"], match["name"] or match["directory"], int(match["epoch"] or match["again"] or 0)),
        _number(match["attempt"]),
        None if match["artifact"] is None else _unescaped(match["artifact"]),
        _number(match["n"]),
        match["view"] or "",
        bare=bool(_BARE.match(match["id"] or "")),
    )


def named_in(ref: Ref) -> list[Ref]:
    """Return an address and the addresses in it: that of a comparison has two, separated by a blank."""
    refs = [ref]
    for text in (ref.artifact or "").split(" ") if ref.view else ():
        try:
            refs.append(parse_ref(text))
        except BadAddress:
            continue
    return refs


_BARE = re.compile(r"\[?\d+/-")


def diff_ref(left: Ref | str, right: Ref | str) -> str:
    """Return the address of the comparison of two nodes."""
    return str(Ref(view="diff", artifact=f"{left} {right}"))


def _number(text: str | None) -> int | None:
    return None if text is None or text == "-" else int(text)


def _compile_id(text: str | None, name: str | None, epoch: int) -> CompileId | None:
    if text is None:
        return None
    if name is not None:
        return CompileId(epoch=epoch, name=_unescaped(name))
    text = text.strip("[]").partition("_")[0].partition("~")[0]
    if text in ("none", "-/-"):
        return NO_ID
    parts = text.lstrip("!a").split("/")
    if text[0] in "!a":
        numbers = [_number(part) for part in parts]
        compile_id = CompileId(numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else CompileId(numbers[0])
    else:
        compile_id = CompileId(None, _number(parts[0]), _number(parts[1] or None))
    return compile_id.of(epoch)


SHOWN = 12
"""Ranges that are written out."""


BUT = 3
"""Ranks that may be missing where the others are of an even distance: those of one device of each node."""


LISTED = 65_536
"""Maximum numbers that are listed of ranges: a log may have any number as its rank."""


Range = tuple[int, int]
"""The first and the last number of a range."""


class Ranks(tuple[int, ...]):
    """Rank numbers, ascending, each once. As text they are their ranges: `0–6, 8–511`."""

    __slots__ = ()

    def __new__(cls, ranks: Iterable[int] = ()) -> Ranks:
        """Sort the numbers."""
        return super().__new__(cls, sorted(set(ranks)))

    def __str__(self) -> str:
        return ranges(self)

    def __json__(self) -> list[int]:
        """Return the JSON form."""
        return list(self)


def listed(runs: Iterable[Range]) -> Ranks:
    """Return the numbers of ranges, at most `LISTED`."""
    return Ranks(islice(chain.from_iterable(range(first, last + 1) for first, last in runs), LISTED))


def counted(runs: Iterable[Range]) -> int:
    """Return how many numbers ranges have."""
    return sum(last - first + 1 for first, last in runs)


def and_more(ranks: Ranks, count: int) -> str:
    """Write the first of `count` ranks: `0–65535 and 1,000 more`."""
    return f"{ranks} and {count - len(ranks):,} more" if count > len(ranks) else str(ranks)


def ranges(ranks: Iterable[int]) -> str:
    """Format numbers in ascending order, consecutive ones as a range.

    Many ranges of an even distance become `every 8th of 2–506`, `every 8th of 2–506 but 122`, or, for the missing numbers,
    `0–511 but every 8th of 2–506`.
    """
    runs: list[Range] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], rank
        else:
            runs.append((rank, rank))
    return range_text(runs)


def gaps(numbers: Collection[int]) -> list[Range]:
    """Return the ranges between 0 and the largest number that contain none of the numbers.

    A log may have any number as its rank, so time and memory depend on how many numbers there are, never on how large they are.
    """
    ordered = sorted({-1, *numbers})
    return [(a + 1, b - 1) for a, b in pairwise(ordered) if b - a > 1]


def range_text(runs: Sequence[Range]) -> str:
    """Write ranges that ascend and do not touch one another, as `ranges` does."""
    if len(runs) > SHOWN:
        if even := _even(runs):
            return even
        first, last = runs[0][0], runs[-1][1]
        if even := _even([(a + 1, b - 1) for (_, a), (b, _) in pairwise(runs)]):
            return f"{first}–{last} but {even}"
    texts = [f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs[:SHOWN]]
    remaining = sum(b - a + 1 for a, b in runs[SHOWN:])
    return ", ".join(texts) + (f" and {remaining:,} more" if remaining else "")


def shortened(text: str, width: int) -> str:
    """Crop the text of `ranges` after the last range that ends within `width`. A single range is never cropped."""
    end = text.rfind(",", 0, width)
    return text if len(text) <= width or end < 0 else f"{text[:end]} …"


def is_several(ranks: Ranks | str) -> bool:
    """Return whether there is more than one rank, or a text of `ranges` has more than one."""
    return any(sign in ranks for sign in "–, ") if isinstance(ranks, str) else len(ranks) > 1


def with_noun(ranks: Ranks | str) -> str:
    """Return `rank 7`, `ranks 0–6, 8–511` for ranks or a text of `ranges`."""
    return f"{'ranks' if is_several(ranks) else 'rank'} {ranks}"


def _even(runs: Sequence[Range]) -> str:
    """Numbers of an even distance, but a few that are missing; '' for others."""
    if any(a != b for a, b in runs):
        return ""
    numbers = [number for number, _ in runs]
    first, last = numbers[0], numbers[-1]
    step = min((b - a for a, b in pairwise(numbers)), default=0)
    if step < 2 or any((number - first) % step for number in numbers) or (last - first) // step + 1 - len(numbers) > BUT:
        return ""
    missing = sorted(set(range(first, last + 1, step)).difference(numbers))
    but = f" but {', '.join(map(str, missing))}" if missing else ""
    suffix = "th" if 10 <= step % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(step % 10, "th")
    return f"every {step}{suffix} of {first}–{last}{but}"
