"""Results of looking at one file: a log, profile or dump to open, or the reason why it is skipped."""

from __future__ import annotations

import re
from dataclasses import field

from tltui.inputs.forms import TRACE, source_of
from tltui.inputs.index.indexed_log import SavedProcess
from tltui.text.frozen import frozen
from tltui.trace.files import FileBytes

OTHER = "not a trace, TORCH_LOGS text, debug directory or tlparse output"
NO_RANK = "a flight recorder dump with no rank in its file name (expected a name such as nccl_trace_rank_3)"
MEMBER = "another member of an archive"
_NAME_RANK = re.compile(r"rank[_-]?(\d{1,9})", re.IGNORECASE)
_LAUNCH = re.compile(r"^attempt_(\d{1,9})$")


@frozen
class FoundLog:
    """A log to open."""

    path: str
    size: int
    rank: int | None
    """The rank that the name of the file or of a directory above it states; records know better."""
    launch: str
    """`attempt_K` where torchrun made such a directory, else ''."""
    started: float
    """Seconds since the epoch: the first event of the log that tells, else the time of its last change."""
    ended: float
    """Time of the last change."""
    clock: float | None = None
    """Seconds since the epoch of its first event, where its beginning has one."""
    form: str = TRACE
    """The form of its records (`tltui.inputs.forms`)."""
    label: str = ""
    """What it is called where `path` is a copy of it: `job.tar.gz!job/x.log`."""
    is_final: bool = False
    """Whether nobody writes into it: it is a copy, or comes from an archive."""
    fault: str = ""
    """Why it is not all that there was: the archive is cut off or broken, a limit was reached."""
    index: str = ""
    """The saved index (`tltui.inputs.index`) that tells of it, '' for none. Where the log is not here `path` is that of the index,
    and `label` says where the log was."""
    number: int = 0
    """Which log of the index it is."""
    is_output: bool = False
    """Whether it is what a job printed, and no message of torch was seen in it."""

    @property
    def name(self) -> str:
        """What it is called on pages."""
        return self.label or self.path

    def source(self) -> FileBytes:
        """Its bytes. Opens nothing."""
        return source_of(self.form, self.path, self.index, self.number)

    @property
    def is_here(self) -> bool:
        """Whether the log is readable here; a log that is only listed in an index is on another host, or deleted."""
        return not self.index or self.path != self.index


@frozen
class FoundProfile:
    """An export of `torch.profiler` (`tltui.inputs.profile_reader`)."""

    path: str
    size: int
    changed: int = 0
    """ns since the epoch: the time of its last change."""
    is_named: bool = False
    """By `--profile`, not found beside a log."""
    label: str = ""
    """What it is called where `path` is a copy of it."""

    @property
    def name(self) -> str:
        """What it is called on pages."""
        return self.label or self.path


@frozen
class FoundDump:
    """A dump of torch's flight recorder (`tltui.inputs.flight_recorder`)."""

    path: str
    size: int
    changed: int
    """ns since the epoch: the time of its last change."""
    rank: int
    """As the name of the file states it: the dump itself does not."""
    label: str = ""
    """What it is called where `path` is a copy of it."""

    @property
    def name(self) -> str:
        """What it is called on pages."""
        return self.label or self.path


@frozen
class Skipped:
    """A path that was not opened."""

    path: str
    reason: str


Opened = FoundLog | FoundProfile | FoundDump | Skipped
"""What a look at a file gives."""


def labels(parts: list[str]) -> tuple[int | None, str]:
    """Parse rank and launch from the names of a file and of its parent directories.

    Layouts: `…rank_3_abcd.log`, `rank_3/x.log`, `rank_3_dp_1/x.log` (vLLM). A number below torchrun's `attempt_0` is the local rank
    on its node and is ignored.
    """
    launch = next((part for part in parts[:-1] if _LAUNCH.match(part)), "")
    for part in reversed(parts):
        if match := _NAME_RANK.search(part):
            return int(match[1]), launch
    return None, launch


@frozen
class Saved:
    """A process listed in a saved index; its log need not be read to compare ranks."""

    log: FoundLog
    """Opens the log that it wrote."""
    rank: int | None
    pid: int
    host: str
    launch: str
    """As `FoundLog.launch`."""
    started: float
    """Seconds since the epoch."""
    compiles: int
    course: bytes
    """Equal for processes that did the same, whatever their times (`tltui.questions.ranks.rank_course`)."""
    process: SavedProcess | None = field(default=None, repr=False, compare=False)
    """What the index keeps of it: `tltui.questions.ranks.lanes` makes its course and its times of that."""
