"""Lines in which launchers, Slurm, MPI, the kernel and libraries report how a process ended."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tltui.text.frozen import frozen
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


@frozen
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


@frozen
class Prefix:
    """What stands before each line of one writer."""

    outer: str
    rank: int | None

    @property
    def key(self) -> tuple[str, int | None]:
        """The same for all its lines: times in it change."""
        return _TIMES.sub("T", self.outer), self.rank

    def pattern(self) -> re.Pattern[str]:
        """Return a pattern of its lines with the group `rest` after the prefix. torch omits blank lines, launchers mark them."""
        outer, bare = self._escaped(self.outer), self._escaped(self.outer.rstrip())
        if self.rank is not None:
            outer += rf"\[rank{self.rank}\]: ?"
        blank = rf"^{bare}(?P<blank>)$|" if self.outer else ""
        return re.compile(f"{blank}^{outer}(?P<rest>.*)$", re.DOTALL)

    @staticmethod
    def _escaped(outer: str) -> str:
        return _TIME.join(re.escape(piece) for piece in _TIMES.split(outer))


EXIT, STOPPED, INTERRUPTED, CANCELLED, ENDING, MEMORY, TIMEOUT, WORKER = (
    "exit", "stopped", "interrupted", "cancelled", "ending", "out of memory", "timeout", "worker",
)  # fmt: skip
"""`exit`: a process ended. `stopped`: the launcher sent a signal to a process. `interrupted`: the launcher itself received a
signal. `cancelled`: Slurm ended a step or a job. `ending`: srun begins to end the other tasks. `timeout`: a watchdog gave a
collective up."""
LINE_LIMIT = 2000
"""Columns of a line that are matched: these messages are short."""
BLOCK_LINES = 12
"""Lines after the first one of a message in which its fields are searched."""
RANKS_LIMIT = 65_536
"""Tasks of one line: a longer list is no list of ranks."""
TORCHRUN, SRUN, SLURM, OPEN_MPI, HYDRA, SPAWN, DEEPSPEED, KERNEL, SHELL, KUBERNETES, NCCL, RAY, DATA_LOADER = (
    "torchrun", "srun", "Slurm", "Open MPI", "MPICH", "torch.multiprocessing", "DeepSpeed", "the kernel", "the shell", "Kubernetes",
    "NCCL's watchdog", "Ray", "DataLoader",
)  # fmt: skip
_SIGNALS = {
    "Hangup": "SIGHUP", "Interrupt": "SIGINT", "Quit": "SIGQUIT", "Illegal instruction": "SIGILL", "Aborted": "SIGABRT",
    "Bus error": "SIGBUS", "Floating point exception": "SIGFPE", "Killed": "SIGKILL", "Segmentation fault": "SIGSEGV",
    "Terminated": "SIGTERM", "Out Of Memory": "SIGKILL",
}  # fmt: skip
"""Names of signals as `strsignal` of the GNU C library prints them; srun prints `Out Of Memory` for its own SIG_OOM."""
_NUMBERS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
    15: "SIGTERM",
}  # fmt: skip
_BY_NAME = "|".join(_SIGNALS)


@frozen
class Row:
    """One message."""

    kind: str
    program: str
    needle: bytes
    """Every line with the message contains it."""
    pattern: re.Pattern[str]
    """Its groups: `ranks`, `local`, `index`, `pid`, `code`, `signal`, `name`, `number`, `host`, `reason`."""
    meaning: str
    """In a sentence, for a reader who has not met the message before."""
    source: str
    """The file that prints it."""
    fields: re.Pattern[str] | None = None
    """What further lines of the same message contain."""


@frozen
class Report:
    """End of a process, from one message about it."""

    offset: int
    """Bytes from the beginning of the file."""
    kind: str
    program: str
    text: str
    meaning: str
    ranks: tuple[int, ...] = ()
    local_rank: int | None = None
    """Of torchrun: the number of the worker on its node. Of `torch.multiprocessing`: the number of the process."""
    pid: int | None = None
    exit_code: int | None = None
    signal: str = ""
    """`SIGKILL`; empty for none."""
    host: str = ""
    reason: str = ""
    """`TIME LIMIT`: why Slurm ended a job; empty where it prints none."""
    is_memory: bool = False
    """Whether it reports that memory ran out."""
    agent: int | None = None
    """The pid of the torchrun that printed it."""
    time: str = ""
    """`1122 11:37:10.693000`, by the clock of its host; empty where the line has none."""

    @property
    def exit(self) -> str:
        """`exit code 1`, `SIGSEGV`; empty where the message contains neither."""
        return self.signal or ("" if self.exit_code is None else f"exit code {self.exit_code}")


def _row(kind: str, program: str, needle: str, pattern: str, meaning: str, source: str, fields: str = "") -> Row:
    more = re.compile(fields) if fields else None
    return Row(kind, program, needle.encode(), re.compile(pattern), meaning, source, more)


_END = r"(?:\s*$|\s{2,}|\s+\(core dumped\))"
_PYTHON_API = "torch/distributed/elastic/multiprocessing/api.py"
_BASH = r"(?:^|: line \d+:\s+|^\S+: task \d+: ?)(?P<pid>\d{1,10})? ?"
_STRSIGNAL = "GNU C library, strsignal, as bash prints it (jobs.c)"
ROWS: tuple[Row, ...] = (
    _row(
        EXIT, TORCHRUN, "failed (exitcode: ",
        r"failed \(exitcode: (?P<code>-?\d{1,10})\) local_rank: (?P<local>\d{1,6}) \(pid: (?P<pid>\d{1,10})\) of (?:binary|fn): ",
        "", _PYTHON_API,
    ),
    _row(
        STOPPED, TORCHRUN, " closing signal ", r"Sending process (?P<pid>\d{1,10}) closing signal (?P<name>SIG[A-Z0-9]+)", "",
        _PYTHON_API,
    ),
    _row(
        STOPPED, TORCHRUN, "Closing process ", r"Closing process (?P<pid>\d{1,10}) via signal (?P<name>SIG[A-Z0-9]+)", "",
        _PYTHON_API,
    ),
    _row(
        INTERRUPTED, TORCHRUN, " death signal, shutting down",
        r"Received (?:Signals\.(?P<name>SIG[A-Z0-9]+)|(?P<number>\d{1,2})) death signal, shutting down",
        "", "torch/distributed/elastic/agent/server/api.py",
    ),
    _row(
        INTERRUPTED, TORCHRUN, "SignalException: Process ",
        r"SignalException: Process \d+ got signal: (?:Signals\.(?P<name>SIG[A-Z0-9]+)|(?P<number>\d{1,2}))", "", _PYTHON_API,
    ),
    _row(
        EXIT, SPAWN, "-- Process ", r"^-- Process (?P<index>\d{1,6}) terminated with the following error:", "",
        "torch/multiprocessing/spawn.py",
    ),
    _row(
        EXIT, SPAWN, "ProcessExitedException: process ",
        r"process (?P<index>\d{1,6}) terminated with (?:signal (?P<name>SIG[A-Z0-9]+)|exit code (?P<code>\d{1,6}))", "",
        "torch/multiprocessing/spawn.py",
    ),
    _row(
        EXIT, SRUN, "srun: error: ",
        rf"srun: error: (?P<host>\S+): tasks? (?P<ranks>[\d,-]+): "
        rf"(?:Exited with exit code (?P<code>\d{{1,3}})|(?P<signal>{_BY_NAME})\b)",
        "", "slurm, src/srun/launch.c: _task_finish",
    ),
    _row(
        ENDING, SRUN, "srun: ", r"srun: (?:Force Terminat|Terminat|forcing job terminat)(?:ed|ing|ion)\b", "",
        "slurm, src/srun/launch.c: launch_p_step_wait",
    ),
    _row(
        MEMORY, SLURM, "oom_kill event", r"Detected \d+ oom_kill events? in (?P<reason>\S+)",
        "the job used more memory than Slurm gave it, and the kernel killed processes of it; the line names no rank",
        "slurm, src/plugins/task/cgroup/task_cgroup_memory.c",
    ),
    _row(
        MEMORY, SLURM, "oom-kill event", r"Detected \d+ oom-kill event\(s\) in (?P<reason>\S+)",
        "the job used more memory than Slurm gave it, and the kernel killed processes of it; the line names no rank",
        "slurm 20.02 and older, src/plugins/task/cgroup/task_cgroup_memory.c",
    ),
    _row(
        EXIT, KERNEL, "ut of memory: Killed process", r"[Oo]ut of memory: Killed process (?P<pid>\d{1,10})",
        "the kernel ran out of memory and killed a process", "Linux, mm/oom_kill.c: __oom_kill_process",
    ),
    _row(
        MEMORY, KERNEL, "oom-kill:constraint=", r"\boom-kill:constraint=", "the kernel killed a process that used too much memory",
        "Linux, mm/oom_kill.c: dump_oom_victim",
    ),
    _row(
        MEMORY, KUBERNETES, "OOMKilled", r"\bOOMKilled\b", "the container used more memory than its limit",
        "Kubernetes, the reason in the status of a container",
    ),
    _row(
        CANCELLED, SLURM, "CANCELLED",
        r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED (?:AT \S+ )?(?:DUE TO (?P<reason>[A-Z][A-Z ]*[A-Z])|\*\*\*)",
        "", "slurm, src/slurmd/slurmstepd/req.c: _handle_signal_container",
    ),
    _row(
        EXIT, OPEN_MPI, "noticed that process rank ",
        r"noticed that process rank (?P<ranks>\d{1,6}) with PID (?P<pid>\d{1,10}) on node (?P<host>\S+) exited on "
        r"signal (?P<number>\d{1,2})",
        "", "Open MPI, PRRTE, src/tools/prun/help-prun.txt: prun:proc-aborted",
    ),
    _row(
        EXIT, OPEN_MPI, "detected that one or more processes exited with non-zero status",
        r"detected that one or more processes exited with non-zero status", "",
        "Open MPI, PRRTE, src/tools/prun/help-prun.txt: prun:non-zero-exit",
        r"^\s*(?:Process name: \[\[\d+,\d+\],(?P<ranks>\d{1,6})\]|Exit code: +(?P<code>\d{1,3}))",
    ),
    _row(
        EXIT, HYDRA, "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "",
        "MPICH, src/pm/hydra/mpiexec/pmiserv_cb.c; Intel MPI prints the rank and the signal too",
        r"^=   (?:RANK (?P<ranks>\d{1,6}) )?PID (?P<pid>\d{1,10}) RUNNING AT (?P<host>\S+)|^=   EXIT CODE: (?P<code>\d{1,5})"
        r"|^=   KILLED BY SIGNAL: (?P<number>\d{1,2})|TERMINATED WITH THE EXIT STRING: .*\(signal (?P<by>\d{1,2})\)",
    ),
    _row(
        EXIT, DEEPSPEED, "exits with return code = ", r"\] exits with return code = (?P<code>-?\d{1,5})", "",
        "DeepSpeed, deepspeed/launcher/launch.py: sigkill_handler",
    ),
    _row(
        EXIT, RAY, "Worker exit type: ", r"Worker PID: (?P<pid>\d{1,10}) Worker exit type: (?P<reason>\w+)",
        "a Ray worker died; Ray's own logs of its node contain the reason", "Ray, python/ray/_private/worker.py, print_worker_logs",
    ),
    _row(
        TIMEOUT, NCCL, "Watchdog caught collective operation timeout",
        r"\[[Rr]ank (?P<ranks>\d{1,6})\] Watchdog caught collective operation timeout: ",
        "a collective did not complete in time: another rank did not enter it, or died",
        "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
    ),
    _row(
        WORKER, DATA_LOADER, "is killed by signal", r"DataLoader worker \(pid (?P<pid>\d{1,10})\) is killed by signal",
        "a DataLoader worker was killed, often because memory or /dev/shm was full", "torch/csrc/DataLoader.cpp",
    ),
    _row(
        EXIT, SHELL, "Killed", rf"{_BASH}(?P<signal>Killed){_END}",
        "SIGKILL: usually the kernel's out-of-memory killer, else kill -9", _STRSIGNAL,
    ),
    _row(EXIT, SHELL, "Segmentation fault", rf"{_BASH}(?P<signal>Segmentation fault){_END}", "compiled code crashed", _STRSIGNAL),
    _row(
        EXIT, SHELL, "Bus error", rf"{_BASH}(?P<signal>Bus error){_END}", "usually /dev/shm or a disk was full", _STRSIGNAL,
    ),
    _row(
        EXIT, SHELL, "Aborted", rf"{_BASH}(?P<signal>Aborted){_END}", "compiled code called abort(): its message is above",
        _STRSIGNAL,
    ),
)  # fmt: skip
"""The first row that matches a line counts."""
NEEDLES = tuple(dict.fromkeys(row.needle for row in ROWS))
_PREFIX = re.compile(r"^(?:\[default\d+\]:|\d{1,6}: )")
_GLOG = re.compile(r"[VIWEC](?P<time>\d{4} \d\d:\d\d:\d\d\.\d{6}) (?P<pid>\d{1,10}) \S+:\d+\] ")
"""torch's own prefix of torchrun's messages (`torch/_logging/_internal.py: TorchLogsFormatter`)."""


class LauncherReader:
    """Collects reports from the lines of one output, in file order."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self._fields: re.Pattern[str] | None = None
        self._lines = 0

    @property
    def is_open(self) -> bool:
        """Whether further lines may belong to the last report."""
        return self._fields is not None

    def read(self, line: TextLine) -> None:
        """Read the next line."""
        if self._fields is not None:
            self._read_field(line.text[:LINE_LIMIT])
        report = report_of(line)
        if report is None:
            return
        row = report[1]
        self.reports.append(report[0])
        self._fields, self._lines = row.fields, 0

    def _read_field(self, text: str) -> None:
        assert self._fields is not None
        self._lines += 1
        if self._lines > BLOCK_LINES:
            self._fields = None
        elif match := self._fields.search(_PREFIX.sub("", text)):
            fields = _fields(match.groupdict())
            self.reports[-1] = replace(self.reports[-1], **fields)


def report_of(line: TextLine) -> tuple[Report, Row] | None:
    """Return the report that a line begins, with its row; None for any other line."""
    rows = [row for row in ROWS if row.needle in line.data]
    if not rows:
        return None
    text = line.text[:LINE_LIMIT]
    bare = _PREFIX.sub("", text)
    for row in rows:
        if match := row.pattern.search(bare):
            glog = _GLOG.search(bare)
            agent = int(glog["pid"]) if glog and row.program == TORCHRUN else None
            time = glog["time"] if glog else ""
            report = Report(line.offset, row.kind, row.program, bare.strip(), row.meaning, agent=agent, time=time)
            is_memory = row.kind == MEMORY or row.program == KERNEL or match.groupdict().get("signal") == "Out Of Memory"
            return replace(report, is_memory=is_memory, **_fields(match.groupdict())), row
    return None


def _fields(groups: dict[str, str | None]) -> dict[str, Any]:
    """Return the fields of a report that a match contains."""
    values = {name: value for name, value in groups.items() if value}
    fields: dict[str, Any] = {name: values[name] for name in ("host", "reason") if name in values}
    if "ranks" in values:
        fields["ranks"] = _ranks(values["ranks"])
    if "pid" in values and int(values["pid"]) > 0:  # Open MPI prints PID 0 for a process of another node
        fields["pid"] = int(values["pid"])
    if (local := values.get("local") or values.get("index")) is not None:
        fields["local_rank"] = int(local)
    if "code" in values:
        code = int(values["code"])
        fields["exit_code"] = code
        if code < 0:
            fields["signal"] = _NUMBERS.get(-code, f"signal {-code}")
    if (number := values.get("number") or values.get("by")) is not None:
        fields["signal"] = _NUMBERS.get(int(number), f"signal {number}")
    if "name" in values:
        fields["signal"] = values["name"]
    if "signal" in values:
        fields["signal"] = _SIGNALS[values["signal"]]
    return fields


def _ranks(text: str) -> tuple[int, ...]:
    """`1,4-7` → 1, 4, 5, 6, 7; empty where the text is no list of at most `RANKS_LIMIT` numbers."""
    ranks: list[int] = []
    for piece in text.split(","):
        first, dash, last = piece.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or max(len(first), len(last)) > 9:
            return ()
        begin, end = int(first), int(last or first)
        if not 0 <= end - begin < RANKS_LIMIT - len(ranks):
            return ()
        ranks += range(begin, end + 1)
    return tuple(ranks)
