"""Frames with thousands of recompilations, each for another value of an int attribute: CPU seconds of pages, and their lines."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from commands import TLTUI
from rows import Bench, Row, at_most

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kit"))

from made_logs import Log

ONE_FRAME, SEVERAL_FRAMES = (1, 5_000), (8, 2_222)
"""The number of frames, and of recompilations of each."""
REASONS = 6
"""Older versions that torch names for each recompilation: it writes one reason for each version of the same torch.compile call."""
HINT = "(HINT: torch.compile considers integer attributes of the nn.Module to be static.)"
TREE = f"""
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor, type=<class 'torch.Tensor'>, tag_safe=(False, False)
| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size=[2], \
stride=[1])  # return x * self.i  # a/f.py:4 in f
| +- GuardManager: source=L['self'].i, accessed_by=DictGetItemGuardAccessor('i'), type=<class 'int'>, tag_safe=(False, False)
| | +- EQUALS_MATCH: L['self'].i == VALUE  # return x * self.i  # a/f.py:4 in f {HINT}
"""


def recompiled(keep: Path, frames: int, times: int) -> Path:
    """Return the log of frames that were recompiled so many times, after writing it if it does not exist."""
    path = keep / f"recompiled-{frames}-{times}.log"
    if path.exists():
        return path
    keep.mkdir(parents=True, exist_ok=True)
    log = Log(path)
    for frame in range(frames):
        for number in range(times + 1):
            ids: dict[str, Any] = {"frame": frame, "compile_": number}
            log.start(name=f"f{frame}", line=4 + frame, **ids)
            older = range(number - 1, max(number - 1 - REASONS, -1), -1)
            if older:
                reasons = [f"{frame}/{k}: self.i == {k}  # return x * self.i  # a/f.py:4 in f {HINT}" for k in older]
                log.artifact("recompile_reasons", json.dumps(reasons), **ids)
            log.add("dynamo_cpp_guards_str", {}, TREE.replace("VALUE", str(number)), **ids).metrics(**ids)
    path.write_text("\n".join(log.lines) + "\n", encoding="utf-8")
    return path


def measured(command: str, path: Path, times: int) -> tuple[float, int]:
    """Return the fewest CPU seconds of some runs of a command, and its lines."""
    fewest, lines = float("inf"), 0
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = subprocess.run([*TLTUI, command, str(path)], check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        fewest = min(fewest, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        lines = output.count(b"\n")
    return fewest, lines


def recompiles(keep: Path, quick: bool) -> list[Row]:
    """Measure the pages of frames that were recompiled thousands of times, reading included."""
    rows = []
    for frames, times in (ONE_FRAME, SEVERAL_FRAMES):
        path = recompiled(keep, frames, times)
        for command in ("recompiles", "summary"):
            seconds, lines = measured(command, path, 1 if quick else 3)
            label = f"{frames} × {times:,} recompilations: {command}"
            if (frames, times) == ONE_FRAME:
                rows += [at_most(f"{label}, CPU", seconds, 3.0, "s"), at_most(f"{label}, lines", lines, 6_000, "")]
            else:
                rows.append(Row(f"{label}, CPU", "", f"{seconds:.1f} s", None))
    return rows


BENCHES: dict[str, Bench] = {"recompiles": recompiles}
