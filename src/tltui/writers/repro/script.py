"""Script of a compile: choice of the graph, and the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.status import Status
from tltui.model.torch_version import version_of
from tltui.questions.problems.compile_problems import INTERRUPTED
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.provenance.records import WRITTEN
from tltui.text.frozen import frozen
from tltui.trace.log import Check
from tltui.writers.repro.checking import LONGEST, Refused, device_constant
from tltui.writers.repro.graph_classes import GraphClass, GraphCode, read_graph, read_runnable
from tltui.writers.repro.script_inputs import SYMBOL_NAME, Number, ReproFacts, Tensor, read_type, repro_facts, symbols_in
from tltui.writers.repro.tensor_bounds import MAX_BYTES, bounds, bytes_of, check_bytes

FALLBACK = 8
"""Value of a symbol without a recorded one: not 0, not 1, and most sizes divide it."""
POSITIVE = ("var", "sq", "std", "prob")
"""In the names of what is never negative: variances, the squares that optimizers keep."""
WANT_FX = ("tag_activation_checkpoint", "autograd_function_apply", "invoke_subgraph", "scan(")
"""Regions that ask their graphs for what only an FX graph has."""


@frozen
class Parts:
    """Contents of a script."""

    header: tuple[str, ...]
    """Lines, without the `#`."""
    code: GraphCode
    facts: ReproFacts
    differentiates: bool
    """Whether the graph is one of those before autograd, so that a backward can be run through it."""
    max_bytes: int = MAX_BYTES
    """Maximum bytes of its tensors together."""
    bisects: bool = False
    """Whether the script names the first node that differs, instead of comparing the whole graph once."""
    kernels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Node → the generated kernels that compute it."""


COMPARES = {
    "DESCRIPTION": "Compile and run one graph of a trace in a child process with limits, and compare with eager mode.",
    "OPTIONS": 'parser.add_argument("--eager", action="store_true", help="only run the graph in eager mode")',
    "CPU_SECONDS": "600",
    "WALL_SECONDS": "900",
}
BISECTS = {
    "DESCRIPTION": "Name the first node of a graph of a trace whose compiled result differs from eager mode, within limits.",
    "OPTIONS": """\
parser.add_argument("--tolerance", type=float, help="relative error that is allowed (default: by type, 1e-4 for float32)")
parser.add_argument("--no-bisector", action="store_true", help="do not run torch's compiler bisector on the node")""",
    "CPU_SECONDS": "3600",
    "WALL_SECONDS": "3600",
}
"""Placeholders of `script_begin.txt`."""


def script_of(parts: Parts) -> str:
    """Return the script. Raises `Refused`."""
    code, facts = parts.code, parts.facts
    main = code.root
    kinds = {name: read_type(kind) for name, kind in main.parameters.items()}
    constants = {(graph.name, name): _constant(name, kind) for graph in code.classes for name, kind in graph.constants.items()}
    symbols = _symbols([*kinds.values(), *constants.values()])
    hints = dict(facts.values)
    values = {name: hints.get(name, FALLBACK) for name in symbols}
    check_bytes(code, values, parts.max_bytes)
    devices = {each.device for each in (*kinds.values(), *constants.values()) if isinstance(each, Tensor)} | code.devices
    lines = [*(comment(line) for line in parts.header), ""]
    lines += _file("script_begin.txt", {**(BISECTS if parts.bisects else COMPARES), "MAX_BYTES": str(parts.max_bytes)})
    lines += ["", "", *_file("script_helpers.txt")]
    lines += ["", "", *(f"{device_constant(name)} = place({name!r})" for name in sorted(devices))]
    sources = dict(facts.sources)
    lines += [f"{name} = {values[name]!r}" + _hint_comment(sources.get(name), name in hints) for name in symbols]
    free = _free_numbers(kinds)
    lines += _settings(parts, symbols, free)
    for graph in code.classes:
        lines += ["", "", *_class(graph, constants, code.comments)]
    lines += ["", "", *_inputs(parts, kinds, values)]
    lines += ["", "", *_file("script_values.txt")]
    lines += ["", "", *_file("script_bisect.txt" if parts.bisects else "script_end.txt")]
    return "\n".join(lines).rstrip() + "\n"


def comment(text: str) -> str:
    """Return a text of the trace as a comment: one line of ASCII."""
    plain = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in text)
    return f"# {plain[:400].encode('ascii', 'backslashreplace').decode()}".rstrip()


def _hint_comment(source: str | None, is_known: bool) -> str:
    if not is_known:
        return "  # its value is not in the trace"
    return f"  {comment(source[:100])}" if source else ""


def _file(name: str, values: Mapping[str, str] | None = None) -> list[str]:
    text = files(__package__).joinpath(name).read_text("ascii").rstrip()
    for placeholder, value in (values or {}).items():
        text = text.replace(placeholder, value)
    return text.split("\n")


def _constant(name: str, kind: str) -> Tensor:
    if not kind:
        raise Refused(f"the graph needs the value {name[:60]!a}, which is not in the trace")
    type_ = read_type(kind)
    if not isinstance(type_, Tensor):
        raise Refused(f"the graph needs the number {name[:60]!a}, which is not in the trace")
    return type_


def _symbols(kinds: Sequence[Tensor | Number]) -> list[str]:
    texts = [text for kind in kinds for text in ((kind.value,) if isinstance(kind, Number) else (*kind.size, *(kind.stride or ())))]
    return list(dict.fromkeys(name for text in texts for name in symbols_in(text)))


def _free_numbers(kinds: dict[str, Tensor | Number]) -> bool:
    """Return whether an input number is not a size of a tensor: `dynamic=True` keeps it symbolic."""
    sizes = {size for kind in kinds.values() if isinstance(kind, Tensor) for size in kind.size}
    return any(isinstance(kind, Number) and kind.value not in sizes and symbols_in(kind.value) for kind in kinds.values())


def _settings(parts: Parts, symbols: list[str], free: bool) -> Iterator[str]:
    facts = parts.facts
    yield f"BACKEND = {facts.backend or 'inductor'!r}"
    yield f"SETTINGS = {dict(facts.switches)!r}"
    yield f"DYNAMIC = {True if free else None}"
    yield f"TRAINING = {parts.differentiates and _may_train(parts)}"
    yield f"EXPECTED = {facts.expected!r}"
    if parts.bisects:
        yield f"IS_RANDOM = {parts.code.is_random}"
        yield "KERNELS = {"
        yield from (f"    {name!a}: {kernels!a}," for name, kernels in parts.kernels)
        yield "}"
    if parts.code.is_random:
        yield "# random numbers: Inductor draws different ones than eager mode without this setting"
        yield "torch._inductor.config.fallback_random = True"
    if any("u" in name[:2] for name in symbols) or _asks_for_data(parts.code):
        yield "torch._dynamo.config.capture_scalar_outputs = True"
        yield "torch._dynamo.config.capture_dynamic_output_shape_ops = True"


def _may_train(parts: Parts) -> bool:
    facts = parts.facts
    if facts.has_backward:
        return True
    return not facts.backend and any(each.requires_grad for each in facts.tensors)


def _asks_for_data(code: GraphCode) -> bool:
    return any("u" in symbol[:2] for graph in code.classes for kind in graph.types.values() for symbol in symbols_in(kind))


def _class(graph: GraphClass, constants: dict[tuple[str, str], Tensor], comments: dict[int, str]) -> Iterator[str]:
    yield f"class {graph.name}(torch.nn.Module):"
    if graph.children or graph.constants:
        yield "    def __init__(self):"
        yield "        super().__init__()"
        traced = any(name in ast.unparse(statement) for statement in graph.body for name in WANT_FX)
        for attribute, name in graph.children.items():
            yield f"        self.{attribute} = " + (f"torch.fx.symbolic_trace({name}())" if traced else f"{name}()")
        for attribute in graph.constants:
            value = _tensor_call(constants[graph.name, attribute], "")
            yield f"        self.register_buffer({attribute!r}, Values(False, 2, False).{value})  # its values are not in the trace"
        yield ""
    yield f"    def forward({', '.join(('self', *graph.parameters))}):"
    text, count = "", 0
    for statement in graph.body:
        where = _comment_above(comments, getattr(statement, "lineno", 0))
        if where and where != text:
            yield f"        {comment(where)}"
        text = where or text
        yield f"        {ast.unparse(ast.fix_missing_locations(statement))}"
        count += 1
    if not count:
        yield "        pass"


def _comment_above(comments: dict[int, str], line: int) -> str:
    above = [at for at in comments if at <= line]
    return comments[max(above)] if above else ""


def _inputs(parts: Parts, kinds: dict[str, Tensor | Number], values: dict[str, int | float]) -> Iterator[str]:
    below = bounds(parts.code.root, values)
    trained = _trained(parts, kinds)
    yield "def inputs(values):"
    yield '    """Create the inputs of the graph: layouts as in the trace, random values."""'
    yield "    return ["
    for name, kind in kinds.items():
        if isinstance(kind, Number):
            yield f"        {kind.value},  # {name}"
            continue
        more = ", grad=True" if name in trained else ""
        if kind.dtype.startswith(("int", "uint")) and name in below:
            more += f", below={below[name]}"
        if kind.dtype.startswith(("float", "bfloat")) and any(word in name for word in POSITIVE):
            more += ", positive=True"
        tensor = parts.facts.tensor(name)
        strict = tuple(dim for dim in tensor.dynamic if 0 <= dim < len(kind.size)) if tensor is not None else ()
        dims = strict or tuple(dim for dim, size in enumerate(kind.size) if SYMBOL_NAME.fullmatch(size))
        if dims:
            more += f", dynamic={dims!r}" + (", strict=True" if strict else "")
        yield f"        values.{_tensor_call(kind, more)},  # {name}"
    yield "    ]"


def _tensor_call(kind: Tensor, more: str) -> str:
    def row(sizes: tuple[str, ...]) -> str:
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    stride = None if kind.stride is None else row(kind.stride)
    return f"tensor(torch.{kind.dtype}, {row(kind.size)}, {stride}, {device_constant(kind.device)}{more})"


def _trained(parts: Parts, kinds: dict[str, Tensor | Number]) -> set[str]:
    """Return the parameters of the graph that require a gradient; all floating ones if the trace names none."""
    if not parts.differentiates or not _may_train(parts):
        return set()
    tensors = {name: kind for name, kind in kinds.items() if isinstance(kind, Tensor)}
    real = [name for name, kind in tensors.items() if kind.dtype.startswith(("float", "bfloat", "complex"))]
    trained = {name for name in real if (tensor := parts.facts.tensor(name)) is not None and tensor.requires_grad}
    return trained or {name for name in real if "buffers" not in name}


def input_bytes(code: GraphCode, facts: ReproFacts) -> int:
    """Compute how many bytes the inputs take."""
    return sum(bytes_of(kind, dict(facts.values), FALLBACK) for kind in code.root.parameters.values())


RUNNABLE = "fx_graph_runnable"
WORTH = {
    "dynamo_output_graph": "your function as Dynamo captured it, before autograd and the backend",
    "before_pre_grad_graph": "the Dynamo graph as Inductor received it",
    "inductor_pre_grad_graph": "the Dynamo graph as Inductor received it",
    "after_pre_grad_graph": "the graph after Inductor's pre-grad passes",
    "aot_joint_graph": "forward and backward in one graph of ATen operations, with gradients as outputs",
    "aot_forward_graph": "the forward graph in ATen operations; its outputs include the tensors saved for the backward",
    "aot_inference_graph": "the graph in ATen operations",
    "before_post_grad_graph": "the ATen graph before Inductor's post-grad passes",
    "inductor_post_grad_graph": "the graph that Inductor lowers to kernels",
    "after_post_grad_graph": "the graph that Inductor lowers to kernels",
    RUNNABLE: "the graph that Inductor lowers to kernels, with the inputs that torch recorded",
    "aot_backward_graph": "the backward graph in ATen operations",
}
"""Graphs that a script can be made of, the best first, and what they are."""
BEFORE_AUTOGRAD = frozenset(("dynamo_output_graph", "before_pre_grad_graph", "inductor_pre_grad_graph", "after_pre_grad_graph"))


@frozen
class Tried:
    """A graph that no script can be made of."""

    ref: str
    why: str


@frozen
class Repro:
    """The script of a compile, or why there is none."""

    ref: str
    """The address of the compile."""
    graph: str
    """The address of the graph that it was made of; '' without a script."""
    script: str
    refused: str
    """A sentence; '' with a script."""
    tried: tuple[Tried, ...]
    """The graphs that would be worth more, or all of them, and why they can't be."""


def repro_of(
    compile_: Compile,
    only: str | None = None,
    artifact: Artifact | None = None,
    max_bytes: int = MAX_BYTES,
    bisects: bool = False,
) -> Repro:
    """Make the script of a compile, from the graphs that are called `only` or from one `artifact` if that is asked for.

    With `bisects` the script names the first node that differs.
    """
    ref = str(compile_.ref)
    graphs = _graphs(compile_, only) if artifact is None else [artifact] if artifact.name in WORTH else []
    if not graphs:
        return Repro(ref, "", "", _without_graph(compile_, only or (artifact.name if artifact else None)), ())
    facts = repro_facts(compile_)
    tried: list[Tried] = []
    for graph in graphs:
        try:
            script = _script(graph, facts, tuple(tried), max_bytes, bisects)
        except Refused as refused:
            tried.append(Tried(str(graph.ref), str(refused)))
            continue
        return Repro(ref, str(graph.ref), script, "", tuple(tried))
    return Repro(ref, "", "", _sentence(ref, tried), tuple(tried))


def _graphs(compile_: Compile, only: str | None) -> list[Artifact]:
    """Return the graphs of the last attempt with any, the best first."""
    order = list(WORTH)
    graphs = [each for each in artifacts_of(compile_) if each.name in WORTH and only in (None, each.name)]
    last = max((each.attempt for each in graphs), default=0)
    return sorted((each for each in graphs if each.attempt == last), key=lambda each: (order.index(each.name), each.n))


def _script(graph: Artifact, facts: ReproFacts, tried: tuple[Tried, ...], max_bytes: int, bisects: bool) -> str:
    checked = graph.log.check(graph.record)
    if checked is not None and checked.check is Check.BAD:
        raise Refused("its text is damaged")
    text = reader_of(graph.owner).text(graph.record, LONGEST + 1)
    if graph.log.columns.size[graph.record] > LONGEST:
        raise Refused(f"its text is longer than {LONGEST >> 20} MB")
    code = read_runnable(text) if graph.name == RUNNABLE else read_graph(text)
    differentiates = graph.name in BEFORE_AUTOGRAD
    if differentiates:
        _refuse_subclasses(code, facts)
    kernels = _kernels(graph, code) if bisects else ()
    header = _header(graph, facts, tried, code, bisects)
    return script_of(Parts(header, code, facts, differentiates, max_bytes, bisects, kernels))


def _kernels(graph: Artifact, code: GraphCode) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the kernels of each node of a graph, as far as torch recorded them. Graphs of AOTAutograd have no record."""
    is_pre = graph.name in BEFORE_AUTOGRAD
    results: dict[str, dict[str, None]] = {}
    for unit in provenance_of(graph.owner).units:
        if is_pre or str(graph.ref) in {pane.ref for pane in unit.panes}:
            for kernel in unit.kernels:
                for name in (kernel.pre_nodes if is_pre else kernel.post_nodes) if kernel.nodes_from in WRITTEN else ():
                    results.setdefault(name, {})[kernel.name[:200]] = None
    names = {each.id for statement in code.root.body for each in ast.walk(statement) if isinstance(each, ast.Name)}
    return tuple((name, tuple(kernels)) for name, kernels in results.items() if name in names)


def _refuse_subclasses(code: GraphCode, facts: ReproFacts) -> None:
    for name in code.root.parameters:
        tensor = facts.tensor(name)
        if tensor is not None and any(word in tensor.note for word in ("subclass", "nested", "sparse", "functorch")):
            raise Refused(f"the graph takes {tensor.source[:80]}, which is not a plain tensor ({tensor.note})")


def _header(
    graph: Artifact, facts: ReproFacts, tried: tuple[Tried, ...], code: GraphCode, bisects: bool
) -> tuple[str, ...]:  # fmt: skip
    owner = graph.owner
    name, file, line = owner.frame.code
    called = f"{name or 'a function'}" + (f" ({file}:{line})" if file else "")
    version = version_of(owner.process)
    torch = f"torch {version.stated}" if version.stated else version.words
    rank = "" if owner.process.rank is None else f", rank {owner.process.rank}"
    backend = facts.other_backend or facts.backend
    expected = "the result agrees with eager mode, and the exit code is 0"
    if facts.failure == INTERRUPTED:
        expected += "; the job was interrupted while compiling this graph"
    elif facts.failure:
        expected = f"the job failed with {facts.failure}: {' '.join(facts.failure_reason.split())[:200]}"
    if bisects:
        expected = "NO DIFFERENCE and exit code 0, or DIFFERS with the first node that differs from eager mode and exit code 1"
    run = "[--tolerance 1e-3] [--seed 0] [--no-bisector]" if bisects else "[--backend aot_eager] [--eager]"
    lines = [
        "From a trace: read before running.",
        "",
        f"What:    {called}, compile {owner.ref}{rank}, {torch}",
        f"Graph:   {graph.ref}: {WORTH[graph.name]}",
        f"Backend: {backend or 'unknown (not in the trace); the script uses inductor'}",
        f"Run:     python repro.py [--device cpu] {run}",
        f"Expect:  {expected}",
        f"Inputs:  layouts from the trace, filled with random values, at most {max(input_bytes(code, facts) >> 20, 1)} MB",
    ]
    if facts.other_backend:
        lines.append(f"         backend {facts.other_backend} is not in the trace. Import it and pass its name with --backend")
    lines += [f"Not from {each.ref}: {each.why}" for each in tried]
    return (*lines, "", "Written by tltui repro.")


def _without_graph(compile_: Compile, only: str | None) -> str:
    ref = compile_.ref
    if only is not None:
        names = sorted({each.name for each in artifacts_of(compile_)} & WORTH.keys())
        return f"not a graph of {ref}: '{only}'; graphs: {', '.join(names) or 'none'}"
    failures = repro_facts(compile_).failure
    if failures:
        return f"{ref} has no graph: torch failed before it captured one ({failures})."
    words: dict[Status | None, str] = {
        Status.BREAK: "Dynamo hit a graph break before it captured an operation",
        Status.EMPTY: "Dynamo captured no operations",
        Status.EAGER: "the function was not compiled and runs in eager mode",
        Status.UNFINISHED: "the log ends before one",
        Status.RUNNING: "torch has not written one yet",
    }
    return f"{ref} has no graph: {words.get(compile_.status, 'the log does not contain it')}."


def _sentence(ref: str, tried: list[Tried]) -> str:
    """Return why no graph is suitable: the reason of the best one, mostly that of all."""
    more = ". Its other graphs cannot be converted either" if len(tried) > 1 else ""
    return f"{ref} cannot become a script: {tried[0].why}{more}."
