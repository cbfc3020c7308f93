"""The grammar of a line of TORCH_LOGS text, and recognition of files that contain such lines."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern
from tltui.text.payload import ByteSource

OUTER = (
    rb"(?:\[default\d{1,6}\]:"  # torchrun --tee
    rb"|\d{1,6}: "  # srun --label
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? "  # kubectl logs --timestamps
    rb"(?:std(?:out|err) F )?"  # a node's own log of a container
    rb"|\[[^\]\n]{1,200}\](?:<\w{1,20}>)?:? ?"  # mpirun --tag-output, kubectl logs --prefix
    rb"|[\w.-]{1,80} +\| "  # docker compose
    rb"|\((?:[^()\n]{1,80}) pid=\d{1,10}(?:, ip=[\w.:]{2,45})?\) "  # Ray, vLLM
    rb"|\xef\xbb\xbf){0,4}?"
)
"""What launchers and log collectors put before a line."""

NATIVE = (b"c", b"h", b"cc", b"cu", b"go", b"rs", b"cpp", b"cxx", b"hpp")
"""Ends of names of source files whose programs log in the same form: glog in C++ (XLA, Triton server), klog in Go."""
NOT_NATIVE = b"".join(rb"(?<!\." + end + rb")" for end in NATIVE)
HEAD = lazy_pattern(
    rb"(?P<launcher>" + OUTER + rb")(?:\[rank(?P<rank>\d{1,9})\]:)?"
    rb"(?P<level>[VIWEC])(?P<day>\d{4}) (?P<time>\d\d:\d\d:\d\d\.\d{6,9}) (?P<pid>\d{1,18}) "
    rb"(?P<path>(?:[A-Za-z]:)?[^\n:]{1,400}" + NOT_NATIVE + rb"(?=:)"
    rb"|(?![^\s:]{1,400}\.(?:" + b"|".join(NATIVE) + rb"):)(?:(?!\d\d:\d\d:\d\d\.)[^\n]){1,400}?):(?P<line>\d{1,9})\]"
    rb"(?: \[(?P<ids>(?:!\d{1,9}(?:/\d{1,9}/\d{1,9})?|\d{1,9}/\d{1,9})(?:_\d{1,9})?)\])?"
    rb"(?: \[__(?P<artifact>\w{1,80})\])?(?: |(?=\r*$))"
)
HEAD_SIZE = 1200
"""Bytes of a line that may belong to its prefix."""

SHAPES = bytes.maketrans(b"0123456789VIWEC", b"0" * 10 + b"V" * 5)
"""A table that replaces each digit and each letter of a level, because a search for one text is several times faster than
one for a pattern."""
CANDIDATE = b"V0000 00:"
"""Bytes of a replaced text at which a message may begin, wherever in a line."""

INNER = lazy_pattern(rb"(?:\[rank\d{1,9}\]:)?[VIWEC](\d{4}) \d\d:\d\d:\d\d\.\d{6,9} (\d{1,18}) [^\s:\]]{1,400}:\d{1,9}\] ")
"""A prefix that stands inside a line."""
BEGUN = lazy_pattern(
    rb"(?:\[rank\d{1,9}\]:)?[VIWEC](?:\d{0,4}|\d{4} [\d:.]{0,15}|\d{4} [\d:.]{15} \d{1,18}(?: [^\s]{0,400})?)"
    rb"|\[r?a?n?k?\d{0,9}\]?"
)
"""A prefix that was cut off (full match)."""
ANSI = lazy_pattern(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
TIMES = lazy_pattern(rb"\d{4}-\d\d-\d\dT\S{8,} ")
IDS = lazy_pattern(rb"(?:!(\d+))?/?(?:(\d+)/(\d+))?(?:_(\d+))?")
"""`!A/F/C_N`, each part optional."""
CR = ord("\r")


def head_of(data: bytes, at: int, end: int) -> re.Match[bytes] | None:
    """Match the prefix of a line from `at` to `end`; None where it has none."""
    return HEAD.match(data, at, min(end, at + HEAD_SIZE))


def next_part(data: bytes, at: int, end: int, head: re.Match[bytes] | None) -> int:
    """Return the end of the part of a line that begins at `at`: `end`, or the start of another message inside the line.

    `head` is the prefix of this part. A later prefix counts if it has the same day and another process: a message may
    quote its own. Where `head` is none, the text after the last carriage return may be a message, or any other prefix.
    """
    if head is not None:
        date, pid = head["day"], head["pid"]
        if data.find(date + b" ", head.end(), end) >= 0:
            for inner in INNER.finditer(data, head.end(), end):
                if inner[1] == date and inner[2] != pid:
                    return inner.start()
        return end
    last = data.rfind(b"\r", at, end - 1) + 1
    if last > at and head_of(data, last, end):
        return last
    match = INNER.search(data, at + 1, end)
    return match.start() if match else end


def parts_of(data: bytes) -> Iterator[tuple[int, int, re.Match[bytes] | None]]:
    """(begin, end, prefix) of the parts of a line without its newline."""
    at, end = 0, len(data)
    while at < end:
        head = head_of(data, at, end)
        stop = next_part(data, at, end, head)
        yield at, stop, head
        at = stop


def core_of(head: re.Match[bytes]) -> bytes:
    """Return the prefix as torch wrote it, the same in all lines of a message: without the launcher's and the blank at its end."""
    return head.string[head.end("launcher") : head.end()].removesuffix(b" ")


def label_of(head: re.Match[bytes]) -> bytes:
    """Return the launcher's prefix, without the time."""
    launcher: bytes = head["launcher"]
    return TIMES.sub(b"", launcher) if launcher else launcher


def clean(text: bytes) -> bytes:
    """Return a line without terminal control: colours, the carriage return at its end, and overwritten text."""
    if b"\x1b" in text:
        text = ANSI.sub(b"", text).replace(b"\x1b", b"")
    if b"\r" in text:
        text = text.rstrip(b"\r")
        text = text[text.rfind(b"\r") + 1 :]
    return text


def module_of(path: bytes) -> str:
    """`torch/_dynamo/guards.py` of a path below torch, however it was written; the name of the file for others."""
    text = path.decode("utf-8", "replace").replace("\\", "/")
    if text.startswith("torch/"):
        return text
    at = text.rfind("/torch/")
    return text[at + 1 :] if at >= 0 else text[text.rfind("/") + 1 :]


NEAR = 1 << 20
"""Bytes that are searched of any file whose name may be that of an output: a job may print much before it compiles."""
FAR = 64 << 20
"""Bytes that are searched of a file that was named by itself."""
BLOCK = 1 << 20
LINE = 1 << 16
"""Bytes of a line in which a message is looked for."""
SHORT = "logged with TORCH_LOGS_FORMAT=short, which omits process and compile ids; run the job without it"
OLD = "TORCH_LOGS text of torch 2.2 or older: its lines have no process ids"
CERTAIN, LIKELY = 1.0, 0.5
DAY = 86_400
"""Seconds by which the clock of a job in another time zone may differ."""
_MAY_BEGIN = lazy_pattern(rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.")
_SHAPE = b"V0000 00:00:00."
"""The same in a text replaced by `SHAPES`."""
_TORCHRUN = (b"torch.distributed.elastic.multiprocessing.errors.ChildFailedError", b"Root Cause (first observed ")
_SHORT = lazy_pattern(rb"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):torch\.[\w.]+\.__\w+:", re.MULTILINE)
"""An artifact of TORCH_LOGS in that format. Other lines of it may come from `logging.basicConfig` of a program."""
_OLD = lazy_pattern(
    rb"^(?:\[rank\d+\]:)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:\[[^\]\n]*\] )?torch\.[\w.]+: \[\w+\]", re.MULTILINE
)
_LIMIT = lazy_pattern(
    rb"^[^\n\"'#]{0,200}(?:WARN|torch\._dynamo\.convert_frame)[^\n\"'#]{0,100}"
    rb"torch\._dynamo hit config\.\w{1,60}_limit \(\d+\)\r?$",
    re.MULTILINE,
)
"""The warning of the recompile limit, as a program's own logging prints it."""
_SCHEDULED = lazy_pattern(r"^slurm-[^/]+\.out(?:\.\d+)?$")
"""What sbatch calls the output of a job without `--output` (sbatch(1)): it may be plain text without any text of a launcher."""
_TRACEBACK = b"Traceback (most recent call last)"
_OF_COMPILER = lazy_pattern(
    rb"[/\\]torch[/\\](?:_dynamo|_inductor|_functorch)[/\\][\w/\\.]{1,200}\.py(?:\", line |:)\d"
    rb"|^[^\n]{0,100}?torch\._(?:dynamo|inductor)\.exc\.\w{3,60}:"
    rb"|: accessing tensor output of CUDAGraphs that has been overwritten",
    re.MULTILINE,
)
"""A frame of torch's compiler in a traceback (Python's form, or IPython's and rich's), or the name of one of its exceptions."""
_LAUNCHED = (
    _TRACEBACK, b"ChildFailedError", b"torch.distributed.elastic", b"torch/distributed/elastic/",
    b"srun: error: ", b"slurmstepd: error: ", b"BAD TERMINATION", b"mpirun noticed that process", b"mpiexec noticed that process",
    b"prterun noticed that process", b"Watchdog caught collective operation timeout",
)  # fmt: skip
"""Texts of launchers, and of jobs that end, by which a file beside logs is known to be what a job printed: torchrun; srun and
slurmstepd (Slurm, src/srun/launch.c, src/slurmd/slurmstepd); MPICH (Hydra, pm/pmiserv/pmiserv_cb.c); Open MPI
(help-orterun.txt, help-prterun.txt); ProcessGroupNCCL."""
_CONTROLS = lazy_pattern(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""Bytes that what is printed on a terminal does not have: bell, backspace, tab, line ends and escape are none of them."""
_STREAM = lazy_pattern(r"\.(?:log|err|out|stderr|stdout)(?:\.\d+)?$|^(?:stderr|stdout|nohup|slurm)", re.IGNORECASE)
_OUTPUT = lazy_pattern(r"\.(?:log|txt|err|out|stderr|stdout)(?:\.\d+)?$|^(?:stderr|stdout|nohup|slurm)|^[^.]+$", re.IGNORECASE)


@frozen
class Recognised:
    """The detected type of a file."""

    certainty: float
    """0 for none."""
    reason: str = ""
    """Why it is none, where somebody could mean it."""
    clock: float | None = None
    """Seconds since the epoch of its first message, by the clock and the time zone of this machine."""
    is_output: bool = False
    """It is what a job printed, and no message of torch was seen in it."""


NOT = Recognised(0.0)


def may_become(path: str, size: int) -> bool:
    """Whether a file of this name and size that holds no message may get one yet: a job prints before it compiles."""
    return size < NEAR and _STREAM.search(os.path.basename(path)) is not None


def recognise(file: ByteSource, path: str, is_named: bool, changed: float, opens_plain: bool = False) -> Recognised:
    """Detect the type of a file. Raises OSError.

    `is_named`: the user named this very file; `changed`: its last modification, which gives the year; `opens_plain`: any text
    counts as job output. Else a text without any message of torch is job output where it has sbatch's name, or where its name
    fits an output and its beginning or end has a text of a launcher.
    """
    name = os.path.basename(path)
    limit = FAR if is_named else NEAR if _OUTPUT.search(name) else LINE
    at, before, is_output = 0, b"", opens_plain or _SCHEDULED.match(name) is not None
    while at < limit and (more := file.read(at, min(BLOCK, limit - at))):
        if not at and more.lstrip(b"\x00")[:64].count(0) > 16:
            return NOT  # not text at all
        recognised = in_text(before + more, changed)
        if recognised.certainty:
            return recognised
        if _OUTPUT.search(name) and (has_exception(before + more) or _LIMIT.search(before + more)):
            return Recognised(LIKELY)
        if recognised.reason:
            return recognised
        is_output |= _is_launched(more) and _OUTPUT.search(name) is not None
        at += len(more)
        before = more[more.rfind(b"\n") + 1 :][-LINE:]
    if not is_output and _OUTPUT.search(name) and file.size() > at:
        is_output = _is_launched(file.read(max(file.size() - NEAR, at), NEAR))
    printed = is_output and not _CONTROLS.search(file.read(0, LINE))
    return Recognised(LIKELY, is_output=True) if printed else NOT


def has_exception(data: bytes) -> bool:
    """Return whether a piece of a file has a Python traceback through torch's compiler, or an exception of it."""
    begin = data.find(_TRACEBACK)
    return begin >= 0 and _OF_COMPILER.search(data, begin) is not None


def _is_launched(data: bytes) -> bool:
    return any(text in data for text in _LAUNCHED)


def in_text(data: bytes, changed: float) -> Recognised:
    """Detect the type of a piece of a file."""
    shape = data.translate(SHAPES)
    at = shape.find(_SHAPE)
    while at >= 0:
        begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = data[max(begin, at - LINE) : min(end, at + LINE)]
        for _, _, head in parts_of(line):
            if head is not None and not line.startswith(b'{"', head.end()):
                return Recognised(CERTAIN, clock=_clock(head, changed))
        at = shape.find(_SHAPE, end)
    if any(text in data for text in _TORCHRUN):
        return Recognised(LIKELY)
    if b"torch." not in data:
        return NOT
    if _SHORT.search(data):
        return Recognised(0.0, SHORT)
    return Recognised(0.0, OLD) if _OLD.search(data) else NOT


def last_clock(data: bytes, changed: float) -> float | None:
    """Return when the last message in the end of a text log was written, as `Recognised.clock`; None where there is none."""
    for line in reversed(data.splitlines()):
        if _MAY_BEGIN.search(line):
            heads = [head for _, _, head in parts_of(line[:LINE]) if head is not None]
            if heads:
                return _clock(heads[-1], changed)
    return None


def _clock(head: re.Match[bytes], changed: float) -> float | None:
    """When a message was written. Its prefix lacks the year: it is that of the last change, or the one before."""
    day, moment = head["day"].decode(), head["time"].decode()
    year = time.localtime(changed).tm_year
    for candidate in (year, year - 1):
        try:
            second = time.mktime(time.strptime(f"{candidate}{day} {moment[:8]}", "%Y%m%d %H:%M:%S"))
        except (ValueError, OverflowError):
            continue
        if second <= changed + DAY:
            return min(second + float(f"0{moment[8:]}"), changed)
    return None
