"""Whether a file is TORCH_LOGS text: by a line that one of torch's loggers wrote, wherever it stands among other lines. And whether
a file without such a line is what a job printed."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from tltui.inputs.text.grammar import parts_of
from tltui.text.payload import ByteSource

NEAR = 1 << 20
"""Bytes that are searched of any file whose name may be that of an output: a job may print much before it compiles."""
FAR = 64 << 20
"""Bytes that are searched of a file that was named by itself."""
BLOCK = 1 << 20
LINE = 1 << 16
"""Bytes of a line in which a message is looked for."""
SHORT = "TORCH_LOGS_FORMAT=short leaves out process and compile ids: run without it"
OLD = "TORCH_LOGS text of torch 2.2 or older: its lines have no process ids"
CERTAIN, LIKELY = 1.0, 0.5
DAY = 86_400
"""Seconds by which the clock of a job in another time zone may differ."""
_MAY_BEGIN = re.compile(rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.")
_TORCHRUN = re.compile(rb"torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError|Root Cause \(first observed ")
_SHORT = re.compile(rb"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):torch\.[\w.]+:", re.MULTILINE)
_OLD = re.compile(
    rb"^(?:\[rank\d+\]:)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:\[[^\]\n]*\] )?torch\.[\w.]+: \[\w+\]", re.MULTILINE
)
_SCHEDULED = re.compile(r"^slurm-[^/]+\.out(?:\.\d+)?$")
"""What sbatch calls the output of a job without `--output` (sbatch(1)): it may be plain text without any text of a launcher."""
_LAUNCHED = (
    b"Traceback (most recent call last):", b"ChildFailedError", b"torch.distributed.elastic", b"torch/distributed/elastic/",
    b"srun: error: ", b"slurmstepd: error: ", b"BAD TERMINATION", b"mpirun noticed that process", b"mpiexec noticed that process",
    b"prterun noticed that process", b"Watchdog caught collective operation timeout",
)  # fmt: skip
"""Texts of launchers, and of jobs that end, by which a file beside logs is known to be what a job printed: torchrun; srun and
slurmstepd (Slurm, src/srun/launch.c, src/slurmd/slurmstepd); MPICH (Hydra, pm/pmiserv/pmiserv_cb.c); Open MPI
(help-orterun.txt, help-prterun.txt); ProcessGroupNCCL."""
_OTHER_FORMAT = re.compile(r"\.(?:json|html?|xml|ya?ml|toml|csv|md|rst|pyi?|sh|c|cpp|h|cu)$", re.IGNORECASE)
"""Names of documents and programs. Somebody who names one has confused files: that is told."""
_CONTROLS = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""Bytes that what is printed on a terminal does not have: bell, backspace, tab, line ends and escape are none of them."""
_STREAM = re.compile(r"\.(?:log|err|out|stderr|stdout)(?:\.\d+)?$|^(?:stderr|stdout|nohup|slurm)", re.IGNORECASE)
_OUTPUT = re.compile(r"\.(?:log|txt|err|out|stderr|stdout)(?:\.\d+)?$|^(?:stderr|stdout|nohup|slurm)|^[^.]+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Recognised:
    """What was found in a file."""

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
    """Tell what a file is. `is_named`: somebody asked for this very file; `changed`: when it was written last, which tells the
    year; `opens_plain`: any text is taken for what a job printed.

    Else a text without any message of torch is what a job printed where sbatch called it so, and where its name may be that of an
    output and its beginning or end has a text of a launcher. Raises OSError.
    """
    name = os.path.basename(path)
    limit = FAR if is_named else NEAR if _OUTPUT.search(name) else LINE
    at, before, is_output = 0, b"", (opens_plain and not _OTHER_FORMAT.search(name)) or _SCHEDULED.match(name) is not None
    while at < limit and (more := file.read(at, min(BLOCK, limit - at))):
        if not at and more.lstrip(b"\x00")[:64].count(0) > 16:
            return NOT  # not text at all
        found = in_text(before + more, changed)
        if found.certainty or found.reason:
            return found
        is_output |= _is_launched(more) and _OUTPUT.search(name) is not None
        at += len(more)
        before = more[more.rfind(b"\n") + 1 :][-LINE:]
    if not is_output and _OUTPUT.search(name) and file.size() > at:
        is_output = _is_launched(file.read(max(file.size() - NEAR, at), NEAR))
    printed = is_output and not _CONTROLS.search(file.read(0, LINE))
    return Recognised(LIKELY, is_output=True) if printed else NOT


def _is_launched(data: bytes) -> bool:
    return any(text in data for text in _LAUNCHED)


def in_text(data: bytes, changed: float) -> Recognised:
    """What a piece of a file is."""
    end = 0
    for match in _MAY_BEGIN.finditer(data):
        if match.start() < end:
            continue
        begin, end = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.start())
        end = len(data) if end < 0 else end
        line = data[max(begin, match.start() - LINE) : min(end, match.start() + LINE)]
        for _, _, head in parts_of(line):
            if head is not None and not line.startswith(b'{"', head.end()):
                return Recognised(CERTAIN, clock=_clock(head, changed))
    if _TORCHRUN.search(data):
        return Recognised(LIKELY)
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
    for own in (year, year - 1):
        try:
            second = time.mktime(time.strptime(f"{own}{day} {moment[:8]}", "%Y%m%d %H:%M:%S"))
        except (ValueError, OverflowError):
            continue
        if second <= changed + DAY:
            return min(second + float(f"0{moment[8:]}"), changed)
    return None
