#!/usr/bin/env python3
"""Collect the vocabulary of torch, which `bundle --redact` keeps, from torch's own source.

    torch_words.py -o src/tltui/writers/redact/torch_words.z WHEEL_OR_DIRECTORY...

Each argument is a wheel of torch, or the site-packages directory that it is installed in; what any of them has is taken.
What a trace can hold of torch's is in the strings of the compiler's source (messages, events, fields, generated code), in the
names of its settings, classes and operators, and in what its modules and optimizers call their members. Docstrings and comments
are left out: whatever is in the vocabulary, a name of the user's that is the same stays in a redacted bundle.

Four lists come out, each sorted, front-coded (how much a line shares with the one before, then the rest) and together
compressed: `operators`, also members of modules and optimizers and arguments of functions, which are torch's wherever they stand;
`names`, what may stand where a name stands; `prose`, words of sentences only; `files`, torch's source files.
Stdlib only.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

_COMPILER = (
    "_compile.py _decomp _dynamo _export _functorch _guards.py _higher_order_ops _inductor _library _logging _ops.py "
    "_prims_common _subclasses _utils.py _utils_internal.py export fx"
)
COMPILER = frozenset(_COMPILER.split())
"""Below torch/: where the strings of a trace are written."""
LIBRARY = {"nn", "optim", "functional.py", "_tensor.py", "autograd", "amp", "compiler"}
"""Below torch/: what programs call; guards and graphs name its members, functions and variables."""
TESTS = {"testing", "test", "db", "benchmarks", "_vendor", "onnx", "ao", "quantization"}
_RARE = (
    "jit autoheuristic serialized_patterns rocm cutlass serde parallel generated gradcheck.py profiler_util.py trace_rules.py "
    "cpp_builder.py pallas.py metal_flex_attention_template.py checkpoint data elastic rpc"
)
RARE = frozenset(_RARE.split())
"""Directories and files of which few words ever come into a trace."""
HEADERS = re.compile(r"torch/(?:include/torch/csrc/inductor|_inductor/codegen)/[^\n]*\.(?:h|cpp)")
"""C++ that generated code includes or is written into."""
STUBS = re.compile(r"torch/_C/(?:__init__|_dynamo/\w+|_functorch|_nn)\.pyi")
BINARY = re.compile(r"torch/lib/libtorch_python\.\w+")
ACCESSORS = re.compile(rb"\d([A-Z]\w+GuardAccessor)")
WORD = re.compile(r"[^\W\d]\w*")
COUNTED = re.compile(r"(?:(?<!\d)\d{1,5})?(?:_\d{1,5}){0,8}_?$")
"""What numbers a name: `buf12`, `add_3`. The redactor takes it off too."""
OPERATOR = re.compile(r"^- func: ([\w.]+)\(([^\n]*)", re.MULTILINE)
HYPHENED = re.compile(r"[a-z]\w*(?:-\w+)+")
PLAIN = re.compile(r"[A-Z]?[a-z]+")
NOISE = re.compile(r"[0-9a-f]{12}|\d[a-zA-Z]+\d[a-zA-Z]+\d|[^aeiouyAEIOUY_\d]{8}")


class Words:
    """What was found so far."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.names: set[str] = set()
        self.prose: set[str] = set()
        self.files: set[str] = set()

    def string(self, text: str) -> None:
        """Add the words of a string in the compiler's source: a sentence, a name, or code that it generates."""
        if HYPHENED.fullmatch(text):
            self.names.add(text)
        sentence = text.strip().count(" ") > 1
        for word in WORD.findall(text):
            (self.prose if sentence and PLAIN.fullmatch(word) else self.names).add(word)

    def source(self, path: str, text: str) -> None:
        """Add the names of a source file."""
        parts = path.split("/")
        compiler, library = parts[1] in COMPILER, parts[1] in LIBRARY
        settings = parts[-1].startswith("config") or parts[-1] == "metrics_context.py"
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return
        docstrings: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                docstrings.update(id(s.value) for s in node.body[:1] if isinstance(s, ast.Expr))
                if isinstance(node, ast.ClassDef) and (compiler or library or parts[1] in ("distributed", "utils")):
                    self.names.add(node.name)
                if settings or ((compiler or library) and isinstance(node, ast.ClassDef)):
                    self.names.update(fields(node))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                if compiler or (library and WORD.fullmatch(node.value)):
                    self.string(node.value)
            elif library and parts[-2] != "attention":
                self.member(node)

    def member(self, node: ast.AST) -> None:
        """Add the names of a public function or class."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.names.add(node.name)
        elif isinstance(node, ast.arg):
            self.operators.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            self.operators.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self.names.add(node.id)

    def stub(self, text: str) -> None:
        """Add the names of a stub file of a C++ module."""
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.names.add(node.name)
            if isinstance(node, ast.ClassDef) and node.name == "TensorBase":
                self.names.update(fields(node))

    def declarations(self, text: str) -> None:
        """Add names, overloads and arguments of declared operators."""
        for match in OPERATOR.finditer(text):
            self.operators.update(WORD.findall(match[1]), WORD.findall(re.sub(r"['\"=][^,]*", "", match[2])))


def fields(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    """Yield the names that a class or a module of settings assigns."""
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def read(where: Path, words: Words) -> None:
    """Add the words of one version of torch."""
    if where.is_dir():
        files = ((path.relative_to(where).as_posix(), path.read_bytes) for path in where.glob("torch*/**/*") if path.is_file())
    else:
        archive = zipfile.ZipFile(where)
        files = ((name, lambda name=name: archive.read(name)) for name in archive.namelist())
    for name, content in files:
        parts = name.split("/")
        if name == "torchgen/packaged/ATen/native/native_functions.yaml":
            words.declarations(content().decode("utf-8"))
        elif name == "torch/_dynamo/graph_break_registry.json" or (HEADERS.fullmatch(name) and not RARE.intersection(parts)):
            words.string(content().decode("utf-8"))
        elif STUBS.fullmatch(name):
            words.stub(content().decode("utf-8"))
        elif BINARY.fullmatch(name):
            words.names.update(name.decode() for name in ACCESSORS.findall(content()))
        elif parts[0] == "torch" and name.endswith(".py") and not set(parts) & TESTS:
            words.files.add(name)
            words.names.update(part.removesuffix(".py") for part in parts)
            if not RARE.intersection(parts):
                words.source(name, content().decode("utf-8", "replace"))


def front_coded(lines: list[str]) -> str:
    """Encode each line as a letter, the length of the prefix shared with the previous line, and the rest."""
    before, out = "", []
    for line in lines:
        shared = 0
        while shared < min(len(before), len(line), 60) and before[shared] == line[shared]:
            shared += 1
        out.append(chr(33 + shared) + line[shared:])
        before = line
    return "\n".join(out)


def usable(words: set[str]) -> set[str]:
    """Select the words that the redactor does not allow by other rules."""
    based = {COUNTED.sub("", word) or word for word in words}
    return {word for word in based if 2 < len(word) < 80 and word.isascii() and not NOISE.search(word)}


def main() -> int:
    """Read what the arguments name, write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("torch", nargs="+", type=Path)
    parser.add_argument("-o", "--output", required=True, type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    words = Words()
    for where in options.torch:
        read(where, words)
        counts = (len(words.operators), len(words.names), len(words.prose), len(words.files))
        print(f"{where.name}: {', '.join(f'{count:,}' for count in counts)}", file=sys.stderr)
    names = usable(words.names)
    operators = usable(words.operators)
    lists = (operators, names - operators, usable(words.prose) - names - operators, words.files)
    data = zlib.compress("\n\n".join(front_coded(sorted(words_of_list)) for words_of_list in lists).encode(), 9)
    options.output.write_bytes(data)
    print(f"{', '.join(f'{len(words_of_list):,}' for words_of_list in lists)}: {len(data):,} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
