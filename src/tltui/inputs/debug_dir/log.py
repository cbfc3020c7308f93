"""A directory of units as a log: each file is the payload of a record that torch would have written to a trace."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime

from tltui.inputs.debug_dir.joining import UnitCode
from tltui.inputs.debug_dir.layout import process_of
from tltui.inputs.debug_dir.names import CACHED, CODE, UNIT, unit_order, written
from tltui.inputs.debug_dir.source import DirectoryBytes
from tltui.text.payload import ByteSource, Payload
from tltui.trace.batch import Batch
from tltui.trace.digest import Digest, digest
from tltui.trace.files import FileBytes
from tltui.trace.log import Check, Checked, Log

AOT_ID = re.compile(rb"# AOT ID: \['(\d+)_(forward|backward|inference)'\]")
_FIRST_LINE = 400


class DebugLog(Log):
    """The files of a directory of units. First lines are made, payloads are the files as they are."""

    told_by = "torch_compile_debug"
    is_made = True

    def __init__(self, path: str, source: FileBytes, generation: int = 0) -> None:
        assert isinstance(source, DirectoryBytes)
        super().__init__(path, source, generation)
        self._directory = source
        self._digests: dict[int, Digest] = {}

    def apply(self, batch: Batch) -> None:
        super().apply(batch)
        known = len(self.sources) - 1
        self.sources += self._directory.files[known : len(self.columns)]
        for record in batch.resized:
            self._digests.pop(record, None)

    def source_of(self, record: int) -> ByteSource:
        """The file of a record."""
        return self.sources[self.columns.source[record]]

    def path_of(self, record: int) -> str:
        """The path of the file of a record."""
        file = self.source_of(record)
        assert isinstance(file, FileBytes)
        return file.path

    def name_of(self, record: int) -> str:
        """The name of the file of a record, without its directories."""
        return os.path.basename(self.path_of(record))

    def head(self, record: int) -> bytes:
        """The first line as torch would have written it. Raises OSError where the file cannot be read."""
        kind, context = self.kind(record), self.context(record)
        if kind.event == "artifact":
            event: dict[str, object] = {"artifact": {"name": kind.name, "encoding": kind.encoding}}
        elif kind.event == "graph_dump":
            event = {"graph_dump": {"name": kind.name, "type": kind.encoding}}
        else:
            event = {kind.event: self._place_of_code(record)}
        event["has_payload"] = self.md5(record)
        made = written(self.name_of(record), bool(context.name))
        when = self._time_of(record).strftime("%m%d %H:%M:%S.%f")
        return f"V{when} {context.pid} {made.path}:{made.line}] {json.dumps(event)}".encode()

    def written(self, record: int) -> bytes:
        """The path of the file: it has no first line."""
        return os.fsencode(self.path_of(record))

    def place(self, record: int) -> tuple[str, int]:
        """The file."""
        return self.path_of(record), 0

    def payload(self, record: int) -> Payload | None:
        """The file, as it is."""
        return Payload(self.source_of(record), 0, self.columns.size[record])

    def md5(self, record: int) -> str | None:
        """The md5 of the file. Raises OSError where it cannot be read."""
        return self._digest(record).md5

    def check(self, record: int) -> Checked | None:
        """Nothing says what the md5 should be."""
        payload, found = self.payload(record), self._digest(record)
        assert payload is not None
        return Checked(Check.GOOD, payload, found.size, found.lines, found.md5)

    def units(self) -> list[UnitCode[str]]:
        """The generated code of each unit, in order: what joins it with the compiles of a trace. Reads that code."""
        found = []
        for record in self.records():
            name = self.context(record).name
            if name and self.kind(record).event == "inductor_output_code" and self.name_of(record) == CODE:
                try:
                    md5 = self._digest(record).md5
                    match = AOT_ID.search(self.source_of(record).read(0, _FIRST_LINE))
                except OSError:
                    continue
                aot_id = (int(match[1]), match[2].decode()) if match else None
                found.append(UnitCode(name, md5, aot_id or _aot_id_of(name)))
        return sorted(found, key=lambda unit: unit_order(unit.unit))

    def _digest(self, record: int) -> Digest:
        if (found := self._digests.get(record)) is None:
            payload = self.payload(record)
            assert payload is not None
            found = self._digests[record] = digest(payload)
        return found

    def _place_of_code(self, record: int) -> dict[str, str]:
        """Where Inductor keeps the code: the directory of a unit in its cache is named as that file. Elsewhere nothing says it."""
        directory = os.path.dirname(self.path_of(record))
        if not CACHED.fullmatch(os.path.basename(directory)):
            return {}
        path = directory.removesuffix(".debug") + ".py"
        return {"filename": path, "file_path": path}

    def _time_of(self, record: int) -> datetime:
        """When the process began, else when the file was last changed, in local time."""
        _, started = process_of(self._directory.path)
        if started is not None:
            return started
        try:
            return datetime.fromtimestamp(os.stat(self.path_of(record)).st_mtime)
        except (OSError, OverflowError, ValueError):
            return datetime.fromtimestamp(0)


def _aot_id_of(name: str) -> tuple[int, str] | None:
    """The AOT id and direction that the name of a unit states."""
    match = UNIT.fullmatch(name)
    return (int(match["aot"]), match["direction"]) if match else None
