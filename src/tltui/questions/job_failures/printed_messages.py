"""Messages in a job's output: reports of launchers, Slurm, MPI and the kernel that a process ended, and Python tracebacks."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import field, replace
from typing import Any

from tltui.questions.job_failures.traceback_forms import HEADER, IPYTHON_HEADER, RICH_HEADER, Frames, RichFrames, frames_of
from tltui.questions.stacks.tracebacks import (
    CAUSE,
    MEMBER,
    QUOTED,
    RAISED,
    StackFrame,
    TracebackPart,
    last_raised,
    read_traceback,
    user_stack,
)
from tltui.text.frozen import frozen, mutable
from tltui.text.lazy_pattern import lazy_pattern
from tltui.text.terminal_lines import shown
from tltui.text.torch_names import Owner, is_framework

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
OUTER = (
    rf"(?:\[default\d+\]:|\[(?!rank\d+\]:)[^\]\n]{{1,60}}\](?:<\w+>)?:? ?|\d{{1,6}}: |{_TIME} (?:std(?:out|err) F )?"
    r"|[\w.-]{1,80} +\| |\([^()\n]{1,80} pid=\d{1,10}(?:, ip=[\w.:]{2,45})?\) "
    r"|(?:INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[\w./]{1,80}:\d{1,6}\] ?)*?"
)
"""What launchers print before each line: torchrun --tee `[default0]:`, srun -l `0: `, mpirun --tag-output `[1,0]<stderr>:`, kubectl
logs --prefix `[pod/name/container] ` and --timestamps, container logs `… stderr F `,
docker compose `name  | `, Ray `(name pid=1, ip=10.0.0.1) `, vLLM `(EngineCore_DP0 pid=1) ERROR 08-12 10:00:00 [core.py:700] `.
Only known where a known text follows."""
RANK = r"(?:\[rank(?P<rank>\d+)\]: ?)?"
"""torch's own, before each line of a traceback while torch.distributed is initialised (`_distributed_excepthook`)."""
_TIMES = lazy_pattern(_TIME)


@frozen
class TextLine:
    """A line of a job's output that is no log record."""

    offset: int
    """Bytes from the beginning of the file."""
    data: bytes
    """Bytes of the line, without its line end."""
    pid: int | None = None
    """The pid of the records around it; None if unknown."""
    rank: int | None = None

    @property
    def end(self) -> int:
        """Offset behind its line end."""
        return self.offset + len(self.data) + 1

    @property
    def text(self) -> str:
        """Return the line as a terminal shows it: without colours, and of a progress bar the last state."""
        return shown(self.data).decode("utf-8", "replace")


@frozen
class Prefix:
    """The prefix of each line of one writer."""

    outer: str
    rank: int | None

    @property
    def key(self) -> tuple[str, int | None]:
        """Return a key that is equal for all its lines: times in them change."""
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
WATCHDOG = "Watchdog caught collective operation timeout"
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
    """Pattern with the groups `ranks`, `local`, `index`, `pid`, `code`, `signal`, `name`, `number`, `host`, `reason`."""
    meaning: str
    """A sentence for a reader who has not met the message before."""
    source: str
    """The file that prints it."""
    fields: re.Pattern[str] | None = None
    """Pattern of the further lines of the same message."""


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
    """Number of torchrun's worker on its node, or of the process of `torch.multiprocessing`."""
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
    return Row(kind, program, needle.encode(), lazy_pattern(pattern), meaning, source, more)


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
        "the job exceeded its Slurm memory limit, and the kernel killed processes in it; the message names no rank",
        "slurm, src/plugins/task/cgroup/task_cgroup_memory.c",
    ),
    _row(
        MEMORY, SLURM, "oom-kill event", r"Detected \d+ oom-kill event\(s\) in (?P<reason>\S+)",
        "the job exceeded its Slurm memory limit, and the kernel killed processes in it; the message names no rank",
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
        "a Ray worker died; Ray's logs on that node contain the reason", "Ray, python/ray/_private/worker.py, print_worker_logs",
    ),
    _row(
        TIMEOUT, NCCL, WATCHDOG, rf"\[[Rr]ank (?P<ranks>\d{{1,6}})\] {WATCHDOG}: ",
        "a collective timed out: another rank did not enter it, or died",
        "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
    ),
    _row(
        WORKER, DATA_LOADER, "is killed by signal", r"DataLoader worker \(pid (?P<pid>\d{1,10})\) is killed by signal",
        "a DataLoader worker was killed, often because memory or /dev/shm was full", "torch/csrc/DataLoader.cpp",
    ),
    _row(
        EXIT, SHELL, "Killed", rf"{_BASH}(?P<signal>Killed){_END}",
        "SIGKILL: usually the kernel's out-of-memory killer, otherwise kill -9", _STRSIGNAL,
    ),
    _row(EXIT, SHELL, "Segmentation fault", rf"{_BASH}(?P<signal>Segmentation fault){_END}", "compiled code crashed", _STRSIGNAL),
    _row(
        EXIT, SHELL, "Bus error", rf"{_BASH}(?P<signal>Bus error){_END}", "usually /dev/shm or a disk was full", _STRSIGNAL,
    ),
    _row(
        EXIT, SHELL, "Aborted", rf"{_BASH}(?P<signal>Aborted){_END}", "native code called abort(): its message is above",
        _STRSIGNAL,
    ),
)  # fmt: skip
"""The first row that matches a line counts."""
NEEDLES = tuple(dict.fromkeys(row.needle for row in ROWS))
_PREFIX = lazy_pattern(r"^(?:\[default\d+\]:|\d{1,6}: )")
_GLOG = lazy_pattern(r"[VIWEC](?P<time>\d{4} \d\d:\d\d:\d\d\.\d{6}) (?P<pid>\d{1,10}) \S+:\d+\] ")
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


_HEADER = r"(?:Exception Group )?Traceback \(most recent call last\):"
_OPENER = lazy_pattern(
    rf"^(?P<outer>{OUTER}){RANK}(?P<text>"
    rf"(?P<group>\s*\+ Exception Group Traceback \(most recent call last\):)|(?P<header>{_HEADER})"
    rf"|(?P<other>{RICH_HEADER}|{IPYTHON_HEADER})"
    r'|(?P<cut>  File "[^"]+", line \d+, in \S.*|torch\._(?:dynamo|inductor)\.exc\.\w+: .*)'
    r'|(?P<syntax>  File "[^"]+", line \d+)|(?P<fatal>Fatal Python error: .*)'
    r"|(?P<failed>torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError:)"
    r"|(?P<lead>Exception (?:in thread|ignored in).*:))\s*$"
)
OPENERS = (
    b"Traceback (most recent call last)", b'  File "', b"torch._dynamo.exc.", b"torch._inductor.exc.", b"Fatal Python error: ",
    b"ChildFailedError:", b"Exception in", b"Exception ignored in", b"\x1b",
)  # fmt: skip
"""Each line that begins a traceback contains one of these texts, or colors that may hide it."""
_FRAMES = lazy_pattern(rb'(?:  File "[^"\n\r\x1b]+", line \d+, in [^\n\r\x1b]*\n(?: {4,}[!-~][^\n\r\x1b]*\n)*)+')
"""Frames as Python prints them."""
_CHAINED = lazy_pattern(r"^(?:The above exception was the direct cause|During handling of the above exception, another exception)")
_RAISED = lazy_pattern(r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z_]\w*)(?:: ?(?P<message>.*))?$")
_BAR = lazy_pattern(r"^\s*(?:\+(?:-\+)?-{4,}(?: (?P<number>\d+|\.\.\.) -+)?$|\| ?(?P<rest>.*)$|\+ (?P<inner>Exception Group .*)$)")
"""A line of an exception group (`TracebackException._format` of Python's traceback.py)."""
MEMBERS = 8
"""Exceptions of a group that count."""
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_FATAL_FRAME = lazy_pattern(r'^  File "(?P<file>[^"]+)", line (?P<line>\d{1,9}) in (?P<name>\S+)')
_RULE = lazy_pattern(r"^=+\s*$")
_PARAGRAPH = lazy_pattern(
    r"^(?:from user code:|User stack:|Set TORCHDYNAMO_VERBOSE=1|You can suppress this exception|Original traceback:"
    r"|While executing|ATTENTION: guard_size_oblivious|consider using data-dependent|Caused by: \(|User Stack \(most recent"
    r"|For C\+\+ stack trace)"
)
_LAST_PARAGRAPH = lazy_pattern(r"^Set TORCHDYNAMO_VERBOSE=1")
_SHORT = frozenset((
    "Unsupported", "InternalTorchDynamoError", "BackendCompilerFailed", "TorchRuntimeError", "FailOnRecompileLimitHit",
    "RecompileError", "InvalidBackend", "UncapturedHigherOrderOpError", "InductorError", "LoweringException", "CppCompileError",
    "CUDACompileError", "CppWrapperCodegenError", "InvalidCxxCompiler", "TritonMissing", "GPUTooOldForTriton",
    "MissingOperatorWithDecomp", "MissingOperatorWithoutDecomp",
))  # fmt: skip
"""Exceptions of `torch/_dynamo/exc.py` and `torch/_inductor/exc.py` that no other library has by that name."""
CONSTRAINT = "ConstraintViolationError"
"""Torch adds the user's stack to its message since 2.8 (`torch/fx/experimental/symbolic_shapes.py`)."""
USER_STACK = "User stack:"
DATA_DEPENDENT = "GuardOnDataDependentSymNode"
"""Its message has paragraphs (`ShapeEnv._make_data_dependent_error`), and ends with a line about the C++ stack."""
_LAST_OF_DATA_DEPENDENT = "For C++ stack trace, run with"
OVERWRITTEN = "tensor output of CUDAGraphs that has been overwritten"
"""Raised where the program uses the tensor, often outside of torch's compiler (torch/_inductor/cudagraph_trees.py)."""
IN_SUBPROCESS = "An exception occurred in a subprocess:"
"""The traceback of a compile worker follows in the message (torch/_inductor/compile_worker/subproc_pool.py)."""
FATAL = "Fatal Python error"
CHILD_FAILED = "ChildFailedError"
INTERLOPERS = 20
"""Lines of other writers between the frames of one traceback; with more of them its end is lost."""
NOTE_LINES = 40
"""Lines of an exception's notes (PEP 678) before a chained traceback; any other output of the job looks alike."""
LONGEST = 4000
"""Lines of one traceback. What is longer is cut: no exception's message is worth more."""


@frozen
class Traceback:
    """One traceback, chained exceptions and all."""

    offset: int
    """Bytes from the beginning of the file to its first line."""
    end: int
    """Offset behind its last line."""
    rank: int | None
    pid: int | None
    """The pid of the records around it; None if unknown."""
    type: str
    """The exception that it is about, with its module where the text has it; '' where the output ends before. In a chain it is
    the last one, or that of a failed compile which is its direct cause."""
    message: str
    file: str | None = None
    """The innermost line of the user's own code; of a failed compile the one that was being compiled."""
    line: int | None = None
    function: str | None = None
    lead: str = ""
    """The line before it: `Exception in thread …`, `Exception ignored in …`."""
    parts: tuple[TracebackPart, ...] = ()

    @property
    def name(self) -> str:
        """The exception without its module."""
        return self.type.rpartition(".")[2]

    @property
    def headline(self) -> str:
        """`RuntimeError: rank 1 gives up`: its first line."""
        lines = self.message.split("\n", 2)
        worker = self.parts[-1] if self.parts and self.parts[-1].link == QUOTED else None
        if worker is not None and worker.type and lines[0].rstrip().endswith(IN_SUBPROCESS):
            message = worker.message.strip().split("\n", 1)[0]
            return f"{self.name}: {lines[0].rstrip().removesuffix(IN_SUBPROCESS)}{worker.type}: {message}"
        first = " ".join(lines[: 2 if lines[0].endswith("raised:") else 1]).strip()
        return f"{self.name}: {first}" if first else self.name

    @property
    def is_compile(self) -> bool:
        """Whether a compile failed."""
        return is_compile_failure(self.type)

    @property
    def is_deadly(self) -> bool:
        """Whether Python ends by it where nobody catches it; a thread's, or one in a destructor, ends nothing else."""
        return not self.lead


def is_compile_failure(type_: str) -> bool:
    """Return whether an exception is one of a compile, by its full or its short name."""
    return type_.startswith(("torch._dynamo.exc.", "torch._inductor.exc.")) or type_ in _SHORT


@mutable
class _Block:
    """A traceback that is being read."""

    first: TextLine
    prefix: Prefix
    pattern: re.Pattern[str]
    lines: list[str] = field(default_factory=list)
    end: int = 0
    state: str = "frames"
    """`frames`, `message`, `blank` (a blank line behind a message), `notes` (lines that are notes if a chained traceback follows),
    `chained` (another header follows), `group`, `syntax`, `fatal`, `torchrun`."""
    type: str = ""
    others: int = 0
    rules: int = 0
    lead: str = ""
    noted: tuple[int, int] = (0, 0)
    """Lines and end before the notes."""
    is_cut: bool = False
    """Whether its header is missing."""
    is_wrapped: bool = False
    """Whether its message may be wrapped: rich does that."""
    form: Frames | None = None
    """The frames in the form of rich or IPython that are being read."""
    members: TracebackReader | None = None
    """The reader of the exceptions in a group."""

    def add(self, line: TextLine, text: str) -> None:
        self.lines.append(text)
        if text.strip():
            self.end = line.end


class TracebackReader:
    """Reader of lines in file order that collects tracebacks and torchrun's summaries (text and offset) as they end."""

    def __init__(self) -> None:
        self.tracebacks: list[Traceback] = []
        self.torchrun: list[tuple[int, str]] = []
        """(offset, text from `ChildFailedError` on)"""
        self._open: dict[tuple[str, int | None], _Block] = {}
        self._leads: dict[tuple[str, int | None], tuple[str, int]] = {}
        self._end = 0

    @property
    def is_open(self) -> bool:
        """Whether a traceback may go on with the next line."""
        return bool(self._open)

    def read(self, line: TextLine) -> None:
        """Read the next line."""
        has_gap, self._end = line.offset > self._end, line.end
        for block in list(self._open.values()):
            if has_gap and not block.prefix.outer and block.prefix.rank is None and block.state in ("message", "blank", "notes"):
                self._close(block)  # a log record follows: the message is over
        self.read_adjacent(line)

    def read_adjacent(self, line: TextLine) -> None:
        """Read a line that follows the one before immediately, whatever their offsets are."""
        text = line.text
        opener = _OPENER.match(text)
        if (owner := self._owner(text)) is not None:
            match = owner.pattern.match(text)
            assert match is not None
            if self._goes_on(owner, line, match["rest"] or "", opener):
                return
        if opener is not None:
            self._begin(line, opener)

    def read_frames(self, data: bytes, at: int, stop: int, offset: int) -> int:
        """Read the frames from `at` to `stop` at once; return their size in bytes, 0 where single lines must be read.

        `offset`: of the block in the file.
        """
        if len(self._open) != 1:
            return 0
        (block,) = self._open.values()
        if block.state != "frames" or block.form is not None or block.prefix.outer or block.prefix.rank is not None:
            return 0
        match = _FRAMES.match(data, at, stop)
        if match is None or b"+ Exception Group" in match[0]:
            return 0
        lines = match[0].decode("utf-8", "replace").removesuffix("\n").split("\n")
        if len(block.lines) + len(lines) > LONGEST:
            return 0
        block.lines += lines
        block.end = self._end = offset + match.end()
        return match.end() - at

    def read_all(self, data: bytes) -> None:
        """Read the lines of a whole text."""
        at = 0
        while at <= len(data):
            if self._open and (passed := self.read_frames(data, at, len(data), 0)):
                at += passed
                continue
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            self.read(TextLine(at, data[at:end]))
            at = end + 1

    def ended(self) -> TracebackReader:
        """Return a copy whose open tracebacks are closed."""
        other = TracebackReader()
        other.tracebacks, other.torchrun, other._open = [*self.tracebacks], [*self.torchrun], deepcopy(self._open)
        other.close()
        return other

    def reads_message(self, text: str) -> bool:
        """Read the next line if it may belong to the message of the one open traceback, and return whether it may."""
        if len(self._open) != 1:
            return False
        (block,) = self._open.values()
        return block.state in ("message", "blank") and self._goes_on(block, TextLine(block.end, text.encode()), text, None)

    def close(self) -> None:
        """Close the open tracebacks: there are no more lines."""
        for block in list(self._open.values()):
            self._close(block)

    def _owner(self, text: str) -> _Block | None:
        """Return the block that a line belongs to: of the writer with its prefix, else of the one without a prefix."""
        plain = None
        for block in self._open.values():
            if not block.prefix.outer and block.prefix.rank is None:
                plain = block
            elif block.pattern.match(text):
                return block
        return None if plain is None or text.startswith("[rank") else plain

    def _begin(self, line: TextLine, opener: re.Match[str]) -> None:
        rank = opener["rank"]
        prefix = Prefix(opener["outer"], None if rank is None else int(rank))
        if opener["lead"]:
            self._leads[prefix.key] = opener["text"].rstrip().rstrip(":"), line.end
            return
        if (before := self._open.get(prefix.key)) is not None:
            self._close(before)
        block = _Block(line, prefix, prefix.pattern())
        lead, end = self._leads.pop(prefix.key, ("", -1))
        block.lead = lead if prefix.outer or end == line.offset else ""
        block.state = next((name for name in ("group", "syntax", "fatal") if opener[name]), "frames")
        if opener["other"]:
            block.form = frames_of(opener["text"])
            block.is_wrapped = isinstance(block.form, RichFrames)
            block.add(line, HEADER)
        else:
            block.lines += [HEADER] * bool(opener["cut"])
            block.add(line, opener["text"])
        if opener["cut"]:
            block.is_cut = True
            if match := _RAISED.match(opener["text"]):
                block.type, block.state = match["type"], "message"
        if opener["failed"]:
            block.state, block.type = "torchrun", CHILD_FAILED
        self._open[prefix.key] = block

    def _goes_on(self, block: _Block, line: TextLine, text: str, opener: re.Match[str] | None) -> bool:
        """Take a line into a block, or close it. True when the line was used."""
        if block.form is not None:
            converted = block.form.read(text)
            if converted is not None:
                block.end = line.end
                block.lines += converted
                return True
            block.form = None
        step = {
            "frames": self._in_frames, "message": self._in_message, "blank": self._in_message, "notes": self._in_notes,
            "chained": self._in_chain, "group": self._in_group,
            "syntax": self._in_syntax, "fatal": self._in_fatal, "torchrun": self._in_torchrun,
        }[block.state]  # fmt: skip
        is_header = opener is not None and not opener["failed"] and not opener["cut"]
        if len(block.lines) > LONGEST or not step(block, text, is_header):
            self._close(block)
            return False
        if opener is not None and opener["other"] and block.state == "frames":
            block.form = frames_of(opener["text"])
            text = HEADER
        block.add(line, text)
        return True

    def _in_frames(self, block: _Block, text: str, is_opener: bool) -> bool:
        if is_opener and len(block.lines) > 1:
            return False
        if not text.strip() or text[0].isspace():
            return True
        raised = _RAISED.match(text)
        if raised is None:
            block.others += 1
            return block.others <= INTERLOPERS and not block.is_cut
        block.type = raised["type"]
        block.state = "torchrun" if block.type.endswith("." + CHILD_FAILED) else "message"
        return True

    def _in_message(self, block: _Block, text: str, is_opener: bool) -> bool:
        if _CHAINED.match(text):
            block.state = "chained"
            return True
        is_constraint, is_data_dependent = block.type.endswith(CONSTRAINT), block.type.endswith(DATA_DEPENDENT)
        if is_opener and any(line.rstrip().endswith(IN_SUBPROCESS) for line in block.lines[-3:]):
            block.state = "message"
            return True
        if is_opener and not (is_constraint and USER_STACK in block.lines and text.startswith("  File ")):
            return False
        if block.prefix.rank is not None:
            return True
        is_compile = is_compile_failure(block.type) or is_constraint or is_data_dependent
        if not text.strip():
            if block.state == "blank" and not is_compile:
                return False
            block.state = "blank"
            return True
        is_over = any(_LAST_PARAGRAPH.match(line) for line in block.lines[-2:]) or (
            is_data_dependent and any(line.startswith(_LAST_OF_DATA_DEPENDENT) for line in block.lines[-2:])
        )
        if is_compile and not is_over:
            goes_on = block.state == "message" or text[0].isspace() or _PARAGRAPH.match(text) is not None
            block.state = "message" if goes_on and (block.is_wrapped or is_data_dependent) else block.state
        else:
            goes_on = not is_compile and block.state == "message" and text[0].isspace()
        if not goes_on:
            block.state, block.noted = "notes", (len(block.lines), block.end)
        return True

    def _in_notes(self, block: _Block, text: str, is_opener: bool) -> bool:
        if _CHAINED.match(text):
            block.state = "chained"
            return True
        return _OPENER.match(text) is None and len(block.lines) < block.noted[0] + NOTE_LINES

    def _in_chain(self, block: _Block, text: str, is_opener: bool) -> bool:
        if is_opener:
            block.state = "group" if text.lstrip().startswith("+") else "frames"
        return is_opener or not text.strip()

    def _in_group(self, block: _Block, text: str, is_opener: bool) -> bool:
        if not (match := _BAR.match(text)):  # Python 3.11 and 3.12 print only the first line of a message after the bar
            return block.members is not None and block.members.reads_message(text)
        if match["number"]:
            if block.members is not None:
                block.members.close()
            else:
                block.members = TracebackReader()
        elif block.members is not None:
            rest = (match["rest"] or "").encode("utf-8", "replace")
            block.members.read_adjacent(TextLine(block.end, rest, block.first.pid, block.first.rank))
        return True

    def _in_syntax(self, block: _Block, text: str, is_opener: bool) -> bool:
        if text.startswith("    ") and len(block.lines) < 4:
            return True
        raised = _RAISED.match(text)
        if raised is None or raised["type"] not in _SYNTAX:
            block.lines.clear()
            return False
        block.type, block.state = raised["type"], "message"
        return True

    def _in_fatal(self, block: _Block, text: str, is_opener: bool) -> bool:
        if not text.strip() or text.startswith(("Current thread ", "Thread 0x", "Python runtime state:")):
            return not any(_FATAL_FRAME.match(line) for line in block.lines)
        return _FATAL_FRAME.match(text) is not None

    def _in_torchrun(self, block: _Block, text: str, is_opener: bool) -> bool:
        if block.rules >= 2:
            return False
        block.rules += bool(_RULE.match(text))
        return True

    def _close(self, block: _Block) -> None:
        del self._open[block.prefix.key]
        if block.state == "notes":  # no chained traceback followed: other output
            lines, block.end = block.noted
            del block.lines[lines:]
        if not block.lines:
            return
        rank = block.first.rank if block.prefix.rank is None else block.prefix.rank
        text = "\n".join(block.lines)
        if block.state == "torchrun":
            self.torchrun.append((block.first.offset, text[max(text.rfind(CHILD_FAILED + ":"), 0) :]))
        elif block.state == "fatal":
            self.tracebacks.append(_fatal(block, rank))
        elif block.is_cut and not block.type:
            return  # a stack that somebody printed
        elif block.members is not None and (members := _members(block, rank)):
            self.tracebacks += members
        else:
            self.tracebacks.append(_traceback(block, rank, text))


def _members(block: _Block, rank: int | None) -> list[Traceback]:
    """Return the different exceptions in a group if one of them is that of a failed compile; else the group itself counts."""
    assert block.members is not None
    block.members.close()
    members = {(item.type, item.message, item.file, item.line): item for item in block.members.tracebacks if item.type}
    if not any(item.is_compile for item in members.values()):
        return []
    return [replace(item, rank=rank, lead=block.lead) for item in list(members.values())[:MEMBERS]]


def _fatal(block: _Block, rank: int | None) -> Traceback:
    """Return the traceback that faulthandler printed, innermost frame first."""
    frames = []
    for line in reversed(block.lines):
        if match := _FATAL_FRAME.match(line):
            file = match["file"]
            frames.append(StackFrame(match["name"], file, int(match["line"]), None, is_framework(file)))
    user = next((frame for frame in reversed(frames) if frame.owner is Owner.USER), None)
    return Traceback(
        block.first.offset, block.end, rank, block.first.pid, FATAL, block.lines[0].partition(": ")[2].strip(),
        user.file if user else None, user.line if user else None, user.name if user else None,
    )  # fmt: skip


def _failed_compile(parts: tuple[TracebackPart, ...]) -> TracebackPart | None:
    """Return the exception of a compile that is the direct cause of the last exception; None if there is none."""
    for part in reversed([part for part in parts if part.kind == RAISED and part.link not in (QUOTED, MEMBER)]):
        if is_compile_failure(part.type):
            return part
        if part.link != CAUSE:
            return None
    return None


def _traceback(block: _Block, rank: int | None, text: str) -> Traceback:
    parts = read_traceback(text)
    last = last_raised(parts)
    compiling = None if is_compile_failure(block.type) else _failed_compile(parts)
    is_explained = compiling is not None or is_compile_failure(block.type) or block.type.endswith(CONSTRAINT)
    frames = (user_stack(parts) if is_explained else ()) or (last.frames if last else ())
    lead = next((frame for frame in reversed(frames) if frame.owner is Owner.USER), None)
    type_, message = (compiling.type, compiling.message) if compiling else (block.type, last.message if last else "")
    if not type_ and last is not None:  # the name of a group comes after its bars
        type_ = last.type
    if block.lines[0].startswith("  File "):
        message = next(line for line in block.lines if line.startswith(block.type)).partition(": ")[2]
        place = re.match(r'  File "([^"]+)", line (\d+)', block.lines[0])
        lead = StackFrame("", place[1], int(place[2])) if place else None
    return Traceback(
        block.first.offset, block.end, rank, block.first.pid, type_, message, lead.file if lead else None,
        lead.line if lead else None, (lead.name or None) if lead else None, block.lead, parts,
    )  # fmt: skip
