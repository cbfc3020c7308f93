"""Statements of a generated C++ wrapper in the form of the Python wrapper, which `wrapper_code.py` reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from tltui.questions.provenance.dataflow.value_graph import arguments
from tltui.questions.provenance.generated_code import Function

MAX_STATEMENT = 60
"""Lines of one statement."""
_ARRAY = re.compile(r"^(?:static )?const(?:expr)? int64_t (\w+)\[\] = \{(.*)\};$")
_GIVEN = re.compile(r"^(?:\[\[maybe_unused\]\] )?auto&? (\w+) = (?:std::move\(inputs\[\d+\]\)|constants_->at\(\d+\));$")
_MOVED = re.compile(r"^auto (\w+) = std::move\((\w+)\);")
_HANDLE = re.compile(r"^AtenTensorHandle (\w+);$")
_HELD = re.compile(r"^RAIIAtenTensorHandle (\w+)\((.*)\);$")
_SHOWN = re.compile(r"^auto (\w+) = (wrap_with_raii_handle_if_needed\(.*?\));(?: \w+\.reset\(\);)?(?:\s*//.*)?$")
_CHECKED = re.compile(r"^AOTI_TORCH_ERROR_CODE_CHECK\((\w+)\((.*)\)\);$")
_RETURNED = re.compile(r"^output_handles\[(\d{1,6})\] = (\w+)\.release\(\);$")
_KERNEL = re.compile(r"^(?:call_)?(\w+)\((.*)\);$")
_OPERATOR = re.compile(r"^aoti_torch_(?:cpu|cuda|xpu|mps)_(\w+)$")
_NUMBER_OF = re.compile(r"^(?:double|float|bool|u?int\d+_t) \w+(?: = [^()]*)?;$")
_SIZE = re.compile(r"^inputs\[\d+\]$")
_OUTPUT = re.compile(r"^&output_handles\[(\d{1,6})\]$")
_POINTER = re.compile(r"^\((?:const )?[\w:]+\*\)\((\w+)\.data_ptr\(\)\)$")
_NUMBER = re.compile(r"(?<=\d)L\b")
_WITHOUT_DATA = re.compile(
    r"^(?:[{}]+$|//|#|inputs\.clear\(\)|\w+\.reset\(\);$|assert_size_stride\(|if \(_check_aoti_runtime|__check_inputs_outputs\("
    r"|auto inputs = |\[\[maybe_unused\]\] auto& kernels = |py::gil_scoped|AOTI(?:Cuda|Xpu)StreamGuard |cudaStream_t "
    r"|RAIIAtenRecord|KernelContextGuard |AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_get_current_\w+_stream\()"
)
Operators = Mapping[str, Collection[frozenset[int]]]
"""Operator → of each of its nodes which of several results are read; an empty set where it has one."""
_HELPERS = ("wrap_with_raii_handle_if_needed", "RAIIAtenTensorHandle", "reinterpret_tensor_wrapper")


class _Unknown(Exception):
    """A statement that may read or write a buffer in a way that is not known."""


class _Reader:
    def __init__(self, kernels: Collection[str], operators: Operators) -> None:
        self.kernels, self.operators = frozenset(kernels), operators
        self.arrays: dict[str, str] = {}
        self.handles: set[str] = set()
        self.returned: dict[int, str] = {}
        self.results = 0

    def read(self, text: str) -> Iterator[str]:
        """Yield the Python statements for one of C++."""
        comment = text.partition("//")[2].strip() if ";" in text.partition("//")[0] else ""
        mark = f"  # {comment}" if comment in ("reuse", "alias") else ""
        if match := _ARRAY.match(text):
            self.arrays[match[1]] = f"({_NUMBER.sub('', match[2])})"
        elif match := _GIVEN.match(text):
            yield f"{match[1]}, = args"
        elif match := _MOVED.match(text):
            yield f"{match[1]} = {match[2]}{mark}"
        elif match := _HANDLE.match(text):
            self.handles.add(match[1])
        elif (match := _SHOWN.match(text)) or (match := _HELD.match(text)):
            yield f"{match[1]} = {self.operand(match[2])}{mark}"
        elif match := _RETURNED.match(text):
            self.returned[int(match[1])] = match[2]
        elif match := _CHECKED.match(text):
            yield from self.checked(match[1], [part for part in arguments(match[2]) if part])
        elif (match := _KERNEL.match(text)) and match[1] in self.kernels:
            yield f"{match[1]}({', '.join(self.operand(part) for part in arguments(match[2]) if part)})"
        elif not _WITHOUT_DATA.match(text) and not _NUMBER_OF.match(text):
            raise _Unknown(text)

    def checked(self, name: str, parts: list[str]) -> Iterator[str]:
        """Yield the statements for a call of torch's C interface."""
        handle = parts[-1].removeprefix("&") if parts else ""
        operator = _OPERATOR.match(name)
        if name == "aoti_torch_empty_strided" and len(parts) == 7 and handle in self.handles:
            dtype = parts[3].removeprefix("cached_torch_dtype_")
            yield f"{handle} = empty_strided({self.arrays.get(parts[1], '()')}, {self.arrays.get(parts[2], '()')}, torch.{dtype})"
        elif name == "aoti_torch_new_tensor_handle" and len(parts) == 2 and handle in self.handles:
            yield f"{handle} = {parts[0]}"
        elif name == "aoti_torch_new_tensor_handle" and len(parts) == 2 and (match := _OUTPUT.match(parts[1])):
            self.returned[int(match[1])] = parts[0]
        elif name.startswith("aoti_torch_item_") and len(parts) == 2:
            if _SIZE.match(parts[0]):
                yield f"{handle}, = args"
        elif operator and operator[1].endswith("_out") and len(parts) > 1:
            operands = ", ".join(map(self.operand, parts[1:]))
            yield f"aten.{self.operator(operator[1].removesuffix('_out'))}({operands}, out={self.operand(parts[0])})"
        elif operator:
            yield from self.results_of(operator[1], parts)
        else:
            raise _Unknown(name)

    def results_of(self, operator: str, parts: list[str]) -> Iterator[str]:
        """Yield the statements for a call that makes its results: their handles stand at the end, `nullptr` for none.

        An argument before them may be `nullptr` too. Which it is, the results that the graph reads tell.
        """
        operator = self.operator(operator)
        first = len(parts)
        while first and (parts[first - 1].removeprefix("&") in self.handles or parts[first - 1] == "nullptr"):
            first -= 1
        reads = self.operators.get(operator, ())
        last = next((n for n in range(first, len(parts)) if parts[n] != "nullptr"), -1)
        firsts = [start for start in range(first, last + 1) if start == first == last or self.are_results(parts[start:], reads)]
        if len(firsts) != 1:
            raise _Unknown(operator)
        first = firsts[0]
        handles = [part.removeprefix("&") for part in parts[first:]]
        call = f"aten.{operator}({', '.join(map(self.operand, parts[:first]))})"
        if len(handles) == 1:
            yield f"{handles[0]} = {call}"
            return
        self.results += 1
        yield f"results_{self.results} = {call}"
        for place, handle in enumerate(handles):
            if handle in self.handles:
                yield f"{handle} = results_{self.results}[{place}]"

    def are_results(self, parts: list[str], reads: Collection[frozenset[int]]) -> bool:
        """Return whether these arguments can be all results of a call."""
        places = {place for place, part in enumerate(parts) if part.removeprefix("&") in self.handles}
        return any(read <= places and bool(read) == (len(parts) > 1) for read in reads)

    def operator(self, name: str) -> str:
        """Return the operator of a function's name, which may end with an overload: `sort_stable`, `randint_low`."""
        parts = name.split("_")
        names = ("_".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((each for each in names if each in self.operators), name)

    def operand(self, text: str) -> str:
        """Return an argument: a buffer, a view of one, or a number."""
        if match := _POINTER.match(text):
            return match[1]
        name, bracket, inside = text.partition("(")
        if not bracket or name not in _HELPERS:
            return _NUMBER.sub("", text.removeprefix("&"))
        inside = inside.removesuffix(")")
        if name != "reinterpret_tensor_wrapper":
            return self.operand(inside)
        parts = arguments(inside)
        if len(parts) != 5 or parts[2] not in self.arrays or parts[3] not in self.arrays:
            raise _Unknown(text)
        return f"reinterpret_tensor({parts[0]}, {self.arrays[parts[2]]}, {self.arrays[parts[3]]}, {_NUMBER.sub('', parts[4])})"


def python_statements(
    lines: Sequence[str], function: Function, kernels: Collection[str], operators: Operators
) -> tuple[list[tuple[int, str]], list[str]] | None:  # fmt: skip
    """Return the statements of a C++ function with their lines, and what it returns; None if one of them is not known.

    `operators` are those of the graph.
    """
    reader = _Reader(kernels, operators)
    statements = []
    try:
        for n, text in _statements(lines, function):
            statements += [(n, statement) for statement in reader.read(text)]
    except _Unknown:
        return None
    last = max(reader.returned, default=-1)
    return statements, [reader.returned.get(n, "None") for n in range(last + 1)]


def _statements(lines: Sequence[str], function: Function) -> Iterator[tuple[int, str]]:
    """Yield the statements of a function's body; raw strings (stacks of kernels) are left out."""
    n = next((n for n in range(function.first, function.last) if lines[n].rstrip().endswith("{")), function.last) + 1
    while n <= function.last:
        first, text = n, lines[n].strip()
        n += 1
        if 'R"(' in text:
            while n <= function.last and ')"' not in lines[n - 1]:
                n += 1
            continue
        if text and not text.startswith(("//", "#")):
            while not _is_whole(text) and n <= function.last and n - first < MAX_STATEMENT:
                text += f" {lines[n].strip()}"
                n += 1
            yield first, text


def _is_whole(text: str) -> bool:
    return text.count("(") <= text.count(")") and text.partition("//")[0].rstrip().endswith((";", "{", "}"))
