"""Warnings of torch in a job's output that need no TORCH_LOGS: their meaning and remedy."""

from __future__ import annotations

import re
from dataclasses import replace

from tltui.questions.job_failures.printed_messages import LINE_LIMIT, TextLine, TracebackReader
from tltui.text.frozen import frozen
from tltui.text.torch_names import is_framework

BELOW = 200
"""Lines below a warning in which its details are searched: a compiler's command and output are long."""
DETAIL = 300
"""Characters of details that are kept."""
MOST = 1000
"""Warnings of one output that are kept."""


@frozen
class WarningRow:
    """One warning."""

    needle: bytes
    """Every line with the warning contains it."""
    title: str
    means: str
    fix: str
    """A sentence with what to type; '' where nothing need be done."""
    versions: str
    """The minor versions of torch whose sources have the text, of 2.4, 2.6, 2.8, 2.11 and 2.13."""
    source: str
    """The file that prints it."""
    module: str = ""
    """The logger's file, where it is no `warnings.warn` but a log message of torch."""
    detail: str = ""
    """A pattern for its details, in its own line or the next `BELOW` ones; '' for none."""
    is_traced: bool = False
    """Whether a trace records the same."""
    begins: str = ""
    """A pattern for the beginning of its line; '' for any."""
    place: str = ""
    """A pattern for the user's line in the next lines, up to the details; '' for none."""


ALL = "2.4–2.13"
CUDAGRAPHS_SKIPPED = "CUDA graphs are skipped"
LIMIT_REACHED = "Recompile limit reached"
ROWS: tuple[WarningRow, ...] = (
    WarningRow(
        b"flex_attention called without torch.compile()", "flex_attention ran unfused",
        "It materializes the full score matrix: memory grows with query length × key length.",
        "Call torch.compile(flex_attention)(…). If that call already exists, it hit the recompile limit: build the mask once.",
        "2.11–2.13", "torch/nn/attention/flex_attention.py",
    ),
    WarningRow(
        b"TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled", "TensorFloat32 is off",
        "Matrix multiplications in float32 do not use the tensor cores of this GPU.",
        'Call torch.set_float32_matmul_precision("high"): they are then faster but less precise.',
        ALL, "torch/_inductor/compile_fx.py",
    ),
    WarningRow(
        b"Please use the new API settings to control TF32 behavior", "A setting of TensorFloat32 has a new name",
        "The old name works until torch removes it; values of both kinds must not be mixed.",
        'Set torch.backends.cuda.matmul.fp32_precision = "tf32" (or "ieee") instead of allow_tf32.',
        "2.9–2.13", "aten/src/ATen/Context.cpp",
    ),
    WarningRow(
        b"failed to eagerly compile backwards for dynamic", "The backward could not be compiled with the forward",
        "Torch compiles it again when it is called, where the exception is raised if it occurs again.", "",
        "2.8–2.13", "torch/_functorch/_aot_autograd/graph_compile.py", "torch/_functorch/_aot_autograd/graph_compile.py",
    ),
    WarningRow(
        b"skipping cudagraphs due to ", CUDAGRAPHS_SKIPPED, "Each kernel is launched by itself.",
        "Remove the cause that the message names, for example a tensor on the CPU or an input that the function changes.",
        ALL, "torch/_inductor/cudagraph_utils.py",
        detail=r"skipping cudagraphs due to (?:skipping cudagraphs due to )?(?P<detail>.*?)(?:\. Found from.*)?$",
    ),
    WarningRow(
        b"backend='inductor' raised:", "Inductor failed on a graph", "The program caught the exception and printed only its text.",
        'Compile with backend="aot_eager": if that works, the fault is in Inductor.',
        ALL, "torch/_dynamo/exc.py", detail=r"^(?P<detail>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: .*|))$",
    ),
    WarningRow(
        b"Not enough SMs to use max_autotune_gemm mode", "max-autotune does not tune matrix multiplications",
        "Inductor tries Triton for them only on a GPU with at least 68 multiprocessors (16 on XPU).", "",
        ALL, "torch/_inductor/utils.py", "torch/_inductor/utils.py",
    ),
    WarningRow(
        b"GPU arch does not support max_autotune_gemm mode usage", "max-autotune does not tune matrix multiplications",
        "Inductor tries Triton for them only on newer AMD GPUs.", "",
        "2.6–2.13", "torch/_inductor/utils.py", "torch/_inductor/utils.py",
    ),
    WarningRow(
        b"Torchinductor does not support code generation for complex operators", "Inductor runs complex operators as they are",
        "Inductor generates no code for complex numbers.", "Use torch.view_as_real and real operators in the compiled function.",
        ALL, "torch/_inductor/lowering.py",
    ),
    WarningRow(
        b"Online softmax is disabled on the fly", "Inductor splits a softmax",
        "Inductor computes the maximum and the sum in separate reductions.", "", "2.8–2.11", "torch/_inductor/lowering.py",
    ),
    WarningRow(
        b"Dynamo detected a call to a `functools.lru_cache`-wrapped function", "Dynamo traces through functools.lru_cache",
        "Dynamo ignores the cache and traces the wrapped function.",
        "Call the function before compiled code, and pass in its result.",
        "2.8–2.13", "torch/_dynamo/variables/functions.py",
    ),
    WarningRow(
        b"Dynamo does not know how to trace the builtin `", "Dynamo cannot trace a builtin function",
        "The call is a graph break.", "Call it outside of the compiled function, or register a custom operator for it.",
        "2.8–2.13", "torch/_dynamo/variables/functions.py",
    ),
    WarningRow(
        b"Graph break from `Tensor.item()`", "Graph break at Tensor.item()",
        "Python needs the value of a tensor there. Torch prints this once per process.",
        "Set torch._dynamo.config.capture_scalar_outputs = True: the graph then includes the call.",
        ALL, "torch/_dynamo/variables/tensor.py", "torch/_dynamo/variables/tensor.py", is_traced=True,
    ),
    WarningRow(
        b"WON'T CONVERT ", "Dynamo failed on a function and runs it in eager mode",
        "suppress_errors hides the exception from the caller.",
        "Set torch._dynamo.config.suppress_errors = False: the exception then names its cause.",
        ALL, "torch/_dynamo/exc.py", "torch/_dynamo/convert_frame.py", is_traced=True,
    ),
    WarningRow(
        b"torch._dynamo hit config.", LIMIT_REACHED,
        "Torch no longer compiles the function: calls that match no compiled version run in eager mode.",
        'Run it with TORCH_LOGS="recompiles", or with tltui run: the log then has all recompilations and their reasons.',
        ALL, "torch/_dynamo/convert_frame.py", detail=r"^ +last reason: (?:\d+/\d+: )?(?P<detail>.*)", is_traced=True,
        begins=r".*(?:WARN|torch\._dynamo\.convert_frame)",
        place=r"^ +function: '[^'\n]+' \((?P<file>.+):(?P<line>\d{1,9})\)$",
    ),
    WarningRow(
        b"Runtime error during autotuning", "A kernel choice failed during autotuning",
        "Inductor ignores this choice and uses another one.", "", ALL, "torch/_inductor/select_algorithm.py",
        "torch/_inductor/select_algorithm.py", r"Runtime error during autotuning: \n(?P<detail>.*)",
    ),
    WarningRow(
        b"No valid triton configs. ", "No configuration of a Triton kernel fits the GPU",
        "Each one needs more shared memory, registers or threads than the GPU has.",
        "Reduce the tile sizes (for flex_attention: kernel_options), or set TORCHINDUCTOR_MAX_AUTOTUNE=0.",
        ALL, "torch/_inductor/runtime/triton_heuristics.py",
        detail=r"No valid triton configs\. (?P<detail>.*?)(?: for benchmark choice .*)?(?:\n|$)",
    ),
    WarningRow(
        b"C++ compile error", "The C++ compiler failed on generated code", "The code was a CPU kernel or a kernel launcher.",
        "Fix the first compiler error, which is often a missing header or an old g++.",
        ALL, "torch/_inductor/exc.py", detail=r"(?P<detail>(?:\S+: )?(?:fatal )?error: .*)",
    ),
    WarningRow(
        b"Internal Triton PTX codegen error", "ptxas failed on a Triton kernel", "ptxas assembles the kernel for this GPU.",
        "Set TRITON_PTXAS_PATH to the ptxas of a CUDA toolkit that supports the GPU.",
        ALL, "triton/backends/nvidia/compiler.py (Triton 3.0 and later)", detail=r"(?P<detail>ptxas (?:fatal|error|\S+, line).*)",
    ),
    WarningRow(
        b"No working C++ compiler found in torch._inductor.config.cpp.cxx", "Inductor found no C++ compiler",
        "Inductor needs a compiler for CPU kernels and kernel launchers.", "Install g++, or set CXX=/path/to/g++.",
        ALL, "torch/_inductor/exc.py",
    ),
    WarningRow(
        b"Cannot find a working triton installation", "Inductor found no Triton",
        "Inductor needs Triton for kernels on this device.", "Install the Triton version of this torch: pip install triton.",
        ALL, "torch/_inductor/exc.py (torch/_inductor/scheduler.py up to 2.6)",
    ),
    WarningRow(
        b"too old to be supported by the triton GPU compiler", "The GPU is too old for Triton",
        "Triton needs CUDA capability 7.0 or newer.", 'Compile with backend="aot_eager", or use a newer GPU.',
        ALL, "torch/_inductor/exc.py (torch/_inductor/scheduler.py up to 2.6)",
    ),
)  # fmt: skip
"""Each warning once. Texts of CUDA graphs and autotuning have pages of their own."""
NEEDLES = tuple(row.needle for row in ROWS)
MODULES = frozenset(row.module for row in ROWS if row.module)
_WARNED = re.compile(r"^(?:\[[^\]\n]{1,60}\]:? ?|\d{1,6}: )*(?P<file>\S.*?):(?P<line>\d{1,9}): \w*Warning: ")
_FRAME = re.compile(r'^ +File "(?P<file>[^"]+)", line (?P<line>\d{1,9}), in ')
_STACK_BEGINS = re.compile(r"Found from ?: *$")
"""End of a warning that is followed by the stack of the program (torch/_inductor/cudagraph_utils.py)."""
_STACK_FRAME = re.compile(r' File "(?P<file>[^"]+)", line (?P<line>\d{1,9}), in ')
_BETWEEN_FRAMES = 3
"""Lines of code below a frame; Python 3.11 and later mark a part of them."""
_FUNCTION = re.compile(r"WON'T CONVERT \S+ (?P<file>.+?) line (?P<line>\d{1,9}) *$", re.MULTILINE)


@frozen
class Warned:
    """A warning in an output."""

    row: WarningRow
    offset: int
    """Bytes from the beginning of the file."""
    file: str | None = None
    """The user's line, where the text has it."""
    line: int | None = None
    detail: str = ""
    """The exception, or what the compiler printed; '' for none."""
    record: int = -1
    """The record of the message, where it is one of a logger of torch; else -1."""


class WarningReader:
    """Collects warnings from the lines of one output."""

    def __init__(self) -> None:
        self.warnings: list[Warned] = []
        self._below = 0
        """Lines in which details of the last warning are still searched."""
        self._frames = 0
        """Lines in which the next frame of its stack is still searched."""

    @property
    def is_open(self) -> bool:
        """Whether details of the last warning may follow."""
        return self._below > 0 or self._frames > 0

    @property
    def is_full(self) -> bool:
        """Whether further warnings are not kept."""
        return len(self.warnings) >= MOST

    def read(self, line: TextLine) -> None:
        """Read a line that no logger of torch wrote."""
        row = next((row for row in ROWS if row.needle in line.data), None)
        if row is None or self.is_full or _is_quoted(row, line.data) or not re.match(row.begins, line.text[:LINE_LIMIT]):
            self._read_detail(line)
            return
        text = line.text[:LINE_LIMIT]
        match = _WARNED.match(text)
        user = match is not None and not is_framework(match["file"])
        file, number = (match["file"], int(match["line"])) if match is not None and user else (None, None)
        detail = _detail_in(row, text)
        self._below = 0 if detail or not row.detail else BELOW
        self._frames = _BETWEEN_FRAMES if _STACK_BEGINS.search(text) else 0
        self.warnings.append(Warned(row, line.offset, file, number, detail))

    def _read_detail(self, line: TextLine) -> None:
        if self._frames:
            match = _STACK_FRAME.search(line.text[:LINE_LIMIT])
            self._frames = _BETWEEN_FRAMES if match else self._frames - 1 if line.data.strip() else 0
            if match is not None and not is_framework(match["file"]):
                self.warnings[-1] = replace(self.warnings[-1], file=match["file"], line=int(match["line"]))
        if self._below:
            self._below -= 1
            row = self.warnings[-1].row
            if row.place and (match := re.search(row.place, line.text[:LINE_LIMIT])):
                self.warnings[-1] = replace(self.warnings[-1], file=match["file"], line=int(match["line"]))
            if detail := _detail_in(self.warnings[-1].row, line.text[:LINE_LIMIT]):
                self.warnings[-1] = replace(self.warnings[-1], detail=detail)
                self._below = 0

    def read_message(self, text: str, offset: int, record: int) -> None:
        """Read a message of a logger of torch."""
        row = next((row for row in ROWS if row.module and row.needle.decode() in text), None)
        if row is None or self.is_full:
            return
        frames = [match for line in text.split("\n") if (match := _FRAME.match(line)) and not is_framework(match["file"])]
        match = _FUNCTION.search(text) or (frames[-1] if frames else None)
        file, number = (match["file"], int(match["line"])) if match is not None else (None, None)
        self.warnings.append(Warned(row, offset, file, number, _detail_in(row, text) or _exception_in(text), record))


def _is_quoted(row: WarningRow, data: bytes) -> bool:
    """Return whether a line is code of torch in a traceback, with the text of the warning in quotes, or an exception itself."""
    if b"BackendCompilerFailed" in data:
        return True
    return data[: data.find(row.needle)].endswith((b'"', b"'"))


def _detail_in(row: WarningRow, text: str) -> str:
    match = re.search(row.detail, text) if row.detail else None
    return match["detail"].strip()[:DETAIL] if match else ""


def _exception_in(text: str) -> str:
    """Return the headline of the last exception in a message; '' for none."""
    reader = TracebackReader()
    reader.read_all(text.encode("utf-8", "replace"))
    reader.close()
    return reader.tracebacks[-1].headline[:DETAIL] if reader.tracebacks else ""
