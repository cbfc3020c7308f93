"""A trace that tries everything: escapes, C1 controls, bidirectional and invisible characters and markup in every string."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

ESCAPES = (
    "\x1b[2J",  # clear the screen
    "\x1b[5;35;104m",  # colours that no theme of ours has
    "\x1b]52;c;aGFja2Vk\x07",  # set the clipboard
    "\x1b]0;title\x1b\\",
    "\x1bP$q\"p\x1b\\",  # a query that the terminal answers as if typed
    "\x1b_G;\x1b\\",
    "\x1bc",  # reset
)
"""Sequences that a terminal obeys. None may reach it."""
CHARACTERS = "\x00\x07\x08\x0b\x0c\x0e\x7f\x84\x85\x9b\x9d\x9c\u202e\u2066\u2028\u200b\u200f\u061c\ufeff\xad"
"""Controls, C1, bidirectional and invisible characters. None may reach it."""
MARKUP = ("[red]", "[/]", "[s0, 4]", "[link=x]", "[@click=app.leave]")
"""What Textual or rich would take for markup. All of it must appear."""
BAD = "[/][s0, 4]" + ESCAPES[0] + "[red]" + "".join(ESCAPES[1:]) + CHARACTERS + "[link=x]y[/link][@click=app.leave]"
"""All of it in one string, the telling things first: lines are cut at their ends."""

PID = 4242
MD5_OF_ANOTHER = "0" * 32


def bad(name: str) -> str:
    """A hostile string that begins with a name, so that one can see where it came from."""
    return name + BAD


class Builder:
    """Writes a log record by record, as torch does."""

    def __init__(self) -> None:
        self._out: list[bytes] = []
        self._clock = 0
        self._strings = 0

    def record(self, envelope: dict[str, Any], payload: str | None = None, *, md5: str | None = None,
               raw: bool = False) -> None:  # fmt: skip
        """One record. `raw`: the envelope's characters as they are, where JSON allows it, not as `\\u…`."""
        self._clock += 1
        stored = None if payload is None else payload.encode("utf-8", "surrogatepass")
        if stored is not None:
            envelope = {**envelope, "has_payload": md5 or hashlib.md5(stored, usedforsecurity=False).hexdigest()}
        head = f"V1120 10:00:{self._clock % 60:02}.000000 {PID} torch/{bad('site')}.py:{self._clock}] "
        if not raw:
            head = head.replace(bad("site"), "site")
        self._out.append(head.replace("\n", "").encode() + json.dumps(envelope, ensure_ascii=not raw).encode())
        if stored is not None:
            self._out.append(b"\t" + stored.replace(b"\n", b"\n\t"))

    def line(self, text: str) -> None:
        """Something that is no record."""
        self._out.append(text.encode())

    def string(self, text: str) -> int:
        """An entry of the string table."""
        self.record({"str": [text, self._strings]})
        self._strings += 1
        return self._strings - 1

    def data(self) -> bytes:
        """The log."""
        return b"\n".join(self._out) + b"\n"


def _graph() -> str:
    return (
        f"class {bad('Graph')}(torch.nn.Module):\n"
        f'    def forward(self, L_x_: "f32[s0, 4]"):\n'
        f"        # File: {bad('model.py')}:3 in {bad('forward')}, code: return x + {bad('y')}\n"
        f'        add: "f32[s0, 4]" = L_x_ + 1;  # {bad("comment")}\n'
        "        return (add,)\n"
    )


def _output_code() -> str:
    return (
        f"# AOT ID: ['0_forward']\n# {bad('comment')}\nimport torch\n"
        f"async_compile.triton('{bad('kernel')}', '''\nimport triton\n@triton.jit\n"
        f"def {bad('kernel')}(in_ptr0):\n    # {bad('inside')}\n    pass\n''', device_str='cuda')\n"
        f'cpp = async_compile.cpp_pybinding([], r\'\'\'\nextern "C" void kernel() {{ // {bad("cpp")}\n}}\n\'\'\')\n'
        f"def call(args):\n    return ('{bad('string')}',)\n"
    )


def _guards() -> str:
    return (
        f"TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- DEFAULT_DEVICE: {bad('device')}\n"
        f"| +- GuardManager: source=L['x'], {bad('accessed_by')}\n| | +- TENSOR_MATCH: check_tensor({bad('tensor')})\n"
    )


def _json(**values: Any) -> str:
    """JSON with the characters as they are, as far as it allows them."""
    return json.dumps({bad("key"): bad("value"), **values}, indent=1, ensure_ascii=False)


def _stack(*strings: int) -> list[dict[str, Any]]:
    return [{"line": 3, "name": bad("inner"), "filename": string, "loc": bad("code")} for string in strings]


def _inputs(log: Builder, ids: dict[str, Any]) -> None:
    log.record({"describe_storage": {"id": 0, "describer_id": 0, "size": 32}, **ids})
    tensor = {"id": 0, "ndim": 1, "dtype": bad("f32"), "device": bad("cpu"), "size": [8, bad("s0")], "stride": [1],
              "storage": 0, "view_func": bad("view"), "describer_id": 0}  # fmt: skip
    log.record({"describe_tensor": tensor, **ids})
    log.record({"describe_source": {"describer_id": 0, "id": 0, "source": bad("L['x']")}, **ids})


def _symbols(log: Builder, ids: dict[str, Any], file: int) -> None:
    symbol = {"symbol": bad("s0"), "val": bad("8"), "vr": bad("[2, int_oo]"), "source": bad("L['x'].size()[0]"),
              "user_stack": _stack(file), "stack": _stack(file)}  # fmt: skip
    log.record({"create_symbol": symbol, **ids})
    log.record({"guard_added": {"expr": bad("Eq(s0, 8)"), "user_stack": _stack(file), "stack": _stack(file)}, **ids})
    log.record({"guard_added_fast": {"expr": bad("s0 >= 2"), "user_stack": _stack(file)}, **ids})


def _metrics(file_name: str, ids: dict[str, Any], **more: Any) -> dict[str, Any]:
    fields = {
        "compile_id": bad("0/0"), "co_name": bad("forward"), "co_filename": file_name, "co_firstlineno": 3,
        "start_time": 1795166566.0, "entire_frame_compile_time_s": 1.5, "graph_op_count": 2, "guard_count": 3,
        "restart_reasons": [bad("restart")], "dynamo_config": bad("{}"), "cudagraph_skip_reason": bad("skip"),
        "pytorch_version": bad("2.13.0"), **more,
    }  # fmt: skip
    return {"compilation_metrics": fields, **ids}


def _full_compile(log: Builder, ids: dict[str, Any], file: int, file_name: str) -> None:
    log.record({"dynamo_start": {"stack": _stack(file, file)}, **ids})
    _inputs(log, ids)
    _symbols(log, ids, file)
    reason = (
        f"Graph break in user code at {bad('model.py')}:3\nReason: {bad('Unsupported')}\n"
        f"User code traceback:\n  File {bad('x')}\n"
    )
    log.record({"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, **ids}, reason)
    log.record({"dynamo_output_graph": {"sizes": {bad("l_x_"): [8]}}, **ids}, _graph())
    log.record({"optimize_ddp_split_graph": {}, **ids}, _graph())
    log.record({"optimize_ddp_split_child": {"name": bad("submod_0")}, **ids}, _graph())
    log.record({"compiled_autograd_graph": {}, **ids}, _graph())
    log.record({"aot_joint_graph": {}, **ids}, _graph())
    log.record({"aot_forward_graph": {}, **ids, "subgraph_name": bad("subgraph")}, _graph())
    log.record({"inductor_post_grad_graph": {}, **ids}, _graph())
    log.record({"inductor_output_code": {"filename": bad("/tmp/code.py")}, **ids}, _output_code())
    log.record({"dynamo_cpp_guards_str": {}, **ids}, _guards())
    log.record({"dynamo_guards": {}, **ids}, json.dumps([{"code": bad("x"), "stack": None, "user_stack": None}]))
    log.record({"artifact": {"name": "fx_graph_cache_miss", "encoding": "json"}, **ids},
               _json(key=bad("k"), components=[bad("part")], cache_bypass_reason=bad("why")))  # fmt: skip
    for encoding in ("string", "json", bad("encoding")):
        log.record({"artifact": {"name": bad(encoding[:5]), "encoding": encoding}, **ids}, _json())
    log.record({"artifact": {"name": bad("raw"), "encoding": "string"}, **ids}, bad("payload"), raw=True)
    log.record({"artifact": {"name": "recompile_reasons", "encoding": "json"}, **ids}, _json(reasons=[bad("0/0: guard")]))
    log.record({"dump_file": {"name": bad("<eval_with_key>.1")}, **ids}, bad("print(1)"))
    log.record({"link": {"name": bad("link"), "url": bad("javascript:")}, **ids})
    log.record({bad("unknown_event"): bad("value"), **ids}, bad("unknown"))
    log.record({"chromium_event": {}, **ids}, json.dumps({"name": bad("phase"), "ph": "B", "ts": 1, "pid": 0, "tid": 0}))
    log.record({"exported_program": {}, **ids}, _graph())
    backward = _metrics(file_name, ids, fail_reason=bad("backward failed"))["compilation_metrics"]
    log.record({"bwd_compilation_metrics": backward, **ids})
    log.record(_metrics(file_name, ids))


def hostile_log() -> bytes:
    """The log."""
    log = Builder()
    file_name = "/home/user/" + bad("model.py")
    file = log.string(file_name)
    log.string(bad("convert_frame.py"))
    log.record({"artifact": {"name": "torch_version", "encoding": "json"}}, _json(pytorch_version=bad("2.13")))
    first = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    _full_compile(log, first, file, file_name)
    for number in (1, 2):
        again = {"frame_id": 0, "frame_compile_id": number, "attempt": 0}
        log.record({"dynamo_start": {"stack": _stack(file)}, **again})
        log.record({"dynamo_output_graph": {}, **again}, _graph())
        log.record(_metrics(file_name, again, recompile_reason=bad(f"0/{number - 1}: tensor")))
    failed = {"frame_id": 1, "frame_compile_id": 0, "attempt": 0}
    log.record({"dynamo_start": {"stack": _stack(file)}, **failed})
    failure = {"fail_type": bad("Error"), "fail_reason": bad("it failed\nin two lines"), "fail_user_frame_filename": file_name,
               "fail_user_frame_lineno": 5}  # fmt: skip
    log.record({"artifact": {"name": "dynamo_error", "encoding": "string"}, **failed}, bad("Traceback\n  File \"x\"\n"))
    log.record(_metrics(file_name, failed, **failure))
    named = {"frame_id": 2, "frame_compile_id": 0, "attempt": 0}
    log.record({"dynamo_start": {"stack": [{"line": 1, "name": bad("g"), "filename": 99}]}, **named}, raw=True)
    log.record({"dynamo_output_graph": {}, **named}, _graph(), md5=MD5_OF_ANOTHER)
    log.record({"artifact": {"name": "x", "encoding": "string"}, **named, bad("field"): bad("v"), "frame_id": bad("2")}, "x")
    log.line(bad("not a record "))
    log.line(f"V1120 10:00:00.000000 {PID} torch/{bad('y')}.py:1] {{broken {bad('envelope')}")
    return log.data()


def write_hostile(directory: Path) -> Path:
    """The log in a directory, both with hostile names; the directory."""
    name = "[red][/][s0, 4]" + "".join(ESCAPES[:3]) + CHARACTERS.replace("\x00", "") + "\u202e"
    where = directory / name.replace("/", "|")
    where.mkdir()
    (where / f"dedicated_log_torch_trace_{name.replace('/', '|')}.log").write_bytes(hostile_log())
    (where / f"{name.replace('/', '|')}.txt").write_text("V not a log")
    (where / f"empty_{name.replace('/', '|')}.log").write_bytes(b"")
    return where
