"""Remedies that need an edit of the program: the calls to edit, the edits, and the recompilations that remain.

Works on the syntax tree of the file. A call that cannot be identified without doubt is refused with a reason.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import list_in, records_of
from tltui.model.run import Run
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.frame_recompiles import frame_recompiles, frames_of, prediction_for, recompiles_of
from tltui.questions.recompiles.guard_table import guards_of
from tltui.questions.recompiles.predictions import Prediction
from tltui.questions.recompiles.variations import Variation
from tltui.questions.stacks.tracebacks import StackFrame, start_stack
from tltui.questions.stacks.tracebacks import frames_of as stack_frames
from tltui.text.frozen import frozen, mutable
from tltui.text.steps import run_steps
from tltui.text.torch_names import PREFIX

SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Assert)
"""Statements before which a line can be inserted without a change of their meaning."""
_CONDITIONAL = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CALLED_BY_OBJECT = ("forward", "__call__")
"""Methods that a call of their object calls."""

METHODS = {"contiguous": "contiguous", "dense": "to_dense"}
"""Remedy → the method of a tensor that carries it out on an argument."""
_MARK = re.compile(
    r"(?P<call>torch\._dynamo\.(?:(?:maybe_)?mark_dynamic|decorators\.mark_unbacked))\((?P<source>[^\W\d]\w*)(?P<path>[^,()]*), "
    r"(?P<rest>\d+)\)"
)
_MARK_DYNAMIC, _MARK_UNBACKED = re.compile(r"^torch\._dynamo\.(?:maybe_)?mark_dynamic"), "torch._dynamo.decorators.mark_unbacked"
"""A size with both marks is unbacked: the first one is left out."""
_NAME = re.compile(r"[^\W\d]\w*")
_COMPILE_WRAPPER, _ENTRY = "torch/_dynamo/eval_frame.py", "torch/_dynamo/convert_frame.py"
_PASSED_ON = (_COMPILE_WRAPPER, "torch/nn/modules/module.py", "torch/_dynamo/external_utils.py")
"""Files of torch between a call and the compiled function that hand the arguments on unchanged."""
_WITH_STACK = ("create_symbol", "guard_added_fast", "symbolic_shape_specialization")


class Refused(Exception):
    """The edit is not made; the text has the reason."""


@frozen
class Function:
    """The compiled function, as its source defines it."""

    name: str
    parameters: tuple[str, ...]
    """Positional ones, without the receiver of a method."""
    is_method: bool
    has_varargs: bool


@frozen
class ArgumentEdit:
    """An edit of one argument of a call."""

    parameter: str
    path: str
    """The rest of the source after the parameter: `['x']`, `.mask`, '' for the argument itself."""
    before: str = ""
    """A statement for the line before, with `{}` for the argument: `torch._dynamo.mark_dynamic({}, 0)`."""
    method: str = ""
    """A method to call on the argument: `contiguous`."""


@frozen
class Remedy:
    """A remedy as edits of arguments."""

    code: tuple[str, ...]
    """The remedy in Python: `torch._dynamo.mark_dynamic(x, 0)`."""
    edits: tuple[ArgumentEdit, ...]


@frozen
class FrameEdits:
    """All edits for the recompilations of one function."""

    ref: str
    function: str
    file: str
    line: int
    code: tuple[str, ...]
    """The remedies in Python."""
    edits: tuple[ArgumentEdit, ...]
    calls: tuple[StackFrame, ...]
    """The lines that call the function; empty where the trace does not record them."""
    before: int
    """Recompilations in the trace."""
    predicted: Prediction | None
    """The recompilations that remain with all of these remedies; None without guards in the log."""


@frozen
class OtherRemedy:
    """A remedy without an edit of a call."""

    function: str
    source: str
    advice: str


def proposed_edits(run: Run) -> tuple[list[FrameEdits], list[OtherRemedy]]:
    """Return the edits for each recompiled function, and the remedies that are no edit of a call."""
    compiles = [compile_ for compile_ in run.compiles() if compile_.is_compile]
    compiled = {compile_.frame.code for compile_ in compiles}
    results: list[FrameEdits] = []
    others: list[OtherRemedy] = []
    for frame, _ in frames_of(compiles):
        explained = [explained_of(compile_) for compile_ in recompiles_of(frame)]
        guards = run_steps(guards_of(frame, explained))
        variations = frame_recompiles(frame, explained, explained, guards).variations
        edited = [(variation, remedy) for variation in variations if (remedy := remedy_of(variation)) is not None]
        name, file, line = frame.code
        meant = {variation.source for variation, _ in edited}
        others += [
            OtherRemedy(name or "?", variation.source, variation.advice) for variation in variations
            if variation.remedy and variation.source not in meant
        ]  # fmt: skip
        if edited and name and file and line:
            calls = tuple(dict.fromkeys(call for compile_ in frame.compiles for call in _calls(compile_)))
            calls = tuple(call for call in calls if not _is_compiled(call, compiled))
            chosen = [variation for variation, _ in edited]
            predicted = prediction_for(frame, explained, guards, chosen) if guards is not None else None
            code = tuple(dict.fromkeys(each for _, remedy in edited for each in remedy.code))
            code = tuple(each for each in code if _MARK_DYNAMIC.sub(_MARK_UNBACKED, each) not in {*code} - {each})
            edits = tuple(dict.fromkeys(
                edit for _, remedy in edited for edit, each in zip(remedy.edits, remedy.code, strict=True) if each in code
            ))  # fmt: skip
            results.append(FrameEdits(str(frame.ref), name, file, line, code, edits, calls, len(explained), predicted))
    return results, others


def remedy_of(variation: Variation) -> Remedy | None:
    """Return the remedy of a cause as edits of arguments; None if it is no such edit."""
    if variation.prediction is not None and not variation.prediction.may_help:
        return None
    if method := METHODS.get(variation.remedy):
        if not _NAME.fullmatch(variation.source):
            return None
        return Remedy((f"{variation.source}.{method}()",), (ArgumentEdit(variation.source, "", method=method),))
    if variation.remedy not in ("mark dynamic", "mark unbacked"):
        return None
    matches = [_MARK.fullmatch(line) for line in variation.code]
    edits = tuple(
        ArgumentEdit(match["source"], match["path"], f"{match['call']}({{}}, {match['rest']})") for match in matches if match
    )
    return Remedy(variation.code, edits) if edits and len(edits) == len(matches) else None


def _calls(compile_: Compile) -> Iterator[StackFrame]:
    """Yield the line that called the function of a compile, where the stack shows that nothing but torch is in between.

    Torch 2.13 omits the innermost callers from `dynamo_start`: a stack without torch's wrapper of compiled functions is incomplete.
    """
    stacks = [start_stack(compile_)[:-1]]
    for record, _ in records_of(compile_, _WITH_STACK):
        frames = stack_frames(compile_.process, list_in(reader_of(compile_).event(record), "stack"))
        inside = next((n for n, frame in enumerate(frames) if _ENTRY in frame.file.replace("\\", "/")), 0)
        stacks.append(frames[:inside])
        break
    for stack in stacks:
        wrappers: list[str] = []
        for frame in reversed(stack):
            if not frame.file.replace("\\", "/").endswith(_PASSED_ON):
                if frame.line and frame.code and any(file.endswith(_COMPILE_WRAPPER) for file in wrappers):
                    yield frame
                break
            wrappers.append(frame.file.replace("\\", "/"))


def _is_compiled(call: StackFrame, compiled: set[tuple[str | None, str | None, int | None]]) -> bool:
    """Return whether the caller itself was compiled: a mark inside of compiled code raises an error."""
    return call.name.startswith(PREFIX) or any((name, file) == (call.name, call.file) for name, file, _ in compiled)


def parsed(text: str) -> ast.Module:
    """Parse a file. Raises `Refused`."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused("not valid syntax for this Python version") from None


def function_at(tree: ast.Module, name: str, line: int) -> Function:
    """Return the function that begins at a line, decorators included. Raises `Refused`."""
    methods = {child for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for child in node.body}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != name:
            continue
        if min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) != line:
            continue
        parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        is_static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)
        is_method = node in methods and not is_static
        return Function(name, tuple(parameters[is_method:]), is_method, node.args.vararg is not None)
    raise Refused(f"line {line} does not define {name}")


def edited(text: str, line: int, function: Function, edits: Sequence[ArgumentEdit]) -> str:
    """Return a file with edits of the call of a function on a line. Raises `Refused`."""
    tree = parsed(text)
    lines = text.split("\n")
    statement = _statement(tree, line)
    first = _Line(lines[statement.lineno - 1])
    if first.text[: first.at(statement.col_offset)].strip():
        raise Refused("another statement precedes the call on its line")
    call = _call(tree, statement, line, function)
    indent = first.text[: first.at(statement.col_offset)]
    ending = "\r" if first.text.endswith("\r") else ""
    plan = _Plan(lines, statement, {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    for edit in edits:
        plan.add(edit, _argument(call, function, edit.parameter))
    if plan.inserted and any("torch." in inserted for inserted in plan.inserted) and not _has_torch(tree):
        raise Refused("the file does not import torch")
    plan.replace()
    at = statement.lineno - 1
    return "\n".join([*lines[:at], *(f"{indent}{inserted}{ending}" for inserted in plan.inserted), *lines[at:]])


class _Line:
    """A line with positions as `ast` has them: in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.text = text

    def at(self, offset: int) -> int:
        """Return the index of the character at an offset."""
        return len(self.text.encode()[:offset].decode("utf-8", "replace"))


@mutable
class _Plan:
    """The edits of one statement, collected before the lines change."""

    lines: list[str]
    statement: ast.stmt
    names: set[str]
    inserted: list[str] = field(default_factory=list)
    replaced: dict[tuple[int, int, int], str] = field(default_factory=dict)
    """(line, first, last character) → its new text."""
    variables: dict[tuple[int, int, int], str] = field(default_factory=dict)

    def add(self, edit: ArgumentEdit, argument: ast.expr) -> None:
        """Add an edit."""
        if argument.lineno != argument.end_lineno or argument.end_col_offset is None:
            raise Refused("the argument spans several lines")
        line = _Line(self.lines[argument.lineno - 1])
        start, end = line.at(argument.col_offset), line.at(argument.end_col_offset)
        place, code = (argument.lineno, start, end), line.text[start:end]
        if edit.method:
            target = code if isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({code})"
            self.replaced[place] = f"{target}.{edit.method}()"
            return
        if not _is_path(argument):
            code = self._variable(edit.parameter, place, code, argument)
        new = edit.before.replace("{}", code + edit.path)
        if new not in self.inserted:
            self.inserted.append(new)

    def _variable(self, parameter: str, place: tuple[int, int, int], code: str, argument: ast.expr) -> str:
        """Return a variable that has the value of an argument, assigned before the statement."""
        if place not in self.variables:
            if _is_preceded(self.statement, argument):
                raise Refused("another call in the statement runs before the argument is computed")
            name, number = f"{parameter}_argument", 2
            while name in self.names:
                name, number = f"{parameter}_argument{number}", number + 1
            self.names.add(name)
            self.variables[place] = self.replaced[place] = name
            self.inserted.append(f"{name} = {code}")
        return self.variables[place]

    def replace(self) -> None:
        """Replace arguments in the lines, the last one first."""
        for (line, start, end), new in sorted(self.replaced.items(), reverse=True):
            old = self.lines[line - 1]
            self.lines[line - 1] = old[:start] + new + old[end:]


def _statement(tree: ast.Module, line: int) -> ast.stmt:
    """Return the innermost statement on a line."""
    covering = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]  # fmt: skip
    statement = max(covering, key=lambda node: (node.lineno, node.col_offset), default=None)
    if statement is None or not isinstance(statement, SIMPLE):
        raise Refused("the call is in the header of a compound statement")
    if sum(isinstance(node, SIMPLE) and node.lineno <= line <= (node.end_lineno or 0) for node in covering) > 1:
        raise Refused("the line has several statements")
    if any(isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for node in ast.walk(statement)):
        raise Refused("the statement assigns, awaits or yields inside of an expression")
    return statement


def _call(tree: ast.Module, statement: ast.stmt, line: int, function: Function) -> ast.Call:
    """Return the one call on a line that can be the call of a function."""
    names = {function.name, *_compiled_names(tree, function.name)}
    calls = [
        call for call in _unconditional_calls(statement)
        if call.lineno <= line <= (call.end_lineno or call.lineno) and _fits(call, function)
        and (_last_name(call.func) in names or (function.is_method and function.name in _CALLED_BY_OBJECT))
    ]  # fmt: skip
    modules = set(_imported(tree))
    calls = [call for call in calls if _root(call.func) not in modules and _root(call.func) not in vars(builtins)]
    exact = [call for call in calls if _last_name(call.func) in names]
    chosen = exact or calls
    if len(chosen) != 1:
        raise Refused(f"{len(chosen)} calls on the line could be the call of {function.name}" if chosen else
                      f"no call on the line can be identified as the call of {function.name}")  # fmt: skip
    return chosen[0]


def _unconditional_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield calls that run exactly once whenever the statement runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _CONDITIONAL):
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from _unconditional_calls(child)


def _fits(call: ast.Call, function: Function) -> bool:
    """Return whether a function accepts the positional arguments of a call."""
    return function.has_varargs or len(call.args) <= len(function.parameters)


def _argument(call: ast.Call, function: Function, parameter: str) -> ast.expr:
    """Return the argument of a call for a parameter."""
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    at = function.parameters.index(parameter) if parameter in function.parameters else len(call.args)
    if any(isinstance(argument, ast.Starred) for argument in call.args[: at + 1]):
        raise Refused(f"the call unpacks {parameter} with *")
    if at >= len(call.args):
        raise Refused(f"the call has no argument for {parameter}")
    return call.args[at]


def _compiled_names(tree: ast.Module, name: str) -> Iterator[str]:
    """Yield the names that a file gives to `torch.compile(name)`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        call = node.value
        is_compile = "compile" in {_last_name(call.func), _last_name(call.func.func) if isinstance(call.func, ast.Call) else ""}
        if is_compile and call.args and _last_name(call.args[0]) == name:
            yield from filter(None, map(_last_name, node.targets))


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of imported modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


def _has_torch(tree: ast.Module) -> bool:
    """Return whether the module binds the name `torch`."""
    imports = [alias for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    return any(alias.asname == "torch" or (alias.asname is None and alias.name.partition(".")[0] == "torch") for alias in imports)


def _is_path(node: ast.expr) -> bool:
    """Return whether an expression is a name, its attributes and constant keys."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def _is_preceded(statement: ast.stmt, argument: ast.expr) -> bool:
    """Return whether another call of a statement runs before an argument is computed."""
    inside = set(ast.walk(argument))
    others: Iterable[ast.AST] = (node for node in ast.walk(statement) if isinstance(node, ast.Call) and node not in inside)
    place = (argument.lineno, argument.col_offset)
    return any((node.end_lineno, node.end_col_offset) <= place for node in others if isinstance(node, ast.expr))
