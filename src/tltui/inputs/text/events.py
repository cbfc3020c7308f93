r"""What a message of TORCH_LOGS text is: the event that torch writes to a trace at the same place of its code, or one of its own.

`TABLE` is all that is known of messages. A row says which logger writes it, how its first line begins, and which kind of record it
becomes; further columns only where they are needed. To teach another message, add a line.

A message is not delimited: two of one call site within a millisecond have the same prefix. So a line that begins like a row of its
logger begins another message; in a logger without rows equal prefixes are one message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from tltui.inputs.text import made
from tltui.inputs.text.grammar import module_of
from tltui.inputs.text.made import Said
from tltui.trace.batch import Kind

SYMBOLS = "torch/fx/experimental/symbolic_shapes.py"
RECORDING = "torch/fx/experimental/recording.py"
CONVERT = "torch/_dynamo/convert_frame.py"
PGO = "torch/_dynamo/pgo.py"
TRANSLATOR = "torch/_dynamo/symbolic_convert.py"
INFERENCE = (b"graph_capture.py", b"dispatch_and_compile_graph.py")
"""Files of torch/_functorch/_aot_autograd in which graphs without a backward are logged (2.8 and later; before)."""


AUTOMATIC = "automatic_dynamic"
"""What torch makes dynamic as it varied: in a trace an event of this name (`update_automatic_dynamic` of torch/_dynamo/pgo.py)."""


class Fact(Enum):
    """What a message tells beside its own content."""

    STARTS = "Dynamo begins with a frame"
    STEPS = "Dynamo begins to trace a frame; the first attempt of a compile, unless another message said so"
    NAMES = "name, file and line of the frame"
    GRAPH = "its comments name functions"
    BREAK = "its stack names functions"
    TREE = "a guard tree, which a latency may follow"
    LATENCY = "the latency of the guard tree before it"
    ALONE = "a forward graph if a joint graph came before it, else that of an inference"
    JOINT = "AOTAutograd will split this graph: what follows is a forward graph"


def event(name: str) -> Kind:
    """A record of a trace with a key of its own."""
    return Kind(name, "")


def text(name: str, encoding: str = "string") -> Kind:
    """A record of the kind `artifact`."""
    return Kind("artifact", name, encoding)


@dataclass(frozen=True, slots=True)
class Row:
    """A message that is known."""

    logger: str
    """The artifact of its prefix, or the file of torch for a logger without one."""
    opens: str
    """How its first line begins: a pattern. Its groups name the function of the frame, with `Fact.NAMES`."""
    kind: Kind | None = None
    """None: a log message, which belongs to its logger."""
    payload: Callable[[Said], bytes] | None = made.whole
    """Its payload; None where the event has none."""
    value: Callable[[Said], object] | None = None
    """The value of the event key; None for torch's usual one."""
    fact: Fact | None = None
    second: str = ""
    """A pattern for the second line, where the first one does not tell."""
    site: tuple[bytes, ...] = ()
    """The files of torch that may write it, by the end of their path; empty: any."""
    cuts: bool = True
    """Whether it begins a message where an equal prefix stands before it."""
    pattern: re.Pattern[bytes] = field(init=False, compare=False)
    next_line: re.Pattern[bytes] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(self.opens.encode()))
        object.__setattr__(self, "next_line", re.compile(self.second.encode()))


def _graph(logger: str, title: str, kind: Kind, fact: Fact | None = None, site: tuple[bytes, ...] = ()) -> Row:
    """A graph as `_format_graph_code` of torch/fx/_utils.py writes it: the title stands in the second line."""
    return Row(logger, r"TRACED GRAPH$", kind, made.graph, fact=fact, second=rf" ===== {title} =====$", site=site)


def _cached(title: str, kind: Kind, fact: Fact | None = None) -> Row:
    """A graph that came from the cache: `_log_cached_graphs` of torch/_functorch/_aot_autograd/autograd_cache.py."""
    return Row("aot_graphs", rf"{title} graph \(from cache\)$", kind, made.after_blank, fact=fact)


def _recompiled(logger: str) -> Row:
    opens = r"Recompiling function (?P<name>.+) in (?P<file>.+):(?P<line>\d{1,9})$"
    return Row(logger, opens, text("recompile_reasons", "json"), made.recompile_reasons, fact=Fact.NAMES)


def _bytecode(which: str) -> Row:
    opens = rf"{which} BYTECODE (?P<name>\S+) (?P<file>.+) line (?P<line>\d{{1,9}}) *$"
    return Row("bytecode", opens, text(f"bytecode_{which.lower()}"), fact=Fact.NAMES)


def _symbols(logger: str) -> list[Row]:
    return [
        Row(logger, r"create_symbol (\S+) = (.+?) for (.+?) (\[[^\]]*\]) ?", event("create_symbol"), None, made.symbol),
        Row(logger, r"create_unbacked_\w+ (\S+) \[", event("create_unbacked_symbol"), None, made.unbacked),
        Row(logger, r"\w+(?: \(forcing_spec\))? .* \[guard added\]", event("guard_added_fast"), None, made.guard),
        Row(logger, r"set_replacement \S+ = -?\d[\d.]* \(", event("symbolic_shape_specialization"), None, made.specialization),
        *(Row(logger, opens) for opens in (
            r"create_env$", r"produce_guards$", r"track_symint ", r"eval ", r"runtime_assert ", r"set_replacement ",
            r"create_symbol ", r"Skipping guard ", r"_update_var_to_range ", r"could not evaluate ", r"constrain_symbol_range ",
            r"compute_unbacked_bindings ",
        )),
    ]  # fmt: skip


FROM_CACHE = _cached("Forward", event("aot_inference_graph"))
"""A forward graph before which no joint one came."""

TABLE: list[Row] = [
    _recompiled("recompiles"),
    _recompiled("recompiles_verbose"),
    Row("graph_breaks", r"Graph break(?: \([^)]*\))? in user code at ", text("dynamo_graph_break_reason"), made.graph_break,
        fact=Fact.BREAK),
    Row("graph_breaks", r"Graph break: |torch\.compile (?:cannot|will skip)", text("dynamo_graph_break_reason")),
    Row("guards", r"$", event("dynamo_cpp_guards_str"), made.guard_tree, fact=Fact.TREE, second=r"TREE_GUARD_MANAGER:", cuts=False),
    Row("guards", r"TREE_GUARD_MANAGER:", event("dynamo_cpp_guards_str"), made.guard_tree, fact=Fact.TREE),
    Row("guards", r"Guard eval latency = ", Kind("log", "guard_latency"), fact=Fact.LATENCY),
    Row("guards", r"(?:Python|C\+\+) shape guard function:", text("guards_text")),
    Row("guards", r"GUARDS:$"),
    _graph("graph_code", r"__compiled_fn_\S+", event("dynamo_output_graph"), Fact.GRAPH),
    _graph("pre_grad_graphs", "BEFORE PRE GRAD", text("before_pre_grad_graph")),
    _graph("pre_grad_graphs", "AFTER PRE GRAD", text("after_pre_grad_graph")),
    _graph("aot_joint_graph", r"Joint graph \d+", event("aot_joint_graph"), Fact.JOINT),
    _graph("aot_graphs", r"Forward graph \d+", event("aot_inference_graph"), site=INFERENCE),
    _graph("aot_graphs", r"Forward graph \d+", event("aot_forward_graph")),
    _graph("aot_graphs", r"Backward graph \d+", event("aot_backward_graph")),
    _cached("Joint", event("aot_joint_graph"), Fact.JOINT),
    _cached("Forward", event("aot_forward_graph"), Fact.ALONE),
    _cached("Backward", event("aot_backward_graph")),
    Row("aot_graphs", r"aot_config id: \d+, fw_metadata=", text("aot_metadata")),
    _graph("post_grad_graphs", "AFTER POST GRAD", text("inductor_post_grad_graph")),
    _graph("compiled_autograd", r"Compiled autograd graph", event("compiled_autograd_graph")),
    *(Row(logger, r"TRACED GRAPH$", second=r" ===== ") for logger in (
        "graph_code", "graph_code_verbose", "pre_grad_graphs", "aot_joint_graph", "aot_graphs", "post_grad_graphs",
        "compiled_autograd",
    )),
    Row("output_code", r"Output code: *$", event("inductor_output_code"), made.rest),
    Row("output_code", r"Output code written to: "),
    Row("output_code", r"Output (?:wrapper|kernel) code: *$", text("output_code_aoti"), made.rest),
    Row("ir_pre_fusion", r"BEFORE FUSION$", text("ir_pre_fusion"), made.rest),
    Row("ir_post_fusion", r"AFTER FUSION$", text("ir_post_fusion"), made.rest),
    _bytecode("ORIGINAL"),
    _bytecode("MODIFIED"),
    Row("kernel_code", r"", text("kernel_code"), cuts=False),
    Row("perf_hints", r"", text("perf_hints"), cuts=False),
    Row("ddp_graphs", r"", text("ddp_graphs"), cuts=False),
    Row("cudagraphs", r"(?i:skipping cudagraph)", text("cudagraphs")),
    Row(CONVERT, r"torchdynamo start compiling (?P<name>.+) (?P<file>\S+):(?P<line>\d{1,9})(?:, stack .*)?$",
        event("dynamo_start"), None, made.start, fact=Fact.STARTS),
    Row(CONVERT, r"Restarting analysis due to "),
    Row(TRANSLATOR, r"Step 1: torchdynamo start tracing (?P<name>.+) (?P<file>\S+):(?P<line>\d{1,9})$",
        event("dynamo_start"), None, made.start, fact=Fact.STEPS),
    Row("torch/_dynamo/eval_frame.py", r"TorchDynamo attempted to trace the following frames: \[", text("dynamo_frames")),
    Row("torch/_dynamo/utils.py", r"TorchDynamo compilation metrics:", text("compile_times")),
    Row(PGO, r"marking .+ as dynamic \(from automatic dynamic/PGO\)$", Kind("log", AUTOMATIC)),
    Row(PGO, r"automatic dynamic (?:int|size|stride) ", Kind("log", AUTOMATIC)),
    *_symbols(SYMBOLS),
    *_symbols(RECORDING),
    *(Row(logger, r"TRACE ") for logger in ("trace_bytecode", "trace_source", "trace_call")),
    *(Row("fusion", opens) for opens in (
        r"cannot fuse ", r"can fuse ", r"fusing ", r"found \d+ possible", r"=====", r"completed fusion", r"fuse_nodes_once",
        r"  \w*SchedulerNode\(",
    )),
    Row("schedule", r"Schedule:$"),
]  # fmt: skip

GROUP = re.compile(r"\(\?P<\w+>")


class Logger:
    """The rows of one logger, and what its other messages are."""

    __slots__ = ("_rows", "begins", "other")

    def __init__(self, name: str, rows: list[Row]) -> None:
        self._rows = rows
        self.other = Row(name, r"", Kind("log", name), cuts=False)
        cutting = [GROUP.sub("(?:", row.opens) for row in rows if row.cuts]
        self.begins = re.compile("|".join(f"(?:{opens})" for opens in cutting).encode()) if cutting else None
        """How a line begins that begins a message; None: none does."""

    def row(self, said: bytes, path: bytes, second: bytes | None = None) -> Row | None:
        """The row of a message with this first line. None where it takes the second line to tell, and that was not given."""
        for row in self._rows:
            if row.pattern.match(said) and (not row.site or path.endswith(row.site)):
                if not row.second:
                    return row
                if second is None:
                    return None
                if row.next_line.match(second):
                    return row
        return self.other

    def row_of(self, kind: Kind, said: bytes) -> Row:
        """The row by which a message with this first line became a record of this kind."""
        for row in (*self._rows, FROM_CACHE):
            if row.kind == kind and row.pattern.match(said):
                return row
        return self.other


def loggers() -> dict[str, list[Row]]:
    """Logger → its rows, in the order of the table."""
    found: dict[str, list[Row]] = {}
    for row in TABLE:
        found.setdefault(row.logger, []).append(row)
    return found


ROWS = loggers()


def logger_of(artifact: bytes | None, path: bytes) -> Logger:
    """The logger that wrote a message: by its artifact, else by the file of torch that it stands in."""
    if artifact is not None:
        name = artifact.decode("ascii", "replace")
        return Logger(name, ROWS.get(name, []))
    module = module_of(path)
    rows = ROWS.get(module, [])
    return Logger(module.removesuffix(".py").replace("/", ".") if module.startswith("torch/") else module, rows)
