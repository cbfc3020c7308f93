#!/usr/bin/env python3
"""Build N ranks x M compiles of TORCH_TRACE logs from a real one, with planted divergences and a truth file beside.

    make_ranks.py OUT --ranks 512 --compiles 8 [--recompiles 2] [--seed 7] [--plant KIND[:KEY=VALUE,...]]...
                  [--detail full|lean|tiny] [--layout flat|hosts] [--per-node 8] [--template LOG] [--start-rank 0]
    make_ranks.py --self-test [--tltui tltui] [--tlparse tlparse]
    make_ranks.py --list

The template (ranks_template/rank_0.log.xz beside this file: a two-GPU NCCL run of 2025, from tlparse's tests, BSD-3-Clause)
gives two compiles: [0/0], one all_reduce, and [0/1], with dynamic shapes and four collectives. Frame k of the output is
`block<k>` at blocks.py:<100+20k>, made of the one (k even) or the other (k odd); recompile n of a frame is made of [0/1] with a
recompile reason. Every rank differs where real ranks differ, and only there: device index (cuda:K in every text),
stream number, addresses, graph id, pid, time, durations (4 % noise), guard latency, cache keys and generated file names (a function of
compile and device), torchelastic paths. All ranks begin a compile together (within 40 ms), as programs with collectives do: who is late or slow is
waited for. Added to the template: the torch version (pytorch_version in the metrics, and the artifact `torch_version` as torch 2.13 writes it).
Sizes per compile: full ~430 kB, lean ~125 kB (no cache key components, no config dumps), tiny ~37 kB. md5s are right. Output depends on the arguments
alone. Many compiles in one log: --ranks 1 --compiles 20000 --detail tiny; many recompiles of one frame: --ranks 1 --compiles 1 --recompiles 5000
(one reason each, of the newest earlier compile; real logs have one for each earlier compile). Files are written as they are made.

Plants (KEY: ranks=3-5+9 or node=N, compile=ORDINAL counted from 0 in the order of the majority; what is left out is drawn from the seed):
  missing_compile    the rank never compiles this frame: its later frame ids are one lower
  extra_recompile    one more recompile of the frame, with its reason
  other_graph        relu becomes gelu: graphs, code, provenance
  collective_order   the first two collectives are exchanged, in schedule and code
  cache_miss         everybody hits the FX cache at this compile, the rank misses
  tensor_meta        an input comes transposed: stride [1, 1024]
  slow_phase         phase=NAME (async_compile.wait), seconds=8, factor=1: this phase, what it is part of and the compile take seconds longer (or
                     factor times, if that is more)
  graph_break        a graph break reason that nobody else has
  killed             phase=NAME (fx_codegen_and_compile): the log ends there, begin events stay open; torn=1: in mid-line; the others go on
  restarted          an older process wrote a file of its own and died in this compile; the newest one is complete
  reordered          this frame and the next one are compiled in the other order
  clock              seconds=90 (may be negative): every time in the rank's log is that much later than true, nothing else; node=N: a whole node
  config             field=dynamo_config, name=recompile_limit, value=16 (JSON): in the metrics of every compile of the rank
  version            value=2.10.0+cu128: another torch on the rank (artifact torch_version, pytorch_version in all metrics)
  guards             one more line in the guard tree of this compile
  late_start         seconds=30: the rank begins this compile so much later than the others; they wait for it before the next one
  all                one of each, on different ranks and compiles as far as there are any
The truth (OUT/truth.json; tltui and tlparse do not read it): per plant its kind, the ranks as ranges, the compile by content (function,
file:line) with its id on the majority and on the rank, the facets that must be reported and those that may be, and `silent`: facets that must
not be reported for any compile that no plant names.
"""
import argparse
import base64
import hashlib
import json
import lzma
import math
import operator
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = ("missing_compile", "extra_recompile", "other_graph", "collective_order", "cache_miss", "tensor_meta", "slow_phase",
         "graph_break", "killed", "restarted", "reordered", "clock", "config", "version", "guards", "late_start")
WIDE = ("clock", "config", "version")  # of a whole rank, not of one compile
FACETS = {  # kind: (must be reported, may be reported as a consequence)
    "missing_compile": (["presence"], ["order", "count", "place"]),
    "extra_recompile": (["count"], ["presence", "order", "recompile_reason"]),
    "other_graph": (["graph", "code"], ["cache_key", "provenance", "schedule"]),
    "collective_order": (["collectives"], ["code", "cache_key"]),
    "cache_miss": (["cache"], ["time", "artifacts", "code"]),
    "tensor_meta": (["inputs"], ["graph", "code", "guards", "cache_key"]),
    "slow_phase": (["time"], []),
    "graph_break": (["breaks"], ["status", "artifacts"]),
    "killed": (["unfinished"], ["presence", "artifacts", "status", "time", "code", "guards", "order", "cache"]),
    "restarted": (["processes"], []),
    "reordered": (["order"], ["late"]),
    "clock": (["clock"], []),
    "config": (["settings"], ["cache_key"]),
    "version": (["version"], ["cache_key"]),
    "guards": (["guards"], []),
    "late_start": (["late"], []),
}
SILENT = ["graph", "code", "inputs", "guards", "collectives", "cache", "breaks", "count", "presence", "order", "settings", "version", "clock",
          "late", "unfinished", "processes"]
HEAD = re.compile(r"V(\d{4}) (\d\d):(\d\d):(\d\d)\.(\d{6}) (\d+) (\S+:\d+)\] (\{.*)", re.S)
# what differs between two ranks of one job: D device, A address, H cache hash; and what names the compile: N I
SLOT = re.compile(
    r"(?P<D>(?<=cuda:)0\b|(?<='cuda', index=)0\b|(?<=stream)0\b|(?<=get_raw_stream\()0\b|(?<=_DeviceGuard\()0\b"
    r"|(?<=set_device\()0\b|(?<=torch\.float16, device=)0\b|(?<=/triton/)0\b|(?<=\"device_index\": )0\b)"
    r"|(?P<A>0x7f[0-9a-f]{10}|\b1[34]\d{13}\b)"
    r"|(?P<H>(?<=/tmp/torchinductor_cache/)\w\w/\w+(?=\.py)|(?<=\"key\": \")[a-z2-7]{52,53}\b)"
    r"|(?P<I>(?<=\"compile_id\": \")0/[01](?=\"))"
    r"|(?P<P>(?<=/attempt_0/)0\b)"
    r"|(?P<G>(?<=Guard latency = )[\d.]+)")
BREAK = """Graph break in user code at /home/user/model/blocks.py:{line}
Graph Break Reason: Data-dependent branching
  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic control flow.
  Hint: This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace through your code.

  Developer debug context: attempted to jump with TensorVariable()

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html

User code traceback:
  File "/home/user/model/train.py", line 41, in <module>
    main()
  File "/home/user/model/blocks.py", line {line}, in {name}
    if x.isnan().any():
"""
TINY = {"str", "dynamo_start", "describe_storage", "describe_tensor", "describe_source", "dynamo_output_graph", "aot_inference_graph",
        "inductor_output_code", "dynamo_cpp_guards_str", "compilation_metrics", "recompile_reasons", "fx_graph_cache_miss",
        "inductor_collective_schedule", "inductor_runtime_and_tensor_meta", "graph_execution"}
TINY_EVENTS = {"dynamo", "entire_frame_compile", "compile_attempt_0", "bytecode_tracing", "backend_compile", "inductor_compile",
               "fx_codegen_and_compile", "GraphLowering.run", "async_compile.wait", "build_guards", "fx_graph_cache_miss"}


TORCH = "2.9.0+cu128"  # what every rank runs; the plant `version` says 2.10.0+cu128
GUARD = "\n| | +- NO_HASATTR: hasattr(L['fn'], '_dynamo_marked_static') == False           # _dynamo/variables/builder.py:1662 in wrap_unspecialized"
REASON = "\x01F\x02/\x01Q\x02: tensor 'x' size mismatch at index 0. expected \x01Y\x02, actual \x01Z\x02"
SMALL = {"dynamo_config": "recompile_limit", "inductor_config": "compile_threads"}  # what lean and tiny keep of them
FIELDS = {  # event: the fields of compilation_metrics (and of cache artifacts) with its time
    "entire_frame_compile": ("entire_frame_compile_time_s", "duration_us", "dynamo_cumulative_compile_time_us"),
    "backend_compile": ("backend_compile_time_s", "aot_autograd_cumulative_compile_time_us"),
    "inductor_compile": ("inductor_compile_time_s", "inductor_cumulative_compile_time_us"),
    "fx_codegen_and_compile": ("time_taken_ns",),
    "GraphLowering.compile_to_module": ("code_gen_time_s", "inductor_code_gen_cumulative_compile_time_us"),
    "async_compile.wait": ("triton_compile_time_us", "code_gen_time_s", "inductor_code_gen_cumulative_compile_time_us"),
}


def ranges(numbers) -> str:
    """1,2,3,7 -> '1-3,7'"""
    out = []
    for number in sorted(set(numbers)):
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in out)


def parse_ranks(text: str) -> list[int]:
    out = []
    for part in text.split("+"):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def base32(*parts) -> str:
    return base64.b32encode(hashlib.sha256(repr(parts).encode()).digest())[:51].decode().lower()


class Record:
    __slots__ = ("at", "path", "head", "key", "event", "phase", "payload", "exact", "runtime")


def read_template(path: Path):
    """The records of the template with times in µs from its start, without what is not needed."""
    records, zero, day, last = [], None, None, 0.0
    stored = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    text = stored.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    for chunk in re.split(r"\n(?=V\d{4} )", text.rstrip("\n")):
        first, _, body = chunk.partition("\n")
        found = HEAD.match(first)
        if not found:
            continue
        _, hh, mm, ss, micro, _, where, head = found.groups()
        local = ((int(hh) * 60 + int(mm)) * 60 + int(ss)) * 1e6 + int(micro)
        envelope = json.loads(head)
        record = Record()
        key = next(iter(envelope))
        record.key = envelope["artifact"]["name"] if key == "artifact" else key
        record.path, record.head, record.event, record.phase = where, head, None, None
        record.payload = "\n".join(line[1:] for line in body.split("\n")) if "has_payload" in envelope else None
        record.exact = False
        if key == "chromium_event":
            event = json.loads(record.payload)
            record.event, record.phase = event["name"], event["ph"]
            if zero is None:
                zero, day = event["ts"], local
            last = event["ts"] - zero
            record.exact = True
        elif day is not None:
            last = max(last, local - day)
        record.at = last
        record.runtime = (envelope.get("frame_compile_id"), envelope.get("attempt"))
        records.append(record)
    return records, zero


def cut_lines(record: Record, detail: str) -> bool:
    """Make a record smaller; False: leave it out."""
    if detail == "full":
        return True
    if record.key.endswith("cache_miss"):
        value = json.loads(record.payload)
        value["components"] = value.get("components", [])[:1 if detail == "tiny" else 4]
        for name in ("remote_cache_time_saved", "inductor_config"):
            value.pop(name, None)
        value["components"] = [text[:300] for text in value["components"]]
        record.payload = json.dumps(value)
    if record.event and len(record.payload) > 1500:
        value = json.loads(record.payload)
        value["args"] = {k: v for k, v in value.get("args", {}).items() if len(json.dumps(v)) < 300}
        record.payload = json.dumps(value, indent=0)
    if "compilation_metrics" in record.key:
        def small(match):
            return f'"{match.group(1)}": "{{\\"{SMALL.get(match.group(1), "debug")}\\": 8}}"'
        record.head = re.sub(r'"(\w*config\w*)": "((?:[^"\\]|\\.){200,})"', small, record.head)
    if detail == "tiny":
        if record.event and record.event not in TINY_EVENTS or not record.event and record.key not in TINY:
            return False
        if record.key == "dynamo_cpp_guards_str":
            lines = record.payload.split("\n")
            record.payload = "\n".join(lines[:14] + lines[-2:])
        if record.key == "inductor_output_code":
            at = record.payload.find("class Runner")
            record.payload = "# AOT ID: ['0_inference']\nimport torch\n\n" + record.payload[at:]
    return True


class Unit:
    """One compile of the template: records with times from its own start."""

    def __init__(self, records, tail):
        start = records[0].at
        self.start = start
        self.records = records + tail
        self.length = max(r.at for r in self.records) - start

    def span(self, phase):
        """Begin and end of the phase's first event, from the start of the compile."""
        opened = next((r.at for r in self.records if r.event == phase and r.phase == "B"), None)
        if opened is None:
            raise SystemExit(f"no phase {phase} in this compile")
        closed = next(r.at for r in self.records if r.event == phase and r.phase == "E" and r.at >= opened)
        return opened - self.start, max(closed - self.start, opened - self.start + 1.0)

    def fields_around(self, phase):
        """The fields of metrics and caches that hold the time of this phase or of what it is part of."""
        opened, closed = self.span(phase)
        names = {r.event for r in self.records if r.event and r.phase == "B"}
        around = {name for name in names if self.span(name)[0] <= opened and self.span(name)[1] >= closed}
        return {field for name in around for field in FIELDS.get(name, ())}


class Maker:
    def __init__(self, args):
        self.args = args
        records, self.zero = read_template(args.template)
        records = [r for r in records if cut_lines(r, args.detail)]
        self.strings = [r for r in records if r.key == "str"]
        self.end = [r for r in records if r.key == "graph_execution"]
        body = [r for r in records if r.key not in ("str", "graph_execution")]
        cut = next(i for i, r in enumerate(body) if r.runtime[0] == 1)
        # records without ids (autotuning while the program runs) stay where they are, after their compile
        self.units = [Unit(body[:cut], []), Unit(body[cut:], [])]
        self.cache = {}
        self.plain = {}
        # a fixed day in 2026, 08:00 UTC
        self.epoch = 1789545600 * 10**6
        self.seconds = {}

    # ---------------------------------------------------------------- templates: a compile as formats and slots, made once

    def template(self, unit_number, reason, variants):
        """One compile as formats: (records, slots); a record is a tuple

        (at, log_at, path, head format, head getter, body format, tabbed body format, body getter, (digest, tabbed) if static, event, phase).
        Slots are numbered over the whole compile; slot 0 is the payload's md5, in the head of the record that is being written.
        """
        key = (unit_number, reason, variants)
        if key in self.cache:
            return self.cache[key]
        unit = self.units[unit_number]
        out, hidden, log_at = [], False, 0.0
        slots, numbers = [("M", None)], {("M", None): 0}

        def formats(text):
            static, index = [""], []
            for piece in self.slots(text):
                if piece.__class__ is str:
                    static[-1] += piece
                    continue
                if piece[0] == "M":
                    piece = ("M", None)
                if piece not in numbers:
                    numbers[piece] = len(slots)
                    slots.append(piece)
                index.append(numbers[piece])
                static.append("")
            parts = [part.encode("utf-8", "surrogateescape") for part in static]
            if not index:
                return parts[0], None
            return b"%b".join(part.replace(b"%", b"%%") for part in parts), operator.itemgetter(*index)

        def add(at, path, head, payload, event, phase):
            head_format, head_getter = formats(self.with_time(head, at))
            body_format = body_getter = tabbed = static = None
            if payload is not None:
                body_format, body_getter = formats(self.with_time(payload, at))
                tabbed = b"\n\t" + body_format.replace(b"\n", b"\n\t")
                if body_getter is None:
                    static = (hashlib.md5(body_format).hexdigest().encode(), tabbed)
            if head_getter is None:
                head_format = head_format.replace(b"%", b"%%") + b"%.0s"
                head_getter = operator.itemgetter(0)
            out.append((at, log_at, path.encode() + b"] ", head_format, head_getter, body_format, tabbed, body_getter, static, event, phase))

        for record in unit.records:
            if record.key == "recompile_reasons" and not reason:
                continue
            payload, head, event = record.payload, record.head, record.event
            if "hit" in variants:
                if event == "fx_codegen_and_compile":
                    hidden = record.phase == "B"
                    continue
                if hidden and not (record.key.startswith("inductor_") and not event):
                    continue
                if record.key == "fx_graph_cache_miss" or event == "fx_graph_cache_miss":
                    head = head.replace("fx_graph_cache_miss", "fx_graph_cache_hit")
                    payload = payload.replace("fx_graph_cache_miss", "fx_graph_cache_hit").replace('"miss"', '"hit"') \
                        .replace("full_miss", "hit")
                    event = event and "fx_graph_cache_hit"
                head = head.replace('"fxgraph_cache_miss_count": 1', '"fxgraph_cache_hit_count": 1')
            if "gelu" in variants and payload and not event:
                payload = payload.replace("relu", "gelu").replace("triton_helpers.maximum(tmp1, tmp0)", "libdevice.erf(tmp0)")
                head = head.replace("relu", "gelu")
            if "collectives" in variants:
                payload = self.exchange(record, payload)
            if "stride" in variants:
                head, payload = self.transpose(record, head, payload)
            if "guards" in variants:
                if record.key == "dynamo_cpp_guards_str":
                    payload = re.sub(r"(\n\| \| \+- ID_MATCH: ___check_obj_id\(L\['fn'\], [^\n]*)", r"\1" + GUARD, payload, count=1)
                head = re.sub(r'(?<="guard_count": )\d+', lambda m: str(int(m.group(0)) + 1), head)
            if record.key == "dynamo_start":
                head = head.replace('{"line": 66, "name": "inner", "filename": 2}', '{"line": \x01L\x02, "name": "\x01K\x02", "filename": 2}')
                head = head.replace('"line": 177,', '"line": 41,')
            if "compilation_metrics" in record.key:
                head = head.replace('"co_name": "inner"', '"co_name": "\x01K\x02"') \
                    .replace('"co_filename": "/opt/pytorch/torch/_dynamo/external_utils.py"', '"co_filename": "/home/user/model/blocks.py"') \
                    .replace('"co_firstlineno": 66', '"co_firstlineno": \x01L\x02') \
                    .replace("Line: 66, Name: inner", "Line: \x01L\x02, Name: \x01K\x02") \
                    .replace('"frame_key": "1"', '"frame_key": "\x01E\x02"')
                head = re.sub(r'"(cache_size|accumulated_cache_size)": \d+', '"\\1": \x01N\x02', head)
                head = re.sub(r'"recompile_reason": "(?:[^"\\]|\\.)*"', '"recompile_reason": ' + (f'"{REASON}"' if reason else "null"), head)
                version = next((v for v in variants if v.startswith("version=")), None)
                head = re.sub(r'(?="triton_version": )', f'"pytorch_version": "{version[8:] if version else TORCH}", ', head)
                config = next((v for v in variants if v.startswith("config=")), None)
                if config:
                    field, name, value = config[7:].split("/", 2)
                    head = re.sub(rf'"{field}": ("(?:[^"\\]|\\.)*")', lambda m: f'"{field}": ' + json.dumps(json.dumps(
                        json.loads(json.loads(m.group(1))) | {name: json.loads(value)})), head)
            if payload and record.key == "recompile_reasons":
                payload = f'[\n"{REASON}"\n]'
            head = re.sub(r'"frame_id": 0, "frame_compile_id": [01]', '"frame_id": \x01F\x02, "frame_compile_id": \x01N\x02', head)
            at = record.at - unit.start
            log_at = max(log_at, at)
            add(at, record.path, head, payload, event, record.phase)
            if "break" in variants and record.key == "dynamo_start":
                head = ('{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, "rank": 0, '
                        f'"frame_id": \x01F\x02, "frame_compile_id": \x01N\x02, "attempt": 0, "has_payload": "{"0" * 32}"}}')
                add(at, "torch/_dynamo/symbolic_convert.py:5098", head, BREAK.replace("{line}", "\x01X\x02").replace("{name}", "\x01K\x02"), None, None)
        if len(self.cache) > 300:
            self.cache.clear()
        self.cache[key] = (out, slots)
        return out, slots

    @staticmethod
    def with_time(text, at):
        """Chromium's ts is the time of its record: written as a slot that knows it."""
        return re.sub(r'(?<="ts": )[\d.]+', f"\x01T{at!r}\x02", text)

    def exchange(self, record, payload):
        if payload is None:
            return None
        if record.key == "inductor_collective_schedule":
            ops = json.loads(payload)
            where = [i for i, op in enumerate(ops) if "wait_tensor" not in op]
            one, two = where[0], where[1]
            ops[one], ops[two] = ops[two], ops[one]
            return "[\n" + ",\n".join(json.dumps(op) for op in ops) + "\n]"
        if record.key == "inductor_output_code":
            calls = list(re.finditer(r"^.*torch\.ops\._c10d_functional\.(?!wait_tensor)\w+\.default\(.*$", payload, re.M))
            calls = [c for c in calls if not c.group(0).lstrip().startswith("#")]
            if len(calls) >= 2:
                one, two = calls[0], calls[1]
                payload = payload[:one.start()] + two.group(0) + payload[one.end():two.start()] + one.group(0) + payload[two.end():]
        return payload

    def transpose(self, record, head, payload):
        if record.key == "describe_tensor" and '"id": 0,' in head:
            head = head.replace('"stride": [1024, 1]', '"stride": [1, 1024]')
        if payload and record.key in ("dynamo_output_graph", "before_pre_grad_graph", "after_pre_grad_graph", "aot_inference_graph",
                                      "before_post_grad_graph", "after_post_grad_graph"):
            payload = payload.replace('[1024, 1]cuda', '[1, 1024]cuda', 1)
        if payload and record.key == "inductor_output_code":
            payload = payload.replace("(1024, 1))", "(1, 1024))", 1)
        if payload and record.key == "dynamo_cpp_guards_str":
            payload = payload.replace("stride=[1024, 1]", "stride=[1, 1024]", 1)
        if payload and record.key == "inductor_runtime_and_tensor_meta":
            payload = payload.replace('"stride": [\n1024,\n1\n]', '"stride": [\n1,\n1024\n]', 1)
        return head, payload

    def slots(self, text):
        """Static text and slots: [str, (code, value), str, …]."""
        out, at = [], 0
        extra = (r'|\x01(?P<V>[\w.-]+)\x02|(?P<R>(?<="rank": )0\b)|(?P<M>(?<="has_payload": ")[0-9a-f]{32})'
                 r'|(?P<S>(?<="start_time": )[\d.]+|(?<="start_time_us": )\d+|(?<="end_time_us": )\d+|(?<="cache_event_time": )\d+)'
                 r'|"(?P<dn>(?!start_time|end_time)\w*(?:_time_s|_time_us|duration_us|_overhead_s|_overhead_us|time_taken_ns))": (?P<U>[\d.]+)')
        pattern = self.plain.setdefault("slot", re.compile(SLOT.pattern + extra))
        for found in pattern.finditer(text):
            kind = found.lastgroup
            value = found.group(kind)
            start = found.start(kind)
            out.append(text[at:start])
            at = found.end(kind)
            if kind == "V":
                out[-1], at = out[-1][:-1], at + 1
            elif kind == "U":
                value = (found.group("dn"), float(value), "." in value)
            elif kind == "A":
                value = (int(value, 16) if value.startswith("0x") else int(value), value.startswith("0x"))
            elif kind == "S":
                micro = float(value) * (1e6 if "." in value else 1e-3 if len(value) > 17 else 1)
                value = (micro - self.zero, "." in value, len(value) > 17)
            out.append((kind, value))
        out.append(text[at:])
        return out

    # ---------------------------------------------------------------- level two: one rank

    def prefix(self, micro, pid):
        second, rest = divmod(int(micro), 10**6)
        text = self.seconds.get(second)
        if text is None:
            text = self.seconds[second] = time.strftime("V%m%d %H:%M:%S.", time.gmtime(second)).encode()
        return b"%b%06d %b " % (text, rest // 1000 * 1000, pid)

    def compile(self, out, unit_number, variants, code, frame, number, rank, device, pid, begin, rng, slow=None, stop=None, open_events=None):
        """Append one compile to out; returns (the time at its end in µs, the number of records). slow: (phase, µs); stop: (phase, torn)."""
        records, slots = self.template(unit_number, number > 0, variants)
        unit = self.units[unit_number]
        scale = math.exp(rng.gauss(0, 0.04))
        if slow:
            phase, extra = slow
            opened, closed = unit.span(phase)
            longer = unit.fields_around(phase)

            def when(at):
                inside = min(max(at - opened, 0.0), closed - opened) / (closed - opened)
                return begin + at * scale + inside * extra
        else:
            extra, longer = 0.0, ()

            def when(at):
                return begin + at * scale

        values, shift, salt = [b""] * len(slots), self.shift, None
        rank_text = b"%d" % rank
        for index, (kind, value) in enumerate(slots):
            if kind == "V":
                first = value[0]
                values[index] = (b"%.1f" % when(float(value[1:])) if first == "T" else b"%d" % frame if first == "F" else b"%d" % number if first == "N"
                                 else b"%d" % (100 + 20 * code) if first == "L" else b"block%d" % code if first == "K" else b"%d" % (frame + 1)
                                 if first == "E" else b"%d" % (107 + 20 * code) if first == "X" else b"%d" % (number - 1) if first == "Q"
                                 else b"%d" % (1016 + 8 * number) if first == "Y" else b"%d" % (1024 + 8 * number))
            elif kind == "A":
                values[index] = b"0x%x" % (value[0] + shift) if value[1] else b"%d" % (value[0] + shift)
            elif kind == "U":
                name, amount, is_float = value
                amount *= scale
                if name in longer:
                    amount += extra * (1e-6 if name.endswith("_s") else 1000 if name.endswith("_ns") else 1)
                values[index] = b"%.6f" % amount if is_float else b"%d" % amount
            elif kind == "S":
                offset, is_float, nanos = value
                micro = when(offset - unit.start)
                values[index] = b"%.6f" % (micro / 1e6) if is_float else b"%d" % (micro * (1000 if nanos else 1))
            elif kind == "D":
                values[index] = b"%d" % device
            elif kind == "I":
                values[index] = b"%d/%d" % (frame, number)
            elif kind == "R" or kind == "P":
                values[index] = rank_text
            elif kind == "H":
                if salt is None:
                    salt = (code, number, device, tuple(sorted(variants & {"gelu", "collectives", "stride"})))
                key = base32(value, salt)
                values[index] = (f"{key[:2]}/c{key}" if "/" in value else value[0] + key).encode()
            elif kind == "G":
                values[index] = b"%.2f" % (float(value) * scale)
        md5, prefix, written = hashlib.md5, self.prefix, 0
        for _at, log_at, path, head, head_getter, body, tabbed, body_getter, static, event, phase in records:
            now = when(log_at)
            written += 1
            if body is None:
                record = head % head_getter(values) + b"\n"
            elif static:
                values[0] = static[0]
                record = head % head_getter(values) + static[1] + b"\n"
            else:
                filled = body_getter(values)
                values[0] = md5(body % filled).hexdigest().encode()
                record = head % head_getter(values) + tabbed % filled + b"\n"
            out += (prefix(now, pid), path, record)
            if stop:
                if phase == "B":
                    open_events.append(event)
                elif phase == "E" and event in open_events:
                    del open_events[len(open_events) - 1 - open_events[::-1].index(event)]
                if event == stop[0] and phase == "B":
                    if stop[1]:
                        text = b"".join(out[-3:])
                        out.append(text[:len(text) * 2 // 5])
                        written += 1
                    return now, written
        if stop:
            raise SystemExit(f"no phase {stop[0]} in this compile: a cache hit, or left out by --detail")
        return when(unit.length), written

    def timeline(self, plans):
        """When each compile begins on every rank (µs from the start): who is late or slow is waited for, as in a collective."""
        width = 1.25 * max(unit.length for unit in self.units) + 1e5
        at, self.starts = 0.0, []
        extra = {o for plan in plans.values() for o in plan["extra"]}
        longer = {}
        for plan in plans.values():
            for ordinal, (_, micro) in plan["slow"].items():
                longer[ordinal] = max(longer.get(ordinal, 0), micro)
            for ordinal, micro in plan["late"].items():
                longer[ordinal] = max(longer.get(ordinal, 0), micro)
        for ordinal in range(self.args.compiles):
            count = 1 + self.args.recompiles + (ordinal in extra)
            wait = longer.get(ordinal, 0.0)
            self.starts.append([at] + [at + wait + width * n for n in range(1, count)])
            at += wait + width * count
        self.whole = at

    def rank(self, rank, plan, out_dir):
        """Write the files of one rank: [(name, facts)]; plan: what is planted on it."""
        args = self.args
        rng = random.Random(f"{args.seed}/{rank}")
        device = rank % args.per_node
        files = []
        lives = [*plan.get("restarted", []), None]
        for life, died_in in enumerate(lives):
            # the newest process is in step with the other ranks; each older one began before
            base = self.epoch + plan.get("clock", 0.0) - (len(lives) - 1 - life) * (self.whole + 45e6)
            pid = b"%d" % (40000 + rng.randrange(3_000_000))
            self.shift = (rng.randrange(1, 1 << 24) << 12) % 0x0f0000000000
            random_part = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789_") for _ in range(8))
            name = f"dedicated_log_torch_trace_rank_{rank}_{random_part}.log"
            if args.layout == "hosts":
                name = f"node{rank // args.per_node:04d}/{name}"
            path = out_dir / name
            path.parent.mkdir(exist_ok=True)
            out, order, records, size = [], [], 0, 0
            begin = base - 4e5 + rng.uniform(0, 2e5)
            for index, record in enumerate(self.strings):
                head = record.head.replace("/opt/pytorch/test2.py", "/home/user/model/train.py") \
                    .replace("/opt/pytorch/torch/_dynamo/external_utils.py", "/home/user/model/blocks.py")
                out += [self.prefix(begin, pid), record.path.encode(), b"] ", head.encode(), b"\n"]
                records += 1
                if index == 0:
                    body = json.dumps({"pytorch_version": plan["version"] or TORCH, "commit": hashlib.sha1((plan["version"] or TORCH).encode()).hexdigest(),
                                       "oss": True}, indent=0).encode()
                    head = f'{{"artifact": {{"name": "torch_version", "encoding": "json"}}, "has_payload": "{hashlib.md5(body).hexdigest()}"}}'
                    out += [self.prefix(begin, pid), b"torch/_logging/_internal.py:1328] ", head.encode(), b"\n\t", body.replace(b"\n", b"\n\t"), b"\n"]
                    records += 1
            frame, stack, ended, sequence, now = 0, [], None, self.sequence(plan), begin
            wide = frozenset(([f"version={plan['version']}"] if plan["version"] else []) + ([f"config={plan['config']}"] if plan["config"] else []))
            with open(path, "wb", buffering=1 << 20) as file:
                for place, ordinal in zip(sorted(sequence), sequence):
                    variants = wide | frozenset(plan["variants"].get(ordinal, ()))
                    if ordinal in self.hits and ordinal not in plan["miss"]:
                        variants |= {"hit"}
                    count = 1 + args.recompiles + (ordinal in plan["extra"])
                    for number in range(count):
                        stop = None
                        if died_in == ordinal and number == 0:
                            stop = ("backend_compile", 0)
                        elif died_in is None and plan.get("killed", (None,))[0] == ordinal and number == 0:
                            stop = plan["killed"][1:]
                        slow = plan["slow"].get(ordinal) if number == 0 else None
                        begin = base + self.starts[place][number] + rng.uniform(2e3, 4e4)
                        if number == 0:
                            begin += plan["late"].get(ordinal, 0.0)
                        now, written = self.compile(out, ordinal % 2 if number == 0 else 1, variants if number == 0 else wide, ordinal, frame, number, rank,
                                                    device, pid, begin, rng, slow, stop, stack)
                        records += written
                        order.append((f"{frame}/{number}", ordinal))
                        if stop:
                            ended = {"compile": f"{frame}/{number}", "code": f"block{ordinal}", "open": list(stack), "torn": bool(stop[1])}
                            break
                        if len(out) > 3000:
                            size += file.write(b"".join(out))
                            out.clear()
                    if ended:
                        break
                    frame += 1
                for record in self.end if not ended else ():
                    ids = [{"compile_id": i} for i, _ in order] * 2
                    body = json.dumps({"graph_execution_order": ids}, indent=0).encode()
                    head = record.head.replace('"rank": 0', f'"rank": {rank}')
                    head = re.sub(r'(?<="has_payload": ")\w+', hashlib.md5(body).hexdigest(), head)
                    out += [self.prefix(now, pid), record.path.encode(), b"] ", head.encode(), b"\n\t", body.replace(b"\n", b"\n\t"), b"\n"]
                    records += 1
                size += file.write(b"".join(out))
            mtime = (now - plan.get("clock", 0.0)) / 1e6  # the file server's clock is right
            os.utime(path, (mtime, mtime))
            files.append((name, {"pid": int(pid), "records": records, "bytes": size, "compiles": len(order), "ended": ended,
                                 "ids": dict(reversed(o) for o in reversed(order))}))
        return files

    def sequence(self, plan):
        order = [i for i in range(self.args.compiles) if i not in plan["missing"]]
        for ordinal in plan["swap"]:
            if ordinal in order and order.index(ordinal) + 1 < len(order):
                at = order.index(ordinal)
                order[at], order[at + 1] = order[at + 1], order[at]
        return order

    # ---------------------------------------------------------------- the whole

    def plants(self):
        args, rng = self.args, random.Random(f"{self.args.seed}/plants")
        wanted = []
        for text in args.plant:
            kind, _, options = text.partition(":")
            values = dict(part.split("=", 1) for part in options.split(",") if part)
            wanted += [(k, {}) for k in KINDS] if kind == "all" else [(kind, values)]
        free_ranks = [r for r in range(args.start_rank, args.start_rank + args.ranks)]
        rng.shuffle(free_ranks)
        ordinals = list(range(args.compiles))
        rng.shuffle(ordinals)
        out = []
        for index, (kind, values) in enumerate(wanted):
            if kind not in KINDS:
                raise SystemExit(f"unknown plant {kind}; one of {', '.join(KINDS)}, all")
            unknown = set(values) - {"ranks", "rank", "node", "compile", "phase", "factor", "seconds", "torn", "field", "name", "value"}
            if unknown:
                raise SystemExit(f"unknown option of a plant: {', '.join(sorted(unknown))}")
            if "node" in values:
                node = [r for n in parse_ranks(values["node"]) for r in range(n * args.per_node, (n + 1) * args.per_node)]
                values["ranks"] = "+".join(str(r) for r in node if r in free_ranks)
            ranks = parse_ranks(values["ranks"]) if "ranks" in values else [parse_ranks(values["rank"])[0]] if "rank" in values else \
                [free_ranks[index % len(free_ranks)]]
            if "compile" in values:
                ordinal = int(values["compile"])
            else:
                ordinal = ordinals[index % len(ordinals)]
                if kind == "collective_order":  # needs two collectives
                    ordinal = min(ordinal | 1, (args.compiles - 1) // 2 * 2 + 1 if args.compiles % 2 == 0 else args.compiles - 2)
                if kind in ("reordered", "late_start"):  # after a late start the others are seen to have waited
                    ordinal = min(ordinal, args.compiles - 2)
            if not 0 <= ordinal < args.compiles and kind not in WIDE:
                raise SystemExit(f"{kind}: no compile {ordinal}")
            if kind == "collective_order" and ordinal % 2 == 0:
                raise SystemExit("collective_order needs an odd compile: only those have two collectives")
            phase = values.get("phase", "async_compile.wait" if kind == "slow_phase" else "fx_codegen_and_compile")
            hits = {p["ordinal"] for p in out if p["kind"] == "cache_miss"}
            if kind in ("killed", "slow_phase") and ordinal in hits and "compile" not in values:
                ordinal = next((i for i in range(args.compiles) if i not in hits), ordinal)  # a hit has no code generation
            row = {"kind": kind, "ranks": ranks, "ordinal": None if kind in WIDE else ordinal, "phase": phase, "torn": int(values.get("torn", 0))}
            if kind == "slow_phase":  # really slow: factor times, but never less than seconds more
                opened, closed = self.units[ordinal % 2].span(phase)
                row["seconds"] = max(float(values.get("seconds", 8)), (closed - opened) * (float(values.get("factor", 1)) - 1) / 1e6)
            elif kind in ("clock", "late_start"):
                row["seconds"] = float(values.get("seconds", 90 if kind == "clock" else 30))
            elif kind == "config":
                field = values.get("field", "dynamo_config")
                row["config"] = f"{field}/{values.get('name', SMALL.get(field, 'debug'))}/{values.get('value', '16')}"
                json.loads(row["config"].split("/", 2)[2])
            elif kind == "version":
                row["version"] = values.get("value", "2.10.0+cu128")
            out.append(row)
        return out

    def write(self, out_dir: Path):
        args = self.args
        everyone = list(range(args.start_rank, args.start_rank + args.ranks))
        plants = self.plants()
        self.hits = {p["ordinal"] for p in plants if p["kind"] == "cache_miss"}
        plans = {}

        def empty():
            return {"variants": {}, "missing": set(), "extra": set(), "miss": set(), "slow": {}, "swap": [], "late": {}, "version": None, "config": None}

        def plan(rank):
            return plans.setdefault(rank, empty())

        for p in plants:
            for rank in p["ranks"]:
                where, ordinal = plan(rank), p["ordinal"]
                variant = {"other_graph": "gelu", "collective_order": "collectives", "tensor_meta": "stride", "graph_break": "break",
                           "guards": "guards"}.get(p["kind"])
                if variant:
                    where["variants"].setdefault(ordinal, []).append(variant)
                elif p["kind"] == "missing_compile":
                    where["missing"].add(ordinal)
                elif p["kind"] == "extra_recompile":
                    where["extra"].add(ordinal)
                elif p["kind"] == "cache_miss":
                    where["miss"].add(ordinal)
                elif p["kind"] == "slow_phase":
                    where["slow"][ordinal] = (p["phase"], p["seconds"] * 1e6)
                elif p["kind"] == "late_start":
                    where["late"][ordinal] = p["seconds"] * 1e6
                elif p["kind"] == "clock":
                    where["clock"] = p["seconds"] * 1e6
                elif p["kind"] in ("config", "version"):
                    where[p["kind"]] = p[p["kind"]]
                elif p["kind"] == "killed":
                    where["killed"] = (ordinal, p["phase"], p["torn"])
                elif p["kind"] == "restarted":
                    where.setdefault("restarted", []).append(ordinal)
                elif p["kind"] == "reordered":
                    where["swap"].append(ordinal)
        nothing = empty()
        self.timeline(plans)
        out_dir.mkdir(parents=True, exist_ok=True)
        facts, totals = {}, [0, 0, 0]
        for rank in everyone:
            written = self.rank(rank, plans.get(rank, nothing), out_dir)
            for index, (name, fact) in enumerate(written):
                totals = [totals[0] + fact["records"], totals[1] + fact["bytes"], totals[2] + fact["compiles"]]
                fact["newest"] = index == len(written) - 1
                if rank in plans:
                    facts.setdefault(rank, []).append({"file": name, **{k: v for k, v in fact.items() if k != "ids"}})
                    facts[rank][-1]["_ids"] = fact["ids"]
        truth = {"seed": args.seed, "ranks": ranges(everyone), "compiles": args.compiles, "recompiles": args.recompiles,
                 "detail": args.detail, "per_node": args.per_node, "layout": args.layout, "records": totals[0], "bytes": totals[1],
                 "compiles_in_all": totals[2], "damaged_records": sum(p["torn"] * len(p["ranks"]) for p in plants if p["kind"] == "killed"),
                 "plants": [], "silent": SILENT, "rank_files": {}}
        for p in plants:
            others = [r for r in everyone if r not in p["ranks"]]
            must, may = FACETS[p["kind"]]
            row = {"kind": p["kind"], "ranks": ranges(p["ranks"]), "others": ranges(others)}
            if p["kind"] in WIDE:
                row |= {"function": None, "place": None, "id_of_majority": None, "id_on_rank": {}}
            else:
                row |= {"function": f"block{p['ordinal']}", "place": f"/home/user/model/blocks.py:{100 + 20 * p['ordinal']}",
                        "id_of_majority": f"{p['ordinal']}/0", "id_on_rank": {str(r): facts[r][-1]["_ids"].get(p["ordinal"]) for r in p["ranks"]}}
            row |= {"facets": must, "consequences": may}
            row |= {key: p[key] for key in ("seconds", "version") if key in p}
            if p["kind"] == "version":
                row["version_of_majority"] = TORCH
            if p["kind"] == "config":
                row |= dict(zip(("field", "name", "value"), p["config"].split("/", 2)))
            if p["kind"] == "slow_phase":
                row["phase"] = p["phase"]
            if p["kind"] in ("killed", "restarted"):
                row["ended"] = [f["ended"] for r in p["ranks"] for f in facts[r] if f["ended"]]
            if p["kind"] == "reordered":
                row["before"] = f"block{p['ordinal'] + 1}"
            row["line"] = f"{row['function'] or 'whole rank'}: {'/'.join(must)}: rank{'s' if len(p['ranks']) > 1 else ''} {row['ranks']} | ranks {row['others']}"
            truth["plants"].append(row)
        for rank, rows in facts.items():
            for row in rows:
                row.pop("_ids")
            truth["rank_files"][str(rank)] = rows
        (out_dir / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        return truth


def options(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--compiles", type=int, default=6)
    parser.add_argument("--recompiles", type=int, default=0, help="of every frame; 5000 with --compiles 1: all of one frame")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plant", action="append", default=[])
    parser.add_argument("--detail", choices=("full", "lean", "tiny"), default="lean")
    parser.add_argument("--layout", choices=("flat", "hosts"), default="flat")
    parser.add_argument("--per-node", type=int, default=8)
    parser.add_argument("--start-rank", type=int, default=0)
    parser.add_argument("--template", type=Path, default=HERE / "ranks_template" / "rank_0.log.xz")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--tltui", default="tltui")
    parser.add_argument("--tlparse", default="tlparse")
    return parser.parse_args(argv)


def proofs(where):
    """The plants that change little: exactly that is changed, and the other ranks keep their bytes."""
    def make(name, *plants):
        made = options([f"{where}/{name}", "--ranks", "5", "--compiles", "4", "--seed", "9", "--detail", "lean", *(x for p in plants for x in ("--plant", p))])
        truth = Maker(made).write(made.out)
        return truth, {int(p.name.split("_")[5]): p.read_bytes() for p in sorted(made.out.glob("*.log"))}

    def records(data):
        return [r.partition(b"\n")[::2] for r in re.split(rb"\n(?=V)", data.rstrip(b"\n"))]

    def differ(data, other):
        return [(a, b) for a, b in zip(records(data), records(other)) if a[1] != b[1] or re.sub(rb"\w{32}", b"", a[0]) != re.sub(rb"\w{32}", b"", b[0])]

    def spent(data):
        text = [r[0] for r in records(data) if b'"compilation_metrics"' in r[0]]
        return [float(re.search(rb'"entire_frame_compile_time_s": ([\d.]+)', t).group(1)) for t in text]

    _, clean = make("clean")
    for kind, lines in (("clock", None), ("config", 8), ("version", 9), ("guards", 2)):
        _, data = make(kind, f"{kind}:ranks=3,compile=1")
        assert all(data[r] == clean[r] for r in clean if r != 3) and len(records(data[3])) == len(records(clean[3])), kind
        found = differ(clean[3], data[3])
        if lines:
            assert len(found) == lines, (kind, len(found))
        else:
            times = [[float(x) for x in re.findall(rb'"ts": ([\d.]+)|"start_time_us": (\d+)', d)[0] if x] for d in (clean[3], data[3])]
            assert abs(times[1][0] - times[0][0] - 90e6) < 2, times
            plain = [re.sub(rb"(?m)^V\d{4} [\d:.]+|(?<=\"ts\": )[\d.]+|(?<=time\": )[\d.]+|(?<=time_us\": )\d+|\b\w{32}\b", b"", d) for d in (clean[3], data[3])]
            assert plain[0] == plain[1], "clock changes more than times"
    truth, data = make("slow", "slow_phase:ranks=3,compile=1")
    took = sorted(spent(data[r])[1] for r in data)
    assert took[-1] == spent(data[3])[1] > took[2] + 5 and truth["plants"][0]["seconds"] >= 5, took
    waits = re.findall(rb'"name": "async_compile.wait",\n\t"ts": ([\d.]+)', data[3])
    assert (float(waits[3]) - float(waits[2])) / 1e6 > 5 and spent(data[3])[0] == spent(clean[3])[0]
    _, data = make("late", "late_start:ranks=3,compile=1")
    begins = {r: [float(x) / 1e6 for x in re.findall(rb'"name": "dynamo",\n\t"ts": ([\d.]+)', data[r])[::2]] for r in data}
    assert begins[3][1] - begins[0][1] > 29.9 and all(abs(begins[3][i] - begins[0][i]) < 0.1 for i in (0, 2, 3)), begins
    print("clock, config, version, guards, slow_phase, late_start: exactly what is planted")


def self_test(args):
    """Every record and md5 read back; equal arguments give equal bytes; tltui finds no damage, tlparse no failure."""
    with tempfile.TemporaryDirectory() as where:
        digests = []
        for name in ("one", "two"):
            made = options([f"{where}/{name}", "--ranks", "12", "--compiles", "12", "--recompiles", "1", "--seed", "3", "--plant", "all",
                            "--detail", "lean"])
            truth = Maker(made).write(made.out)
            digests.append([hashlib.md5(p.read_bytes()).hexdigest() for p in sorted(made.out.rglob("*")) if p.is_file()])
        assert digests[0] == digests[1], "not deterministic"
        records = 0
        for path in sorted(Path(where, "one").glob("*.log")):
            for chunk in re.split(rb"\n(?=V)", path.read_bytes().rstrip(b"\n")):
                head, _, body = chunk.partition(b"\n")
                envelope = json.loads(head[head.index(b"] {") + 2:])
                if "has_payload" in envelope:
                    payload = b"\n".join(line[1:] for line in body.split(b"\n"))
                    assert hashlib.md5(payload).hexdigest() == envelope["has_payload"], (path, head[:200])
                    if next(iter(envelope)) == "chromium_event":
                        json.loads(payload)
                records += 1
        assert records == truth["records"], (records, truth["records"])
        print(f"{records} records, every md5 right, {len(truth['plants'])} plants")
        said = subprocess.run([args.tltui, "damage", f"{where}/one"], capture_output=True, text=True)
        assert "Nothing is damaged" in said.stdout, said.stdout + said.stderr
        print("tltui:", said.stdout.splitlines()[0])
        proofs(where)
        logs = sorted(Path(where, "one").glob("*rank_1_*.log"))
        said = subprocess.run([args.tlparse, str(logs[-1]), "-o", f"{where}/html", "--no-browser", "--overwrite"], capture_output=True, text=True)
        stats = re.findall(r"Stats \{[^}]*\}", said.stderr + said.stdout)
        print("tlparse:", said.returncode, stats[-1] if stats else (said.stdout + said.stderr)[-400:])
        assert said.returncode == 0 and stats and "fail" not in stats[-1]
        said = subprocess.run([args.tlparse, f"{where}/one", "--all-ranks-html", "-o", f"{where}/all", "--no-browser", "--overwrite"],
                              capture_output=True, text=True)
        print("tlparse --all-ranks-html:", said.returncode, (said.stdout + said.stderr).strip().splitlines()[-1])


def main():
    args = options()
    if args.list:
        print("\n".join(f"{kind:18} must: {', '.join(FACETS[kind][0]):14} may: {', '.join(FACETS[kind][1])}" for kind in KINDS))
    elif args.self_test:
        self_test(args)
    elif not args.out:
        sys.exit(__doc__)
    else:
        begin = time.perf_counter()
        truth = Maker(args).write(args.out)
        print(f"{args.ranks} ranks, {truth['compiles_in_all']} compiles, {truth['records']} records, {truth['bytes'] / 1e6:.1f} MB "
              f"in {time.perf_counter() - begin:.1f} s")
        for plant in truth["plants"]:
            print(" ", plant["line"])


if __name__ == "__main__":
    main()
