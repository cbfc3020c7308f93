"""Logs for the benchmarks, made from real ones once."""

from __future__ import annotations

import hashlib
import lzma
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TRACES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "torch-2.13"
TEXTS = TRACES.parent / "inputs"
HEAD = re.compile(rb"(?m)^([VIWEC]\d{4} \S+ )(\d+)( [^\n]*?\]) \[(\d+)/")
"""The prefix of a line of TORCH_LOGS text: before the pid, the pid, the site, the frame."""
FRAME = re.compile(rb'(?m)^(V[^\n]*?"frame_id": )(\d+)')
LARGE_RECORDS = 300_000
PREFIX = b"V1120 10:00:00.000000 4242 torch/_logging/_internal.py:1] "
IDS = b'"frame_id": 0, "frame_compile_id": 0, "attempt": 0'
LINES = 1_000_000
LINE = 100
"""Bytes of a line of the large payload as it is stored: tab, text, line end."""
ONE_LINE = 1_000_000


@dataclass(frozen=True, slots=True)
class BenchmarkLog:
    """A log on disk."""

    path: Path
    size: int
    records: int


def log_of(name: str) -> bytes:
    """Read a real log of tests/traces."""
    [path] = (TRACES / name).glob("*.log")
    return path.read_bytes()


def copies(name: str) -> Iterator[bytes]:
    """Yield copies of a real log without end, each with frame ids of its own, so that all compiles differ."""
    data = log_of(name)
    pieces, ids, at = [], [], 0
    for match in FRAME.finditer(data):
        pieces.append(data[at : match.end(1)])
        ids.append(int(match[2]))
        at = match.end()
    rest, step = data[at:], max(ids) + 1
    number = 0
    while True:
        yield b"".join(p + b"%d" % (i + number * step) for p, i in zip(pieces, ids, strict=True)) + rest
        number += 1


def _count(data: bytes) -> int:
    return data.count(b"\nV") + data.startswith(b"V")


def repeated(path: Path, name: str, *, records: int | None = None, size: int | None = None) -> None:
    """Write whole copies of a real log until there are that many records or bytes."""
    each = _count(log_of(name))
    with path.open("wb") as file:
        for number, data in enumerate(copies(name)):
            if (records is not None and number * each >= records) or (size is not None and file.tell() >= size):
                break
            file.write(data)


def large_payload(path: Path) -> None:
    """Write an artifact of 100 MB in a million lines."""
    body = b"".join(
        (b"buf%d = empty_strided_cuda((%d, 768), (768, 1), torch.float32)  # " % (n, n % 4096)).ljust(LINE - 2, b"x") + b"\n"
        for n in range(LINES)
    )[:-1]
    _one_artifact(path, b'{"inductor_output_code": {"filename": "/tmp/code.py"}, ', body)


def long_line(path: Path) -> None:
    """Write an artifact with a line of 1 MB."""
    line = b"    add = torch.ops.aten.cat.default([" + b", ".join(b"arg%d_1" % n for n in range(ONE_LINE // 9))
    body = b"class GraphModule:\n  def forward(self):\n" + line + b"])\n    return add"
    _one_artifact(path, b'{"dynamo_output_graph": {}, ', body)


def _one_artifact(path: Path, event: bytes, body: bytes) -> None:
    md5 = hashlib.md5(body, usedforsecurity=False).hexdigest().encode()
    start = b'{"dynamo_start": {"stack": [{"line": 1, "name": "forward", "filename": 0}]}, ' + IDS + b"}\n"
    metrics = b'{"compilation_metrics": {"co_name": "forward", "graph_op_count": 1}, ' + IDS + b"}\n"
    with path.open("wb") as file:
        file.write(PREFIX + b'{"str": ["/home/user/model.py", 0]}\n' + PREFIX + start)
        file.write(PREFIX + event + IDS + b', "has_payload": "' + md5 + b'"}\n')
        file.write(b"\t" + body.replace(b"\n", b"\n\t") + b"\n")
        file.write(PREFIX + metrics)


def large_text(path: Path) -> None:
    """Write repeated real TORCH_LOGS text, each time of another process or of other frames."""
    names = ("mlp", "breaks", "recompiles", "cache_hit")
    texts = [lzma.decompress((TEXTS / name / "stderr.txt.xz").read_bytes()) for name in names]
    with path.open("wb") as file:
        number = 0
        while file.tell() < 200_000_000:
            for text in texts:
                pid, frame = number % 7, number // 7 * 10
                file.write(HEAD.sub(lambda m, p=pid, f=frame: b"%b%d%b [%d/" % (m[1], int(m[2]) + p, m[3], int(m[4]) + f), text))
                number += 1


def flood(path: Path) -> None:
    """Write 50 MB of messages of one line, each with a time of its own."""
    with path.open("wb") as file:
        number = 0
        while file.tell() < 50_000_000:
            second, micros = divmod(number, 1000)
            clock = b"%02d:%02d:%02d.%06d" % (second // 3600 % 24, second // 60 % 60, second % 60, micros * 1000)
            site = b"torch/fx/experimental/symbolic_shapes.py:5743] [%d/0]" % (number // 300)
            file.write(b"V1121 %b 5552 %b create_symbol s%d = 5 for L['x'].size()[0] [2, int_oo] x * y\n" % (clock, site, number))
            number += 1


MAKERS: dict[str, Callable[[Path], None]] = {
    "large": lambda path: repeated(path, "cache_hit", records=LARGE_RECORDS),
    "cut": lambda path: repeated(path, "cache_hit", size=200_000_000),
    "middle": lambda path: repeated(path, "cache_hit", size=10_000_000),
    "small-records": lambda path: repeated(path, "recompiles", size=50_000_000),
    "text": large_text,
    "text-flood": flood,
    "payload": large_payload,
    "long-line": long_line,
}


def ensure_log(directory: Path, name: str) -> BenchmarkLog:
    """Return the log of a name, after making it if it does not exist."""
    path = directory / f"{name}.log"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        MAKERS[name](unfinished)
        unfinished.rename(path)
    count = path.with_suffix(".records")
    if not count.exists():
        with path.open("rb") as file:
            lines = sum(line.startswith(b"V") for line in file)
        count.write_text(str(lines))
    return BenchmarkLog(path, path.stat().st_size, int(count.read_text()))
