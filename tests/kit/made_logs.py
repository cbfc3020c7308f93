"""Small logs for tests, written record by record."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tltui.model.follow import open_run
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.sources.discover import discover


class Log:
    """A log that is written record by record. Records belong to frame 0, compile 0, attempt 0 by default."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []
        self.micros = 1_795_166_488_000_000.0

    def add(self, event: str, value: object, payload: str | None = None, frame: int | None = 0, compile_: int = 0,
            attempt: int = 0, **more: Any) -> Log:  # fmt: skip
        envelope: dict[str, Any] = {event: value}
        if frame is not None:
            envelope |= {"frame_id": frame, "frame_compile_id": compile_, "attempt": attempt}
        envelope |= more
        if payload is not None:
            envelope["has_payload"] = hashlib.md5(payload.encode()).hexdigest()
        self.lines.append(f"V1120 09:22:47.015000 3536 torch/_dynamo/x.py:1] {json.dumps(envelope)}")
        if payload is not None:
            self.lines.append("\t" + payload.replace("\n", "\n\t"))
        return self

    def artifact(self, name: str, payload: str, **ids: Any) -> Log:
        return self.add("artifact", {"name": name, "encoding": "string"}, payload, **ids)

    def start(self, name: str = "f", line: int = 4, **ids: Any) -> Log:
        self.add("str", ["/home/user/f.py", 0], frame=None)
        return self.add("dynamo_start", {"stack": [{"line": line, "name": name, "filename": 0}]}, **ids)

    def metrics(self, _event: str = "compilation_metrics", **fields: Any) -> Log:
        ids = {key: fields.pop(key) for key in ("frame", "compile_", "attempt") if key in fields}
        usual = {"graph_op_count": 2, "restart_reasons": [], "duration_us": 1_500_000, "pytorch_version": "2.13.0"}
        return self.add(_event, usual | fields, **ids)

    def event(self, name: str, phase: str, at: float, **args: Any) -> Log:
        """Add a timing event; `at` in seconds."""
        value = {"name": name, "ts": self.micros + at * 1e6, "args": args, "ph": phase, "cat": "dynamo_timed"}
        return self.add("chromium_event", {}, json.dumps(value))

    def open(self) -> Run:
        self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return open_run(discover([str(self.path)]))

    def compile(self, ref: str = "0/0") -> Compile:
        node = self.open().resolve(ref)
        assert isinstance(node, Compile)
        return node
