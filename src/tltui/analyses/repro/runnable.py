"""`fx_graph_runnable`, torch's own script, taken apart: its graph and what it says of the inputs; all else in it is left out.

The script itself often does not run: it sets options that another torch lacks, names devices and Triton kernels that are not
here, reads storages that nobody has, and spells sizes by symbols that it does not define.
"""

from __future__ import annotations

import ast

from tltui.analyses.repro.allowed import ALIASES, DTYPES, Refused
from tltui.analyses.repro.checking import device_of, dotted, parsed
from tltui.analyses.repro.reading import GraphCode, read_graph_of

SHORT = {long: short for short, long in DTYPES.items()}


def read_runnable(text: str) -> GraphCode:
    """The graph of the script, its parameters typed by `load_args`. Raises `Refused`."""
    tree = parsed(text)
    root = next((each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Repro"), None)
    if root is None:
        raise Refused("it holds no graph")
    loads = next((each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "load_args"), None)
    code = read_graph_of(root, text)
    types = _types(loads) if loads is not None else []
    if len(types) != len(code.whole.parameters):
        raise Refused("it does not say what it takes")
    code.whole.parameters = dict(zip(code.whole.parameters, types, strict=True))
    code.whole.types.update(code.whole.parameters)
    return code


def _types(loads: ast.FunctionDef) -> list[str]:
    """The type of each argument, as graphs print types."""
    devices: dict[str, str] = {}
    types = []
    for statement in loads.body:
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.Call):
            continue
        name = dotted(value.func)
        if name == "reader.storage" and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            device = _keyword(value, "device")
            devices[statement.targets[0].id] = device_of(device) if device is not None else "cpu"
        elif name == "reader.tensor":
            types.append(_tensor(value, devices))
        elif name == "reader.symint":
            types.append(f"Sym({_number(value)})")
        elif name.startswith("reader."):
            raise Refused(f"it takes more than tensors and numbers ({name[:60]})")
    return types


def _tensor(call: ast.Call, devices: dict[str, str]) -> str:
    if len(call.args) < 2 or not isinstance(call.args[0], ast.Name):
        raise Refused("it does not say what it takes")
    dtype = _keyword(call, "dtype")
    name = dotted(dtype).removeprefix("torch.") if dtype is not None else "float32"
    short = SHORT.get(ALIASES.get(name, name), "")
    size = _sizes(call.args[1])
    stride = f"[{_sizes(call.args[2])}]" if len(call.args) > 2 else ""
    return f"{short}[{size}]{stride}{devices.get(call.args[0].id, '') or 'cpu'}"


def _number(call: ast.Call) -> str:
    """`reader.symint(5)`; of newer torch `reader.symint(None, expr='u1')`."""
    symbol = _keyword(call, "expr")
    if isinstance(symbol, ast.Constant) and isinstance(symbol.value, str):
        return symbol.value
    return ast.unparse(call.args[0]) if call.args else ""


def _sizes(node: ast.expr) -> str:
    return ", ".join(ast.unparse(each) for each in node.elts) if isinstance(node, (ast.Tuple, ast.List)) else ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)
