"""Events of TORCH_LOGS messages, and their payloads as torch would write them to a trace.

Messages about CUDA graphs: torch/_inductor/cudagraph_utils.py, cudagraph_trees.py, compile_fx.py and output_code.py of torch 2.4 to
2.13. Their warnings belong to `perf_hints` until torch 2.8 and to `cudagraphs` later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import field
from enum import Enum

from tltui.inputs.text.line_grammar import module_of
from tltui.text.frozen import frozen
from tltui.trace.batch import Kind

CUDAGRAPH_WARNINGS = (r"(?i:skipping cudagraph)", r"disabling cudagraphs ", r"CUDAGraph supports dynamic shapes by recording ")
CUDAGRAPH_RECORDINGS = (r"(?:\[[^\]]*\] )?(?:[Rr]ecording cudagraph tree for |Recording function|Re-recording function)",)
CUDAGRAPH_LOGGERS = {
    "perf_hints": CUDAGRAPH_WARNINGS,
    "cudagraphs": (*CUDAGRAPH_WARNINGS, *CUDAGRAPH_RECORDINGS),
    "torch/_inductor/cudagraph_trees.py": CUDAGRAPH_RECORDINGS,
}
"""Logger or file → how its messages about CUDA graphs begin."""

REASON = re.compile(rb"- (?=(?:\d+/\d+|!\d+(?:/\d+/\d+)?): )")
FAILURES = re.compile(rb"guard \d+ failures:$")
CLASS = re.compile(rb" ?\S.*? (?=class )| (?=class )| ?\S+ ?")
LATENCY = b"Guard eval latency = "
SUPPRESSED = b" (user stack suppressed due to duplicate graph break)"
STACK = b"User code traceback:"
FIRST_STACK = b"(The text leaves out the stack of this break: it is that of the first one at this place.)"
SYMBOL = re.compile(r"create_symbol (\S+) = (.+?) for (.+?) (\[[^\]]*\]) ?(.*)", re.DOTALL)
UNBACKED = re.compile(r"create_unbacked_\w+ (\S+) (\[.+?, .+?\])(?: (.*))?", re.DOTALL)
GUARD = re.compile(r"(\w+)(?: \(forcing_spec\))? (.+?) \[guard added\] ?(.*)", re.DOTALL)
SPECIALIZATION = re.compile(r"set_replacement (\S+) = (.+?) \((.+?)\) ")
START = re.compile(r"(?:Step 1: )?torchdynamo start (?:compiling|tracing) (.+) (\S+):(\d{1,9})(?:, stack .*)?")
PLACE = re.compile(r"(.*)  # (\S+):(\d{1,9}) in (\S+) \((\S+?):(\d{1,9}) in ([^)]*)\)")
FRAME = re.compile(r'  File "([^"\n]+)", line (\d{1,9}), in (\S+)')

LIMIT = "recompile_limit"
"""The warning that a frame was compiled as often as `recompile_limit` allows; a trace has metrics with that failure instead."""
SYMBOLS = "torch/fx/experimental/symbolic_shapes.py"
RECORDING = "torch/fx/experimental/recording.py"
CONVERT = "torch/_dynamo/convert_frame.py"
PGO = "torch/_dynamo/pgo.py"
TRANSLATOR = "torch/_dynamo/symbolic_convert.py"
INFERENCE = (b"graph_capture.py", b"dispatch_and_compile_graph.py")
"""Files of torch/_functorch/_aot_autograd in which graphs without a backward are logged (2.8 and later; before)."""
AUTOMATIC = "automatic_dynamic"
"""What torch makes dynamic as it varied: in a trace an event of this name (`update_automatic_dynamic` of torch/_dynamo/pgo.py)."""
GROUP = re.compile(r"\(\?P<\w+>")


@frozen
class MessagePayload:
    """A message, and related text in other places, which is read on demand."""

    lines: list[bytes]
    """Without prefixes and colours."""
    latency: Callable[[], bytes]
    """The message with the latency of this guard tree; b"" for none."""
    first_break: Callable[[], list[bytes]]
    """The lines of the first break at the place of this one; [] for none."""

    @property
    def first(self) -> str:
        """The first line."""
        return self.lines[0].decode("utf-8", "replace")


class Fact(Enum):
    """A fact in a message besides its own content."""

    STARTS = "Dynamo starts a frame"
    STEPS = "Dynamo starts to trace a frame: the first attempt of a compile unless another message came first"
    NAMES = "name, file and line of the frame"
    NAMES_BELOW = "name, file and line of the frame, on the second line of the message"
    GRAPH = "its comments name functions"
    BREAK = "its stack names functions"
    TREE = "a guard tree, which a latency may follow"
    LATENCY = "the latency of the guard tree before it"
    ALONE = "a forward graph if a joint graph came before it, otherwise an inference graph"
    JOINT = "AOTAutograd will split this graph: the next one is a forward graph"


def whole_payload(message: MessagePayload) -> bytes:
    """All of it."""
    return b"\n".join(message.lines)


def rest_payload(message: MessagePayload) -> bytes:
    """All but the first line."""
    return b"\n".join(message.lines[1:])


def payload_after_blank(message: MessagePayload) -> bytes:
    """Return the text after a title and an empty line."""
    return b"\n".join(message.lines[2:])


def graph_payload(message: MessagePayload) -> bytes:
    r"""Return the graph of `TRACED GRAPH\n ===== NAME =====\n FILE class …`, which one more newline ends."""
    third = message.lines[2] if len(message.lines) > 2 else b""
    match = CLASS.match(third)
    body = b"\n".join([third[match.end() :] if match else third, *message.lines[3:]])
    return body.removesuffix(b"\n")


def recompile_reasons_payload(message: MessagePayload) -> bytes:
    """One reason as it is, several as a JSON list: `trace_structured` of torch/_logging/_internal.py."""
    reasons: list[bytes] = []
    for line in message.lines[2:]:
        line = line.removeprefix(b"    ")
        if FAILURES.match(line):
            if reasons:  # an empty line stands before those of the next cache entry
                reasons[-1] = reasons[-1].removesuffix(b"\n")
            continue
        if match := REASON.match(line):
            reasons.append(line[match.end() :])
        elif reasons:
            reasons[-1] += b"\n" + line.removeprefix(b"- ")
    if len(reasons) == 1:
        return reasons[0]
    if not reasons:  # torch changed its words: better as it stands than nothing
        return rest_payload(message)
    return ("[\n" + ",\n".join(json.dumps(reason.decode("utf-8", "replace")) for reason in reasons) + "\n]").encode()


def guard_tree_payload(message: MessagePayload) -> bytes:
    """Return the tree, and the latency, which is a message of its own."""
    latency = message.latency()
    tree = b"\n".join(message.lines)
    return tree + b"\nGuard latency = " + latency.removeprefix(LATENCY) if latency else tree


def graph_break_payload(message: MessagePayload) -> bytes:
    """Return the break, without the traceback of Dynamo itself.

    The text omits the stack where a break at this place was logged before: it is that one's then, and a line notes it.
    """
    head = message.lines[0]
    lines = [head.replace(SUPPRESSED, b"", 1), *message.lines[1:]]
    if SUPPRESSED in head:
        first = message.first_break()
        if STACK in first:
            lines = [*_trimmed(lines), b"", *_trimmed(first[first.index(STACK) :]), b"", FIRST_STACK]
    return b"\n".join(lines)


def _trimmed(lines: list[bytes]) -> list[bytes]:
    end = len(lines)
    while end and not lines[end - 1]:
        end -= 1
    return lines[:end]


def symbol_payload(message: MessagePayload) -> object:
    """`create_symbol s77 = 5 for L['x'].size()[0] [2, int_oo] CODE  # FILE:LINE in FUNCTION (…)`."""
    match = SYMBOL.match(message.first)
    if match is None:
        return {}
    name, value, source, limits, place = match.groups()
    return {"symbol": name, "val": value, "vr": limits, "source": source, **_place(place)}


def unbacked_payload(message: MessagePayload) -> object:
    """`create_unbacked_symint u0 [-int_oo, int_oo] …`."""
    match = UNBACKED.match(message.first)
    return {"symbol": match[1], "vr": match[2], **_place(match[3] or "")} if match else {}


def guard_payload(message: MessagePayload) -> object:
    """`eval Eq(s77, 5) [guard added] CODE  # FILE:LINE in FUNCTION (…)`."""
    match = GUARD.match(message.first)
    if match is None:
        return {}
    deferred = {"prefix": match[1]} if match[1] == "runtime_assert" else {}
    return {"expr": match[2], **deferred, **_place(match[3])}


def specialization_payload(message: MessagePayload) -> object:
    """`set_replacement s77 = 5 (range_refined_to_singleton) VR[5, 5]`."""
    match = SPECIALIZATION.match(message.first)
    return {"symbol": match[1], "sources": [], "value": match[2], "reason": match[3]} if match else {}


def start_payload(message: MessagePayload) -> object:
    """Return the stack of the program, and the function itself as its last frame."""
    match = START.match(message.first)
    if match is None:
        return {}
    stack: list[dict[str, object]] = []
    for line in message.lines[1:]:
        text = line.decode("utf-8", "replace")
        if frame := FRAME.match(text):
            stack.append({"line": int(frame[2]), "name": frame[3], "filename": frame[1]})
        elif stack and text.startswith("    ") and text.strip(" ~^"):
            stack[-1].setdefault("loc", text.strip())
    return {"stack": [*stack, {"line": int(match[3]), "name": match[1], "filename": match[2]}]}


def _place(text: str) -> dict[str, object]:
    """Return the program frame of a message about a symbol, and the calling frame of torch."""
    match = PLACE.match(text)
    if match is None:
        return {}
    code, file, line, name, by, by_line, by_name = match.groups()
    return {
        "user_stack": [{"line": int(line), "name": name, "filename": file, "loc": code}],
        "stack": [{"line": int(by_line), "name": by_name, "filename": f"torch/{by}"}],
    }


def event(name: str) -> Kind:
    """Return the kind of a trace record with a key of its own."""
    return Kind(name, "")


def text(name: str, encoding: str = "string") -> Kind:
    """Return the kind of a record `artifact`."""
    return Kind("artifact", name, encoding)


@frozen
class Row:
    """A message that is known."""

    logger: str
    """The artifact of its prefix, or the file of torch for a logger without one."""
    opens: str
    """How its first line begins: a pattern. Its groups name the function of the frame, with `Fact.NAMES`."""
    kind: Kind | None = None
    """None: a log message, which belongs to its logger."""
    payload: Callable[[MessagePayload], bytes] | None = whole_payload
    """Its payload; None where the event has none."""
    value: Callable[[MessagePayload], object] | None = None
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
    """Return the row of a graph as `_format_graph_code` of torch/fx/_utils.py writes it: the title is on the second line."""
    return Row(logger, r"TRACED GRAPH$", kind, graph_payload, fact=fact, second=rf" ===== {title} =====$", site=site)


def _cached(title: str, kind: Kind, fact: Fact | None = None) -> Row:
    """Return the row of a graph from the cache: `_log_cached_graphs` of torch/_functorch/_aot_autograd/autograd_cache.py."""
    return Row("aot_graphs", rf"{title} graph \(from cache\)$", kind, payload_after_blank, fact=fact)


def _recompiled(logger: str) -> Row:
    opens = r"Recompiling function (?P<name>.+) in (?P<file>.+):(?P<line>\d{1,9})$"
    return Row(logger, opens, text("recompile_reasons", "json"), recompile_reasons_payload, fact=Fact.NAMES)


def _limits() -> list[Row]:
    """Return the rows of the warning that a frame was compiled too often: `_compile` of torch/_dynamo/convert_frame.py.

    The first row is of a complete warning, the second of one that is cut after its first line.
    """
    opens = r"torch\._dynamo hit config\.(?:accumulated_)?(?:recompile|cache_size)_limit \(\d+\)$"
    second = r" +function: '(?P<name>.+)' \((?P<file>.+):(?P<line>\d{1,9})\)$"
    return [
        Row(CONVERT, opens, text(LIMIT), fact=Fact.NAMES_BELOW, second=second),
        Row(CONVERT, opens, text(LIMIT)),
    ]


def _bytecode(version: str) -> Row:
    opens = rf"{version} BYTECODE (?P<name>\S+) (?P<file>.+) line (?P<line>\d{{1,9}}) *$"
    return Row("bytecode", opens, text(f"bytecode_{version.lower()}"), fact=Fact.NAMES)


def _symbols(logger: str) -> list[Row]:
    return [
        Row(logger, r"create_symbol (\S+) = (.+?) for (.+?) (\[[^\]]*\]) ?", event("create_symbol"), None, symbol_payload),
        Row(logger, r"create_unbacked_\w+ (\S+) \[", event("create_unbacked_symbol"), None, unbacked_payload),
        Row(logger, r"\w+(?: \(forcing_spec\))? .* \[guard added\]", event("guard_added_fast"), None, guard_payload),
        Row(logger, r"set_replacement \S+ = -?\d[\d.]* \(", event("symbolic_shape_specialization"), None, specialization_payload),
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
    Row("graph_breaks", r"Graph break(?: \([^)]*\))? in user code at ", text("dynamo_graph_break_reason"), graph_break_payload,
        fact=Fact.BREAK),
    Row("graph_breaks", r"Graph break: |torch\.compile (?:cannot|will skip)", text("dynamo_graph_break_reason")),
    Row("guards", r"$", event("dynamo_cpp_guards_str"), guard_tree_payload, fact=Fact.TREE,
        second=r"TREE_GUARD_MANAGER:", cuts=False),
    Row("guards", r"TREE_GUARD_MANAGER:", event("dynamo_cpp_guards_str"), guard_tree_payload, fact=Fact.TREE),
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
    Row("output_code", r"Output code: *$", event("inductor_output_code"), rest_payload),
    Row("output_code", r"Output code written to: "),
    Row("output_code", r"Output (?:wrapper|kernel) code: *$", text("output_code_aoti"), rest_payload),
    Row("ir_pre_fusion", r"BEFORE FUSION$", text("ir_pre_fusion"), rest_payload),
    Row("ir_post_fusion", r"AFTER FUSION$", text("ir_post_fusion"), rest_payload),
    _bytecode("ORIGINAL"),
    _bytecode("MODIFIED"),
    Row("kernel_code", r"", text("kernel_code"), cuts=False),
    *(Row(logger, opens, text("cudagraphs")) for logger, messages in CUDAGRAPH_LOGGERS.items() for opens in messages),
    Row("perf_hints", r"", text("perf_hints"), cuts=False),
    Row("ddp_graphs", r"", text("ddp_graphs"), cuts=False),
    Row(CONVERT, r"torchdynamo start compiling (?P<name>.+) (?P<file>\S+):(?P<line>\d{1,9})(?:, stack .*)?$",
        event("dynamo_start"), None, start_payload, fact=Fact.STARTS),
    Row(CONVERT, r"Restarting analysis due to "),
    *_limits(),
    Row(TRANSLATOR, r"Step 1: torchdynamo start tracing (?P<name>.+) (?P<file>\S+):(?P<line>\d{1,9})$",
        event("dynamo_start"), None, start_payload, fact=Fact.STEPS),
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


class Logger:
    """The rows of one logger, and the kind of its other messages."""

    __slots__ = ("_rows", "begins", "other")

    def __init__(self, name: str, rows: list[Row]) -> None:
        self._rows = rows
        self.other = Row(name, r"", Kind("log", name), cuts=False)
        cutting = [GROUP.sub("(?:", row.opens) for row in rows if row.cuts]
        self.begins = re.compile("|".join(f"(?:{opens})" for opens in cutting).encode()) if cutting else None
        """How a line begins that begins a message; None: none does."""

    def row(self, first_line: bytes, path: bytes, second: bytes | None = None) -> Row | None:
        """Return the row of a message with this first line; None where the missing second line is needed."""
        for row in self._rows:
            if row.pattern.match(first_line) and (not row.site or path.endswith(row.site)):
                if not row.second:
                    return row
                if second is None:
                    return None
                if row.next_line.match(second):
                    return row
        return self.other

    def row_of(self, kind: Kind, first_line: bytes) -> Row:
        """Return the row by which a message with this first line became a record of this kind."""
        for row in (*self._rows, FROM_CACHE):
            if row.kind == kind and row.pattern.match(first_line):
                return row
        return self.other


def loggers() -> dict[str, list[Row]]:
    """Logger → its rows, in the order of the table."""
    rows: dict[str, list[Row]] = {}
    for row in TABLE:
        rows.setdefault(row.logger, []).append(row)
    return rows


ROWS = loggers()


def logger_of(artifact: bytes | None, path: bytes) -> Logger:
    """Return the logger that wrote a message: by its artifact, else by its file of torch."""
    if artifact is not None:
        name = artifact.decode("ascii", "replace")
        return Logger(name, ROWS.get(name, []))
    module = module_of(path)
    rows = ROWS.get(module, [])
    return Logger(module.removesuffix(".py").replace("/", ".") if module.startswith("torch/") else module, rows)
