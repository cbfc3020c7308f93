"""Nothing of the machine on which a file was made is in a committed file."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACES = sorted(
    path
    for directory in ("tests/traces", "src/tltui/demo")
    for path in (ROOT / directory).rglob("*")
    if path.suffix in (".log", ".txt", ".raw")
)
# Directories that no neutral path begins with. Brackets and groups keep these lines from matching themselves.
LEAK = re.compile(
    rb"(?<![\w.*)\]])/(?:root|work|farm)/(?=[\w.])"
    rb"|[.]pyenv/"
    rb"|torchinductor_(?:root|runner)\b"
)


def load_neutraliser() -> ModuleType:
    """The script, which is in no package."""
    spec = importlib.util.spec_from_file_location("neutralise", ROOT / "tools/neutralise.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


NEUTRALISER = load_neutraliser()


def tracked_files() -> list[Path]:
    """The text files that git tracks or would; everything below the usual directories where there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
        found = [ROOT / name for name in names if name]
    except (OSError, subprocess.CalledProcessError):
        places = ("src", "tests", "tools", "docs", "benchmarks", "snapshots")
        found = [path for place in places for path in (ROOT / place).rglob("*")]
    return sorted(path for path in found if path.is_file() and path.suffix != ".pyc")


def leaks(data: bytes) -> list[bytes]:
    """The lines around what looks like a path of a machine."""
    return [data[max(0, hit.start() - 60) : hit.end() + 60] for hit in LEAK.finditer(data)]


def test_no_committed_file_names_this_machine() -> None:
    looked_at = 0
    found = {}
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" in data[:8192]:
            continue
        looked_at += 1
        if hits := leaks(data):
            found[str(path.relative_to(ROOT))] = hits[:3]
    assert looked_at > 40
    assert not found


def test_there_are_traces_to_look_at() -> None:
    assert len(TRACES) > 20
    assert sum(path.stat().st_size for path in TRACES) > 5_000_000


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_trace_is_neutral(trace: Path) -> None:
    """The neutraliser, with no name to look for, finds nothing to change."""
    data = trace.read_bytes()
    assert NEUTRALISER.neutralise(data) == data


LOG = """\
V1120 10:00:00.000000 77 torch/_logging/structured.py:28] {"str": ["/ro%(ot)s/job/train.py", 0]}
V1120 10:00:00.000000 77 torch/x.py:9] {"artifact": {"name": "a", "encoding": "string"}, "has_payload": "%(md5)s"}
%(payload)s
V1120 10:00:00.000000 77 torch/_dynamo/x.py:1] {"dynamo_start": {"stack": []}, "frame_id": 0}
"""
PAYLOAD = """\
File "/srv/venv/lib/python3.12/site-packages/torch/_dynamo/utils.py", line 3
File "/ro%(ot)s/.py%(env)s/versions/3.12.1/lib/python3.12/contextlib.py", line 3

+- GUARD # with x:  # oot/.py%(env)s/versions/3.12.1/lib/python3.12/contextlib.py:3 in helper
+- GUARD # f(x)  # oot/job/train.py:12 in step
"/tmp/torchinductor_%(user)s/ab/cab.py" "\\n/ro%(ot)s/job/train.py" g++ -I/ro%(ot)s/include torch.ops.root/ro%(ot)s/x
https://example.org/ro%(ot)s/x %(host)s:29500 %(user)s@%(host)s /root_cause a/ro%(ot)s/b"""
NEUTRAL = """\
File "/opt/venv/lib/python3.12/site-packages/torch/_dynamo/utils.py", line 3
File "/usr/lib/python3.12/contextlib.py", line 3

+- GUARD # with x:  # lib/python3.12/contextlib.py:3 in helper
+- GUARD # f(x)  # job/train.py:12 in step
"/tmp/torchinductor_user/ab/cab.py" "\\n/home/user/job/train.py" g++ -I/home/user/include torch.ops.root/ro%(ot)s/x
https://example.org/ro%(ot)s/x localhost:29500 user@localhost /root_cause a/ro%(ot)s/b"""
HIDDEN = {"ot": "ot", "env": "env", "user": "zaphod", "host": "heartofgold"}


def log(payload: str) -> bytes:
    """A log of three records, one of which holds `payload`."""
    lines = "\n".join("\t" + line for line in payload.split("\n"))
    digest = hashlib.md5(payload.encode()).hexdigest()
    return (LOG % {**HIDDEN, "md5": digest, "payload": lines}).encode()


def neutral(data: bytes) -> bytes:
    """`data` as neutralised on a machine of our own."""
    result = NEUTRALISER.neutralise(data, [("/ro" + "ot/job", "/home/user/job")], "zaphod", "heartofgold")
    assert isinstance(result, bytes)
    return result


def test_the_neutraliser_replaces_paths_and_names_and_recomputes_the_md5() -> None:
    expected = log(NEUTRAL % HIDDEN).replace(b"/ro" + b"ot/job/train.py", b"/home/user/job/train.py", 1)
    assert neutral(log(PAYLOAD % HIDDEN)) == expected
    assert neutral(expected) == expected


def test_the_neutraliser_keeps_json_inside_of_json() -> None:
    """A path that ends where the quoted text does: metrics hold configurations so."""
    data = b'V1120 10:00:00.000000 77 torch/x.py:9] {"metrics": "{\\"dir\\": \\"/home/%s\\", \\"n\\": 1}"}\n'
    assert NEUTRALISER.neutralise(data % b"somebody") == data % b"user"


def test_the_neutraliser_leaves_a_wrong_md5_wrong() -> None:
    wrong = re.sub(rb'"has_payload": "\w+"', b'"has_payload": "%s"' % (b"0" * 32), log(PAYLOAD % HIDDEN))
    assert b'"has_payload": "%s"' % (b"0" * 32) in neutral(wrong)


def test_the_neutraliser_keeps_what_is_no_log() -> None:
    for data in (b"", b"\n", b"\tx", b"\n\n\ttab", b"text without an end", b"\xff\xfe\0"):
        assert NEUTRALISER.neutralise(data) == data
