"""What real jobs left behind besides traces."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

from real import TRACES

INPUTS = TRACES / "inputs"


def unpacked(name: str, into: Path, inputs: Path = INPUTS) -> Path:
    """Unpack the files that a job left, and return their directory."""
    top = into / name
    for path in sorted((inputs / name).rglob("*")):
        place = top / path.relative_to(inputs / name)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif path.suffix == ".xz":
            place.with_suffix("").parent.mkdir(parents=True, exist_ok=True)
            place.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    return top
