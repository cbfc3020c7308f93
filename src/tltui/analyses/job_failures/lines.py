"""Lines of a job's output, and whose they are: what launchers, torch and terminals put before and into them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tltui.text.terminal_lines import shown

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
OUTER = (
    rf"(?:\[default\d+\]:|\[(?!rank\d+\]:)[^\]\n]{{1,60}}\](?:<\w+>)?:? ?|\d{{1,6}}: |{_TIME} (?:std(?:out|err) F )?"
    r"|[\w.-]{1,80} +\| |\([^()\n]{1,80} pid=\d{1,10}(?:, ip=[\w.:]{2,45})?\) )*?"
)
"""What launchers print before each line: torchrun --tee `[default0]:`, srun -l `0: `, mpirun --tag-output `[1,0]<stderr>:`, kubectl
logs --prefix `[pod/name/container] ` and --timestamps, container logs `… stderr F `,
docker compose `name  | `, Ray `(name pid=1, ip=10.0.0.1) `. Only known where a known text follows."""
RANK = r"(?:\[rank(?P<rank>\d+)\]: ?)?"
"""torch's own, before each line of a traceback while torch.distributed is initialised (`_distributed_excepthook`)."""
_TIMES = re.compile(_TIME)


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a job's output that is no log record."""

    offset: int
    """Bytes from the beginning of the file."""
    data: bytes
    """As it stands there, without its line end."""
    pid: int | None = None
    """Of the process that the records around it are of, where that is known."""
    rank: int | None = None

    @property
    def end(self) -> int:
        """Offset behind its line end."""
        return self.offset + len(self.data) + 1

    @property
    def text(self) -> str:
        """What a terminal would show of it: without colours, and of a progress bar the last state."""
        return shown(self.data).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before each line of one writer."""

    outer: str
    rank: int | None

    @property
    def key(self) -> tuple[str, int | None]:
        """The same for all its lines: times in it change."""
        return _TIMES.sub("T", self.outer), self.rank

    def pattern(self) -> re.Pattern[str]:
        """What matches its lines: `text` is what follows. torch leaves blank lines out, launchers mark them."""
        outer, bare = self._escaped(self.outer), self._escaped(self.outer.rstrip())
        if self.rank is not None:
            outer += rf"\[rank{self.rank}\]: ?"
        blank = rf"^{bare}(?P<blank>)$|" if self.outer else ""
        return re.compile(f"{blank}^{outer}(?P<said>.*)$", re.DOTALL)

    @staticmethod
    def _escaped(outer: str) -> str:
        return _TIME.join(re.escape(piece) for piece in _TIMES.split(outer))
