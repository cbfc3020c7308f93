"""Profiles of torch.profiler: recognised, and read into columns."""

from __future__ import annotations

import json
import os
import re
import stat
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import compress
from operator import add as add_up
from typing import IO, Any, Protocol

from tltui.inputs.archives import BLOCK, COMPRESSED, packing_of
from tltui.inputs.archives.decompress import Allowance, CannotUnpack, Plain, Stream, unpacked
from tltui.text.frozen import mutable
from tltui.text.json_codec import JSONDecodeError, loads

CHUNK = 1 << 16
"""Bytes that are read at a time: their events fit into a processor's cache, which those of a megabyte do not."""
STEP = 1 << 20
"""Bytes of a file between two reports of how much is read."""
NEAR, FAR = 1 << 12, 1 << 16
"""Bytes before the end of a block in which a boundary between two events is looked for first, and then."""
LONGEST = 16 << 20
"""Bytes of one event, or of what stands beside the events, that are looked at."""
GUESSES = 6
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_AGAIN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts)"\s*:)')
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
"""A string, a bracket, or the beginning of a string that goes on."""
_KEY = re.compile(rb"\s*:\s*")
_BLANK = b" \t\r\n"
_SCALAR = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,\[\]{}"]+', re.DOTALL)
_SKIP = re.compile(rb"[\s,]*")


_LONG = re.compile(rb'"ts"\s*:\s*\d{14,}\.\d')
_TIME = re.compile(rb'("(?:ts|dur)"\s*:\s*)(\d{1,18}\.\d{1,3})(?=\s*[,}])')


class Source(Protocol):
    """Bytes that are read from front to end."""

    def read(self, size: int, /) -> bytes:
        """At most so many, none at the end."""


class Events:
    """The events of an open file. Not to be used twice."""

    def __init__(self, file: Source, block: int = CHUNK) -> None:
        self._file, self._block = file, block
        self._rest = b""
        self._is_over = False
        """Whether the file has come to its end."""
        self.head: dict[str, Any] = {}
        """What stands beside the events, as far as it is read."""
        self.damaged = 0
        self.is_cut = False
        """Whether the file ends before it is whole."""
        self.consumed = 0
        """Bytes that were read, unpacked."""
        self._is_long: bool | None = None
        """Whether times have more digits than a float: those since the epoch, of torch 2.3 and before. They are made text."""
        self._depth = 0
        """Brackets that are open around what is read."""

    def blocks(self) -> Iterator[list[Any]]:
        """Yield the events, some thousands at a time; [] for a piece of the file without a complete event."""
        while self._to_list():
            yield from self._list()

    # beside the events

    def _more(self) -> bool:
        """Read on; False at the end of the file."""
        data = self._file.read(self._block)
        self._is_over = not data
        self.consumed += len(data)
        self._rest += data
        return bool(data)

    def _to_list(self) -> bool:
        """Seek to the beginning of the next list of events and keep the text before it; return False if there is none."""
        depth, at = self._depth, 0
        while True:
            for match in _TOKEN.finditer(self._rest, at):
                token = match[0]
                if token == b'"':
                    break  # a string that goes on
                if token in (b"{", b"["):
                    depth += 1
                elif token in (b"}", b"]"):
                    depth -= 1
                elif depth <= 1 and token == b'"traceEvents"':
                    colon = _KEY.match(self._rest, match.end())
                    if colon is None and not self._rest[match.end() :].strip(_BLANK):
                        break
                    if colon is not None and colon.end() >= len(self._rest):
                        break
                    if colon is not None and self._rest[colon.end() : colon.end() + 1] == b"[":
                        self._keep(self._rest[: match.start()])
                        self._rest, self._depth = self._rest[colon.end() + 1 :], 1
                        return True
                at = match.end()
            if len(self._rest) > LONGEST:
                self._rest, at, depth = b"", 0, 1  # nobody's profile: what it is does not matter
            if not self._more():
                self._keep(self._rest)
                self.is_cut |= depth > 0
                self._rest = b""
                return False

    def _keep(self, text: bytes) -> None:
        """Keys and values of the object around the events."""
        text = text.removeprefix(b"\xef\xbb\xbf").strip(_BLANK + b",")
        text = text if text.startswith(b"{") else b"{" + text
        for end in (b"", b"}"):
            value = _parsed(text + end)
            if isinstance(value, dict):
                self.head.update(value)
                return

    # the events

    def _list(self) -> Iterator[list[Any]]:
        """Events up to the end of the list."""
        while True:
            block = self._guessed()
            if block is None:
                block, is_end = self._walked()
                yield block
                if is_end:
                    return
            else:
                yield block
            if not self._more():
                block, is_end = self._walked()
                yield block
                self.is_cut |= not is_end
                self._rest = self._rest if is_end else b""
                return

    def _guessed(self) -> list[Any] | None:
        """Parse complete events up to the last probable boundary between two events; None if no boundary fits."""
        end = len(self._rest)
        for _ in range(GUESSES):
            for size in (NEAR, FAR):
                places = [match.start() for match in _BETWEEN.finditer(self._rest, max(end - size, 0), end)]
                if places:
                    break
            else:
                return None
            for place in reversed(places[-2:]):
                try:
                    events = loads(b"[" + self._timed(self._rest[: place + 1]).lstrip(_BLANK + b",") + b"]")
                except JSONDecodeError:
                    continue
                self._rest = self._rest[place + 1 :]
                return events  # type: ignore[no-any-return]
            end = places[0] + 1
        return None

    def _timed(self, text: bytes) -> bytes:
        if self._is_long is None:
            self._is_long = _LONG.search(text, 0, 1 << 16) is not None
        return _TIME.sub(rb'\1"\2"', text) if self._is_long else text

    def _walked(self) -> tuple[list[Any], bool]:
        """Parse complete events one by one; return them and whether the list has ended."""
        events: list[Any] = []
        at = 0
        while True:
            at = _SKIP.match(self._rest, at).end()  # type: ignore[union-attr]
            sign = self._rest[at : at + 1]
            if sign == b"]":
                self._rest = self._rest[at + 1 :]
                return events, True
            end = _end(self._rest, at) if sign in (b"{", b"[") else -1
            event = _parsed(self._timed(self._rest[at:end])) if end > 0 else None
            if event is not None:
                events.append(event)
                at = end
                continue
            scalar = _SCALAR.match(self._rest, at) if end < 0 and sign not in (b"{", b"[") else None
            if scalar is not None and scalar.end() < len(self._rest):
                events.append(None)  # no object, so no event
                at = scalar.end()
                continue
            again = _AGAIN.search(self._rest, at) if sign else None
            if again is None:
                break
            self.damaged += 1
            at = again.end()
        if len(self._rest) - at > LONGEST:
            self.damaged += 1
            at = len(self._rest)
        self._rest = self._rest[at:]
        return events, False


def _end(text: bytes, at: int) -> int:
    """Return the end of the value that begins at a bracket; -1 where the text ends before."""
    depth = 0
    for match in _TOKEN.finditer(text, at):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return match.end()
        elif token == b'"':
            return -1
    return -1


def _parsed(text: bytes) -> Any:
    """Parse a value; None if it is invalid. NaN, control characters and bytes that are not UTF-8 are accepted."""
    try:
        return loads(text)
    except JSONDecodeError:
        pass
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


# The categories are libkineto's names of activity types (libkineto/src/ActivityType.cpp).
ON_DEVICE = frozenset(("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op", "privateuse1"))
LAUNCHES = frozenset(
    ("cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver", "xpu_runtime", "xpu_driver", "mtia_runtime")
)

Extra = Mapping[str, Any]
"""Arguments of an event that a join needs."""


def _q() -> array[int]:
    return array("q")


@mutable(eq=False)
class Profile:
    """The events of a profile in file order. Times are ns since `base_ns`."""

    path: str
    head: dict[str, Any] = field(default_factory=dict)
    """What stands beside the events: `schemaVersion`, `deviceProperties`, `distributedInfo`, …"""
    base_ns: int = 0
    """Since the epoch: `baseTimeNanoseconds`. A round number, the same for all profiles of a season."""
    begin: array[int] = field(default_factory=_q)
    duration: array[int] = field(default_factory=_q)
    name: array[int] = field(default_factory=lambda: array("I"))
    """Numbers of `names`."""
    category: array[int] = field(default_factory=lambda: array("B"))
    """Numbers of `categories`."""
    thread: array[int] = field(default_factory=lambda: array("H"))
    """Numbers of `threads`."""
    order: array[int] = field(default_factory=lambda: array("i"))
    """`Ev Idx`, -1 where there is none."""
    link: array[int] = field(default_factory=_q)
    """`External id` of an operator, `correlation` of a launch and of what ran on a device; -1 where there is none."""
    names: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    threads: list[tuple[str, str]] = field(default_factory=list)
    """pid and tid, as text: devices have none that are numbers."""
    on_device: array[int] = field(default_factory=lambda: array("I"))
    """The events that ran on a device."""
    operator: array[int] = field(default_factory=_q)
    """Of each of these: the `External id` of the operator that launched it, -1."""
    extra: dict[int, Extra] = field(default_factory=dict)
    """Number of an event → those of its arguments that tell which code it is of."""
    flow: array[int] = field(default_factory=_q)
    """Ids of the ends of arrows from a forward to its backward (`fwdbwd`)."""
    flow_time: array[int] = field(default_factory=_q)
    """When the event began that has this end of the arrow."""
    flow_thread: array[int] = field(default_factory=lambda: array("i"))
    """Its thread; -1 - the thread at the end in the backward."""
    pid: int = -1
    """Of the process; -1 where nothing says it."""
    window: tuple[int, int] = (0, 0)
    """From when to when it was recorded. What ends later was not over then."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Events that are counted only: category → how many."""
    damaged: int = 0
    """Events that could not be read."""
    faults: list[str] = field(default_factory=list)
    """Sentences on what is wrong with the file."""

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def rank(self) -> int | None:
        """The rank that `distributedInfo` states."""
        info = self.head.get("distributedInfo")
        rank = info.get("rank") if isinstance(info, dict) else None
        return rank if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 1 << 31 else None

    def epoch_us(self, time: int) -> float:
        """Convert a time to µs since the epoch, the unit of the log's events."""
        return (self.base_ns + time) / 1000

    def end(self, event: int) -> int:
        """When an event was over."""
        return self.begin[event] + self.duration[event]

    def name_of(self, event: int) -> str:
        """Return the name of an event."""
        return self.names[self.name[event]]


NO_JSON = "not a torch.profiler export: not a JSON object"
_LIST = "not a torch.profiler export: a JSON list"
_NO_EVENTS = "not a torch.profiler export: JSON without traceEvents"
_NOT_TORCH = "not a torch.profiler export: traceEvents without any category of torch, and no schemaVersion or deviceProperties"
_OWN = re.compile(rb'"(?:schemaVersion|deviceProperties|baseTimeNanoseconds)"\s*:')
_EVENTS = re.compile(rb'"traceEvents"\s*:')
_CATEGORY = re.compile(rb'"cat"\s*:\s*"(?:cpu_op|user_annotation|python_function|cuda_runtime|cuda_driver)"')
"""Categories that only torch's profiler writes. Files that a tool cut often lack all of torch's own keys."""
_OBJECT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"|\}|$)')


def is_profile(head: bytes, tail: bytes = b"") -> bool:
    """Whether a file that begins (and ends) like this is a profile. The keys may be in either end: nobody promised an order."""
    if _OBJECT.match(head) is None or (events := _EVENTS.search(head)) is None:
        return False
    return any(map(_OWN.search, (head, tail))) or _CATEGORY.search(head, events.end()) is not None


def why_not(head: bytes, tail: bytes = b"") -> str:
    """Why a file is no profile; '' where it is one."""
    if is_profile(head, tail):
        return ""
    if _OBJECT.match(head) is None:
        return _LIST if head.lstrip()[:1] == b"[" else NO_JSON
    if _EVENTS.search(head):
        return _NOT_TORCH
    return _NO_EVENTS + (f" in its first {len(head) >> 10:,} KiB" if len(head) >= ENDS else "")


_BEFORE_EVENTS = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"(?:metadata|schemaVersion|deviceProperties)"|"baseTimeNanoseconds"\s*:')
"""In an end of a file whose events may begin late."""
LARGEST_NS = 1 << 62
"""Times beyond it are none."""
LONGEST_NAME = 2000
"""Characters of a name that are kept."""
MOST_NAMES = 500_000
MOST_THREADS = 60_000
MANY = "(name omitted: too many names)"
ENDS = 1 << 16
"""Bytes of each end of a file that are looked at to recognise it."""
LONG_HEAD = 4 << 20
"""Bytes that are looked at where something stands before the events: what a tool added (`metadata`), device properties."""
COUNTED = frozenset(("python_function", "ac2g", "cpu_instant_event", "overhead", "Trace", "gpu_user_annotation"))
"""Of which nothing is needed one by one: what Python called, arrows to devices (the numbers of launches say the same), …"""
KEPT_EXTRA = ("Sequence number", "debug_handle")
MOST_EVENTS = 50_000_000
"""A few bytes may unpack to any number of them."""
_PROFILER = re.compile(r"^PyTorch Profiler")


_NOTHING: dict[str, Any] = {}
_ORDERS = 1 << 31
_EXACT_US = 1e9
"""µs up to which a float times 1,000 is the right number of ns."""
_LINKED = ON_DEVICE | LAUNCHES
"""Categories whose events have a `correlation`."""


class NoProfile(Exception):
    """An invalid or unreadable profile; the message gives the reason."""


def opened(file: IO[bytes], path: str) -> Stream:
    """Return the bytes of a file, unpacked. Raises `OSError`, `CannotUnpack`."""
    packing = packing_of(file.read(BLOCK))
    file.seek(0)
    if packing not in COMPRESSED:
        return Plain(file)
    return Allowance(os.fstat(file.fileno()).st_size).limited(unpacked(packing, Plain(file), path))


def reason_against(path: str) -> str:
    """Why a file is no profile, by its ends; '' where it is one. Raises `OSError`."""
    with open(path, "rb") as file:
        if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
            return "a directory"
        try:
            stream = opened(file, path)
            head, tail = read_exactly(stream, ENDS), b""
        except CannotUnpack as error:
            return str(error)
        if isinstance(stream, Plain):
            file.seek(max(os.fstat(file.fileno()).st_size - ENDS, 0))
            tail = file.read(ENDS)
            file.seek(len(head))
        if len(head) == ENDS and _EVENTS.search(head) is None and any(map(_BEFORE_EVENTS.search, (head, tail))):
            head += read_exactly(stream, LONG_HEAD - ENDS)
        stream.close()
    return why_not(head, tail)


def read_exactly(stream: Stream, size: int) -> bytes:
    """So many bytes, fewer at the end only."""
    data = b""
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


class Reading:
    """An incremental reader of one file. `steps` reads it piece by piece; `profile` is complete when it has ended."""

    def __init__(self, path: str) -> None:
        self.profile = Profile(path)
        self.done = 0
        """Bytes of the file that are read."""
        self.size = 1
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._usual: dict[str, int] = {}
        """Those of them whose events are all of one kind."""
        self._threads: dict[tuple[Any, Any], int] = {}
        self._extras: dict[tuple[tuple[str, Any], ...], Extra] = {}
        self._out: Counter[str] = Counter()
        self._pids: Counter[str] = Counter()
        self._first, self._last = LARGEST_NS, -LARGEST_NS
        self._base = 0
        """µs of an event: a float times 1,000 is the right number of ns only where it is small, so times are taken from here."""
        self._window: list[int] = []

    def steps(self) -> Iterator[float]:
        """Read on; how much of the file is read, from 0 to 1. Raises `NoProfile`."""
        try:
            if reason := reason_against(self.profile.path):
                raise NoProfile(reason)
            with open(self.profile.path, "rb") as file:
                yield from self._read(file)
        except OSError as error:
            raise NoProfile(error.strerror or str(error)) from None
        except CannotUnpack as cannot:
            raise NoProfile(str(cannot)) from None

    def _read(self, file: IO[bytes]) -> Iterator[float]:
        self.size = max(os.fstat(file.fileno()).st_size, 1)
        stream = opened(file, self.profile.path)
        events = Events(stream)
        try:
            for block in events.blocks():
                self._add_event(block)
                if len(self.profile) > MOST_EVENTS:
                    self.profile.faults.append(f"only its first {MOST_EVENTS:,} events were read")
                    break
                done = file.tell()
                if done - self.done >= STEP:
                    self.done = done
                    yield min(self.done / self.size, 1.0)
        finally:
            stream.close()
        if stream.fault:
            self.profile.faults.append(stream.fault)
        self._end(events)

    # events

    def _add_event(self, block: list[Any]) -> None:
        """Add the events of a block. There are millions: what each needs is in local variables, without calls."""
        profile = self.profile
        rows: list[tuple[int, int, int, int, int, int, int]] = []
        add = rows.append
        number = len(profile)
        base = self._base
        base_ns = base * 1000
        name_number, usual, thread_number = self._names.get, self._usual.get, self._threads.get
        for event in block:
            try:
                if event["ph"] != "X":
                    self._other(event)
                    continue
                time, length = event["ts"], event["dur"]
                is_float = type(time) is type(length) is float
                if is_float and -_EXACT_US < time - base < _EXACT_US and 0 <= length < _EXACT_US:
                    begin, duration = base_ns + round((time - base) * 1000), round(length * 1000)
                else:
                    if is_float and not self._base and abs(time) < LARGEST_NS:
                        self._base = base = int(time)
                        base_ns = base * 1000
                    begin, duration = nanoseconds(time), nanoseconds(length)
                    if not (-LARGEST_NS < begin < LARGEST_NS and 0 <= duration < LARGEST_NS):
                        raise ValueError
                category = event.get("cat") or ""
                category_at = usual(category)
                if category_at is None and category in COUNTED:
                    self._count(category, event, begin, duration)
                    continue
                arguments = event.get("args") or _NOTHING
                if category_at is None:
                    category, category_at = self._unusual(category, arguments)
                name, thread = event["name"], (event["pid"], event["tid"])
                name_at = name_number(name)
                if name_at is None:
                    name_at = self._intern(name)
                thread_at = thread_number(thread)
                if thread_at is None:
                    thread_at = self._thread(thread)
                if category_at < 0:
                    category_at = self._category(category)
                if category in _LINKED:
                    link = arguments.get("correlation", -1)
                    if category in ON_DEVICE:
                        profile.on_device.append(number + len(rows))
                        profile.operator.append(_int(arguments.get("External id", -1)))
                else:
                    link = arguments.get("External id", -1)
                order = arguments.get("Ev Idx", -1)
                order = order if type(order) is int and -1 <= order < _ORDERS else _index(order)
                link = link if type(link) is int and -LARGEST_NS < link < LARGEST_NS else _int(link)
                add((begin, duration, name_at, thread_at, category_at, order, link))
                if "debug_handle" in arguments or (len(arguments) > 3 and name.startswith("CompiledFunction")):
                    self._keep_extra(number + len(rows) - 1, name, arguments)
            except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
                profile.damaged += 1
        columns = (profile.begin, profile.duration, profile.name, profile.thread, profile.category, profile.order, profile.link)
        for column, values in zip(columns, zip(*rows, strict=True), strict=False):
            column.extend(values)
        if rows:
            begins, durations = profile.begin[number:], profile.duration[number:]
            self._first = min(self._first, *begins)
            self._last = max(self._last, *map(add_up, begins, durations))

    def _unusual(self, category: str, arguments: Mapping[str, Any]) -> tuple[str, int]:
        """Return the category of an event with its number, -1 for a new one; plug-ins of devices name what ran in several ways."""
        if category[:11] in ("privateuse1", "PrivateUse1") and (category not in LAUNCHES or "device" in arguments):
            category = "privateuse1"  # plug-ins of devices say so of what they launch, and of what ran
        return category, self._categories.get(category, -1)

    def _count(self, category: str, event: dict[str, Any], begin: int, duration: int) -> None:
        """Count an event that is not kept."""
        self._out[category] += 1
        if category == "Trace" and _PROFILER.match(event["name"]):
            self._window += [begin, begin + duration]

    def _other(self, event: dict[str, Any]) -> None:
        """Add an event without a duration."""
        kind = event["ph"]
        if event.get("cat") == "fwdbwd" and kind in ("s", "f"):
            thread = self._threads.get((event["pid"], event["tid"]))
            if thread is None:
                thread = self._thread((event["pid"], event["tid"]))
            time = nanoseconds(event["ts"])
            if not -LARGEST_NS < time < LARGEST_NS:
                raise ValueError
            self.profile.flow.append(_int(event["id"]))
            self.profile.flow_time.append(time)
            self.profile.flow_thread.append(thread if kind == "s" else -1 - thread)
            return
        if kind not in ("M", "i", "s", "f", "t"):
            self._out[f"events of kind {str(kind)[:10]}"] += 1

    def _keep_extra(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        extra = tuple((key, arguments[key]) for key in KEPT_EXTRA if key in arguments)
        if not extra or (extra[0][0] == "Sequence number" and not name.startswith("CompiledFunction")):
            return
        try:
            self.profile.extra[number] = self._extras.setdefault(extra, dict(extra))
        except TypeError:  # a list where a number should be
            return

    # names

    def _intern(self, name: object) -> int:
        if not isinstance(name, str):
            raise TypeError
        if len(self._names) >= MOST_NAMES:
            name = MANY
        index = self._names.get(name)
        if index is not None:
            return index
        self.profile.names.append(name[:LONGEST_NAME])
        self._names[name] = len(self.profile.names) - 1
        return self._names[name]

    def _thread(self, thread: tuple[Any, Any]) -> int:
        if not all(isinstance(part, (int, str)) for part in thread):
            raise TypeError
        if len(self.profile.threads) >= MOST_THREADS:
            raise ValueError
        self.profile.threads.append((str(thread[0])[:40], str(thread[1])[:40]))
        self._threads[thread] = len(self.profile.threads) - 1
        return self._threads[thread]

    def _category(self, category: object) -> int:
        if not isinstance(category, str) or len(self.profile.categories) >= 250:
            raise TypeError
        self.profile.categories.append(category[:40])
        self._categories[category] = len(self.profile.categories) - 1
        if category[:11] not in ("privateuse1", "PrivateUse1"):
            self._usual[category] = self._categories[category]
        return self._categories[category]

    # the end

    def _end(self, events: Events) -> None:
        profile = self.profile
        profile.head = events.head
        profile.damaged += events.damaged
        profile.left_out = dict(self._out)
        base = events.head.get("baseTimeNanoseconds", 0)
        profile.base_ns = base if isinstance(base, int) and not isinstance(base, bool) and abs(base) < LARGEST_NS else 0
        if events.is_cut:
            profile.faults.append("truncated: the process ended while writing it; tltui uses the complete events")
        if profile.damaged:
            profile.faults.append(f"{profile.damaged:,} of its events could not be read")
        begins = [*self._window[::2], *((self._first,) if len(profile) else ())] or [0]
        ends = self._window[1::2] or ([self._last] if len(profile) else [0])
        profile.window = min(begins), max(*ends, min(begins))
        profile.pid = self._pid()

    def _pid(self) -> int:
        """Return the process id of most operators."""
        cpu = self._categories.get("cpu_op", -1)
        count = Counter(compress(self.profile.thread, map(cpu.__eq__, self.profile.category)))
        for thread, _ in count.most_common():
            pid = self.profile.threads[thread][0]
            if pid.isdigit() and len(pid) < 10:
                return int(pid)
        return -1


def read_profile(path: str) -> Profile:
    """All of a profile at once. Raises `NoProfile`."""
    reading = Reading(path)
    for _ in reading.steps():
        pass
    return reading.profile


def nanoseconds(us: float | str) -> int:
    """Convert µs with three decimals to integer ns.

    The integer and fractional parts are converted separately: a product of floats loses digits. Text has more digits than a float
    (`tltui.inputs.profile_reader`).
    """
    if isinstance(us, str):
        front, _, behind = us.partition(".")
        return int(front) * 1000 + int(behind[:3].ljust(3, "0"))
    integer = int(us)
    return integer * 1000 + round((us - integer) * 1000)


def _int(value: object) -> int:
    return value if isinstance(value, int) and -LARGEST_NS < value < LARGEST_NS else -1


def _index(value: object) -> int:
    return value if isinstance(value, int) and -1 <= value < _ORDERS else -1
