r"""The grammar of a line of TORCH_LOGS text.

Source: `TorchLogsFormatter.format` in torch/_logging/_internal.py. Every line of a message repeats the prefix:
`[rankN]:LEVEL MMDD HH:MM:SS.micros PID PATH:LINE] [ID] [__ARTIFACT] text`. `[rankN]:` is torch's own, written while
`torch.distributed` is initialised; whatever stands before it is a launcher's. There is no year, and the time is local time. Up to
torch 2.4 PID is the number of the thread.

A line may hold more than one part: a write above 4 KB into a pipe may be cut anywhere by that of another process, and a progress
bar leaves a carriage return and no newline behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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

HEAD = re.compile(
    rb"(?P<launcher>" + OUTER + rb")(?:\[rank(?P<rank>\d{1,9})\]:)?"
    rb"(?P<level>[VIWEC])(?P<day>\d{4}) (?P<time>\d\d:\d\d:\d\d\.\d{6,9}) (?P<pid>\d{1,18}) "
    rb"(?P<path>(?:[A-Za-z]:)?[^\n:]{1,400}|(?:(?!\d\d:\d\d:\d\d\.)[^\n]){1,400}?):(?P<line>\d{1,9})\]"
    rb"(?: \[(?P<ids>(?:!\d{1,9}(?:/\d{1,9}/\d{1,9})?|\d{1,9}/\d{1,9})(?:_\d{1,9})?)\])?"
    rb"(?: \[__(?P<artifact>\w{1,80})\])?(?: |(?=\r*$))"
)
HEAD_SIZE = 1200
"""Bytes of a line that may belong to its prefix."""

INNER = re.compile(rb"(?:\[rank\d{1,9}\]:)?[VIWEC](\d{4}) \d\d:\d\d:\d\d\.\d{6,9} (\d{1,18}) [^\s:\]]{1,400}:\d{1,9}\] ")
"""A prefix that stands inside a line."""
BEGUN = re.compile(
    rb"(?:\[rank\d{1,9}\]:)?[VIWEC](?:\d{0,4}|\d{4} [\d:.]{0,15}|\d{4} [\d:.]{15} \d{1,18}(?: [^\s]{0,400})?)"
    rb"|\[r?a?n?k?\d{0,9}\]?"
)
"""A prefix that was cut off (full match)."""
ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
TIMES = re.compile(rb"\d{4}-\d\d-\d\dT\S{8,} ")
IDS = re.compile(rb"(?:!(\d+))?/?(?:(\d+)/(\d+))?(?:_(\d+))?")
"""`!A/F/C_N`, each part optional."""
CR = ord("\r")


def head_of(data: bytes, at: int, end: int) -> re.Match[bytes] | None:
    """The prefix of a line from `at` to `end`; None where it has none."""
    return HEAD.match(data, at, min(end, at + HEAD_SIZE))


def next_part(data: bytes, at: int, end: int, head: re.Match[bytes] | None) -> int:
    """Where the part of a line that begins at `at` ends: at `end`, or where another message begins inside the line.

    `head` is the prefix of this part. Behind it another one counts that states the same day and another process: a message may
    quote its own. Where there is none, what stands behind the last carriage return may be a message, or any other prefix.
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
    found = INNER.search(data, at + 1, end)
    return found.start() if found else end


def parts_of(data: bytes) -> Iterator[tuple[int, int, re.Match[bytes] | None]]:
    """(begin, end, prefix) of the parts of a line without its newline."""
    at, end = 0, len(data)
    while at < end:
        head = head_of(data, at, end)
        stop = next_part(data, at, end, head)
        yield at, stop, head
        at = stop


def core_of(head: re.Match[bytes]) -> bytes:
    """The prefix as torch wrote it, the same in all lines of a message: without the launcher's and the blank at its end."""
    return head.string[head.end("launcher") : head.end()].removesuffix(b" ")


def label_of(head: re.Match[bytes]) -> bytes:
    """What a launcher put in front, without the time."""
    launcher: bytes = head["launcher"]
    return TIMES.sub(b"", launcher) if launcher else launcher


def clean(text: bytes) -> bytes:
    """A line without what terminals are told: colours, the carriage return at its end, and what later ones overwrite."""
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
