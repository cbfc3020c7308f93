"""Compressed files and archives: what is in them is what a plain log is, and nothing but it is written."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import json
import lzma
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest
from real import ROOT, TRACES

from tltui.cli import main
from tltui.inputs.archives import SETTINGS, Limits
from tltui.inputs.archives.cache import Cache, own_cache, remove_own
from tltui.inputs.archives.decompress import NO_ZSTD, zstd_decompressor
from tltui.inputs.archives.unpack import TOO_DEEP
from tltui.model.follow import open_run
from tltui.sources.discover import NothingFound, discover

ARCHIVES = TRACES / "inputs" / "archives"
NAME = "dedicated_log_torch_trace_zbaswu8i.log"
PLAIN = gzip.decompress((ARCHIVES / f"{NAME}.gz").read_bytes())
HAS_ZSTD = zstd_decompressor() is not None or shutil.which("zstd") is not None


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of one's own, which is empty at the end: what a test unpacked is taken away."""
    top = tmp_path / "cache"
    monkeypatch.setattr("tltui.inputs.archives.cache._process_cache", [Cache(top, Limits(), SETTINGS.report)])
    monkeypatch.setenv("COLUMNS", "200")
    yield top
    remove_own()
    assert not top.exists() or os.listdir(top) == [".gate"]


def limit(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    monkeypatch.setattr(own_cache(), "limits", Limits(**limits))


def listing(path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    """What `ls --json` prints, without the paths."""
    assert main(["ls", "--json", str(path)]) == 0
    return json.loads(capsysbinary.readouterr().out, object_hook=without_paths)["result"]


def without_paths(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in ("file", "path", "others")}


def reason(path: Path) -> str:
    with pytest.raises(NothingFound) as nothing:
        discover([str(path)])
    return str(nothing.value).replace(f": '{path}'", "")


def tar(path: Path, members: dict[str, bytes], mode: Any = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


# what is good


@pytest.mark.parametrize("name", [
    f"{NAME}.gz", f"{NAME}.xz", f"{NAME}.bz2",
    pytest.param(f"{NAME}.zst", marks=pytest.mark.skipif(not HAS_ZSTD, reason="no zstd here")),
    "two_members.log.gz",
])  # fmt: skip
def test_a_packed_log_is_the_log(name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    plain = tmp_path / NAME
    plain.write_bytes(PLAIN)
    assert listing(ARCHIVES / name, capsysbinary) == listing(plain, capsysbinary)


@pytest.mark.parametrize("name", ["job.tar.gz", "job.tar.xz", "job.zip"])
def test_an_archive_is_its_directory(name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with zipfile.ZipFile(ARCHIVES / "job.zip") as archive:
        archive.extractall(tmp_path)  # one of ours
    wanted = listing(tmp_path / "job", capsysbinary)
    assert len(wanted["ranks"][0]["processes"]) == 1
    assert listing(ARCHIVES / name, capsysbinary) == wanted


@pytest.mark.parametrize("name", ["mlp", "recompiles", "torchinductor_user", "sdsc", "ranks_redirect"])
def test_debug_directories_and_outputs_in_an_archive(
    name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A case: a trace, a debug directory, the job's stderr."""
    directory = TRACES / "inputs" / name
    wanted = listing(directory, capsysbinary)
    for path in (tmp_path / "case.tar.gz", tmp_path / "case.tar"):
        with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
            archive.add(directory, "case")
        found = listing(path, capsysbinary)
        assert [rank["rank"] for rank in found["ranks"]] == [rank["rank"] for rank in wanted["ranks"]]
        assert found["ranks"] == wanted["ranks"]


def test_a_place_is_called_by_archive_and_member() -> None:
    logs = discover([str(ARCHIVES / "job.tar.gz")]).logs
    assert {log.name.partition("!")[2] for log in logs} == {f"job/{NAME}", "job/stderr.txt"}
    assert all(log.is_final and log.name.startswith(f"{ARCHIVES}/job.tar.gz!") for log in logs)
    assert open_run(discover([str(ARCHIVES / "job.tar.gz")])).finished


def test_a_report_in_an_archive_is_its_trace_alone() -> None:
    found = discover([str(ARCHIVES / "tl_out.zip")])
    [log] = found.logs
    assert log.name.endswith("tl_out.zip!tl_out/raw.log")
    assert (found.skipped, found.others) == ((), 0)
    trace = lzma.decompress((TRACES / "inputs" / "breaks" / "trace" / "dedicated_log_torch_trace_u0uh4am3.log.xz").read_bytes())
    assert Path(log.path).read_bytes() == trace


def test_ranks_are_named_by_members(tmp_path: Path) -> None:
    logs = {f"trace/dedicated_log_torch_trace_rank_{rank}_abc.log": mt.compiled(pid=10 + rank) for rank in (0, 1)}
    found = discover([str(zipped(tmp_path / "trace.zip", logs))])
    assert sorted(log.rank for log in found.logs if log.rank is not None) == [0, 1]


def test_the_newest_run_of_an_archive(tmp_path: Path) -> None:
    logs = {f"attempt_{number}/x.log": mt.chromium(ts=1.7e15 + number) + mt.compiled(number, 0) for number in (0, 1)}
    found = discover([str(zipped(tmp_path / "x.zip", logs))], latest=True)
    assert [log.launch for log in found.logs] == ["attempt_0", "attempt_1"]


def test_an_archive_in_an_archive(tmp_path: Path) -> None:
    inner = tar(tmp_path / "inner.tar.gz", {"a/x.log": PLAIN})
    other = zipped(tmp_path / "other.zip", {"y.log": PLAIN})
    deep = tar(tmp_path / "deep.tar", {"other.zip": other.read_bytes()}, "w")
    members = {path.name: path.read_bytes() for path in (inner, other, deep)} | {"z.log.gz": gzip.compress(PLAIN)}
    outer = zipped(tmp_path / "outer.zip", members)
    found = discover([str(outer)])
    names = [log.name.removeprefix(f"{outer}!") for log in found.logs]
    assert sorted(names) == ["inner.tar.gz!a/x.log", "other.zip!y.log", "z.log.gz"]
    assert [(item.path.removeprefix(f"{outer}!"), item.reason) for item in found.skipped] == [("deep.tar!other.zip", TOO_DEEP)]
    assert {Path(log.path).read_bytes() for log in found.logs} == {PLAIN}


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_streams_one_behind_the_other_are_one_file(tmp_path: Path, compress: Any) -> None:
    path = tmp_path / "x.log.packed"
    path.write_bytes(compress(PLAIN[:70_000]) + compress(b"") + compress(PLAIN[70_000:]) + bytes(512))
    [log] = discover([str(path)]).logs
    assert (Path(log.path).read_bytes(), log.fault) == (PLAIN, "")


def test_zst_without_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if zstd_decompressor() is not None:
        pytest.skip("this Python has zstd")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert reason(ARCHIVES / f"{NAME}.zst") == NO_ZSTD


def test_a_python_built_without_bz2_and_lzma(tmp_path: Path) -> None:
    """As pyenv builds it where their headers are missing: all but such files opens, and those say why not."""
    without = "import sys\nsys.modules.update(dict.fromkeys(['bz2', '_bz2', 'lzma', '_lzma']))\n"
    (tmp_path / "sitecustomize.py").write_text(without)
    paths = os.pathsep.join((str(tmp_path), *filter(None, sys.path)))
    files = [str(ARCHIVES / f"{NAME}.{packing}") for packing in ("gz", "xz", "bz2")]
    env = {**os.environ, "PYTHONPATH": paths}
    ran = subprocess.run([sys.executable, "-m", "tltui", "ls", *files], env=env, capture_output=True, text=True, check=False)
    assert ran.stdout.count("[0/0]") == 1, ran.stderr
    assert "without the module lzma: unpack it with unxz first" in ran.stdout
    assert "without the module bz2: unpack it with bunzip2 first" in ran.stdout


# in a directory


def test_a_directory_of_packed_logs_and_of_what_is_not_ours(tmp_path: Path) -> None:
    zipped(tmp_path / "wheel.zip", {"a.py": b"pass\n", "../b": b""})
    tar(tmp_path / "src.tgz", {"a.c": b"int a;\n"})
    (tmp_path / "model.pt").write_bytes(zipped(tmp_path / "x", {"x.log": PLAIN}).read_bytes())
    (tmp_path / "x").unlink()
    shutil.copy(ARCHIVES / f"{NAME}.gz", tmp_path / "a.log.gz")
    shutil.copy(ARCHIVES / f"{NAME}.gz", tmp_path / "b.log")  # whatever it is called
    (tmp_path / "note.txt").write_text("hello")
    found = discover([str(tmp_path)])
    assert [log.name for log in found.logs] == [str(tmp_path / "a.log.gz"), str(tmp_path / "b.log")]
    assert (found.skipped, found.others) == ((), 4)


def test_a_large_archive_in_a_directory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.sources.packed_sources.LARGEST", 30_000)
    for name in ("job.tar.gz", "job.tar.xz"):
        shutil.copy(ARCHIVES / name, tmp_path)
    found = discover([str(tmp_path)])
    assert {log.name.partition("!")[0] for log in found.logs} == {f"{tmp_path}/job.tar.xz"}
    assert [(item.path, item.reason) for item in found.skipped] == [
        (str(tmp_path / "job.tar.gz"), "a packed file of 40.93 KiB. To open it, give its path")
    ]
    assert len(discover([str(tmp_path / "job.tar.gz")]).logs) == 2


# what is hostile


def test_hostile_tar(cache: Path) -> None:
    found = discover([str(ARCHIVES / "hostile.tar.gz")])
    assert {log.name.partition("!")[2] for log in found.logs} == {
        f"good/{NAME}", "out/through_link.log", f"good/{NAME} (2)", "na␛[31mme␊with.log"
    }  # fmt: skip
    assert [(item.path.partition("!")[2], item.reason) for item in found.skipped] == [
        ("../escaped.log", "its name points outside of the archive"), ("/tmp/absolute.log", "its name is an absolute path"),
        ("link.log", "a symbolic link"), ("out", "a symbolic link"), ("hard.log", "a hard link"), ("fifo.log", "a named pipe"),
        ("dev.log", "a device"),
    ]  # fmt: skip
    assert_private(cache, 4)


def test_hostile_zip(cache: Path) -> None:
    found = discover([str(ARCHIVES / "hostile.zip")])
    assert [log.name.partition("!")[2] for log in found.logs] == [f"good/{NAME}"]
    assert [(item.path.partition("!")[2], item.reason) for item in found.skipped] == [
        ("../escaped.log", "its name points outside of the archive"), ("/tmp/absolute.log", "its name is an absolute path"),
        ("a\\..\\..\\b.log", "its name points outside of the archive"), ("link.log", "a symbolic link"),
    ]  # fmt: skip
    assert_private(cache, 1)


def assert_private(cache: Path, files: int) -> None:
    """Numbered files for the owner alone, and nothing else."""
    assert cache.stat().st_mode & 0o777 == 0o700
    [own] = [path for path in cache.iterdir() if path.is_dir()]
    assert own.stat().st_mode & 0o777 == 0o700
    names = sorted(path.name for path in own.iterdir())
    assert names == [f"{number:06}" for number in range(1, files + 1)] + ["lock"]
    assert {path.lstat().st_mode for path in own.iterdir()} == {0o100600}


def test_nothing_hostile_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("ls", "summary", "damage"):
        assert main([command, str(ARCHIVES / "hostile.tar.gz")]) == 0
        printed = capsys.readouterr().out
        assert "\x1b" not in printed
    assert "hostile.tar.gz!/tmp/absolute.log  its name is an absolute path" in printed


def test_a_bomb_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, member=1 << 20)
    found = discover([str(ARCHIVES / "bomb_512M.log.xz")])
    [log] = found.logs
    assert (log.size, log.fault) == (1 << 20, "cut at the limit: 1 MiB per file")
    run = open_run(found)
    assert "cut at the limit: 1 MiB per file" in [damage.reason for damage in run.models[0].log.damage]


def test_a_bomb_costs_no_more_memory_than_a_log(tmp_path: Path) -> None:
    """78 KB that unpack to 512 MiB, of which 64 MiB are kept."""
    config = tmp_path / "config.toml"
    config.write_text("unpack_member_mib = 64\n")
    peaks = []
    for path in (ARCHIVES / f"{NAME}.xz", ARCHIVES / "bomb_512M.log.xz"):
        peaks.append(int(subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], check=True, capture_output=True, text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TLTUI_CONFIG": str(config), "PYTHONPATH": str(ROOT / "src")},
        ).stdout))  # fmt: skip
    assert peaks[1] < peaks[0] + (48 << 10), peaks


PEAK = """
import re, sys
from tltui.cli.loading import discover_logs
found = discover_logs([sys.argv[1]], False)
assert found.logs[0].size <= 64 << 20, found
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def test_a_prefix_ends_with_a_whole_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, member=100_000)
    path = tmp_path / "x.log.gz"
    path.write_bytes(gzip.compress(PLAIN))
    [log] = discover([str(path)]).logs
    kept = Path(log.path).read_bytes()
    assert len(kept) <= 100_000 and PLAIN.startswith(kept)
    assert PLAIN[len(kept) :].startswith(b"V1121") and kept.endswith(b"\n")
    run = open_run(discover([str(path)]))
    assert [damage.reason for damage in run.models[0].log.damage] == [log.fault]


def test_limits_in_all_and_of_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, total=len(PLAIN) + 1000, members=3)
    path = zipped(tmp_path / "x.zip", {f"{number}.log": PLAIN for number in range(9)})
    found = discover([str(path)])
    assert len(found.logs) >= 1
    reasons = {log.fault for log in found.logs} | {item.reason for item in found.skipped}
    assert any(text.startswith("cut at the limit:") and text.endswith("for all unpacked files") for text in reasons)
    assert "more than 3 members: the rest was not read" in reasons


def test_headers_that_are_bombs_are_not_read(tmp_path: Path) -> None:
    """A header that says of itself that it has 1 GiB, all of it there: 1 MB of gzip."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    packer = zlib.compressobj(9, wbits=31)
    path = tmp_path / "bomb.tar.gz"
    with path.open("wb") as file:
        file.write(packer.compress(info.tobuf()))
        for _ in range(64):
            file.write(packer.compress(bytes(1 << 20)))
        file.write(packer.flush())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reason(path) == "a damaged tar archive: its header is larger than 4 MiB"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


def overlapping(path: Path, names: list[str], data: bytes, *, others: dict[str, bytes]) -> Path:
    """A zip archive of which all these names lead to one body, and that has members of its own besides."""
    zipped(path, {"body": data, **others})
    with zipfile.ZipFile(path, "a") as archive:
        [body] = [info for info in archive.infolist() if info.filename == "body"]
        archive.filelist.remove(body)
        for name in names:
            info = copy.copy(body)
            info.filename = info.orig_filename = name
            archive.filelist.append(info)
        archive._didModify = True  # it writes the list of members when it is closed
    return path


def test_members_that_overlap_are_not_unpacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{number}.log" for number in range(2000)]
    found = discover([str(overlapping(tmp_path / "x.zip", names, PLAIN, others={NAME: PLAIN}))])
    assert own_cache().written == 2 * len(PLAIN)
    assert {log.name.partition("!")[2] for log in found.logs} == {"1999.log", NAME} and len(found.logs) == 2
    why = "1,999 of its 2,001 members overlap the members after them and were not unpacked"
    assert [item.reason for item in found.skipped] == [why]
    path = overlapping(tmp_path / "y.zip", names, b"no log", others={})
    assert main(["ls", str(path)]) == 2
    problem = why.replace("2,001", "2,000")
    assert capsys.readouterr().err == f"tltui: {problem}: '{path}'\n  to record a trace: tltui run -- python train.py\n"


def test_members_that_quote_one_another(tmp_path: Path) -> None:
    """Each body begins with the header of the next member, so that all of them share the last one's bytes."""
    inner = zipped(tmp_path / "inner.zip", {"b.log": PLAIN}).read_bytes()
    local = inner[: inner.index(b"PK\x01\x02")]
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.log", local)
        quoted = copy.copy(archive.filelist[0])
        with zipfile.ZipFile(io.BytesIO(inner)) as given:
            [info] = given.infolist()
        quoted.filename, quoted.compress_type = "b.log", zipfile.ZIP_DEFLATED
        quoted.file_size, quoted.compress_size, quoted.CRC = info.file_size, info.compress_size, info.CRC
        quoted.header_offset = 30 + len("a.log")
        archive.filelist.append(quoted)
    found = discover([str(path)])
    assert [log.name.partition("!")[2] for log in found.logs] == ["b.log"]
    assert [item.reason for item in found.skipped] == ["1 of its 2 members overlap the members after them and were not unpacked"]


BOMB = PLAIN + (b"\t" + b"a" * 63 + b"\n") * 200_000
"""12 MB of a log that unpacks to a hundred times its packed size."""


def bombs() -> list[Any]:
    """Names of files, and what packs it into one."""
    def in_zip(path: Path) -> None:
        zipped(path, {"a.log": BOMB, "b.log": PLAIN})

    def in_tar(path: Path) -> None:
        tar(path, {"a.log": BOMB, "b.log": PLAIN}, f"w:{path.suffix[1:]}")

    def in_nested(path: Path) -> None:
        in_zip(path.with_suffix(".inner"))
        tar(path, {"in.zip": path.with_suffix(".inner").read_bytes()})

    compressors = {"x.log.gz": gzip.compress, "x.log.xz": lzma.compress, "x.log.bz2": bz2.compress}
    alone = [(name, partial(_pack, compress=compress)) for name, compress in compressors.items()]
    return [*alone, ("x.zip", in_zip), ("x.tar.gz", in_tar), ("x.tar.xz", in_tar), ("x.tar.bz2", in_tar), ("y.tar.gz", in_nested)]


def _pack(path: Path, compress: Any) -> None:
    path.write_bytes(compress(BOMB))


@pytest.mark.parametrize(("name", "pack"), bombs())
def test_more_than_any_log_unpacks_to(name: str, pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came out up to the limit is opened, and the reason is given once for each file."""
    monkeypatch.setattr("tltui.inputs.archives.decompress.FLOOR", 3 << 20)
    monkeypatch.setattr("tltui.inputs.archives.decompress.RATIO", 4)
    pack(tmp_path / name)
    found = discover([str(tmp_path / name)])
    reasons = [log.fault for log in found.logs if log.fault] + [item.reason for item in found.skipped]
    assert reasons and all(re.fullmatch(REFUSED, reason) for reason in reasons), reasons
    assert len(found.logs) == 1 and found.logs[0].size > len(PLAIN) and own_cache().written < (3 << 20) + (2 << 16)
    assert open_run(found).models[0].log.damage


REFUSED = r"its [\d.]+ KiB unpack to more than 3 MiB, too much for a log; the rest was skipped"


def test_what_real_logs_unpack_to_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 ranks that logged the same except for times and pids, in the form that packs them best."""
    monkeypatch.setattr("tltui.inputs.archives.decompress.FLOOR", 1 << 20)
    chance = random.Random(1)

    def of_rank(number: int) -> bytes:
        line = re.compile(rb"^(V\d{4} \d\d:\d\d:\d\d\.)\d{6} \d+", re.MULTILINE)
        return line.sub(lambda found: b"%s%06d %d" % (found[1], chance.randrange(10**6), number), PLAIN)

    path = tar(tmp_path / "job.tar.xz", {f"rank_{n}/{NAME}": of_rank(n) for n in range(32)}, "w:xz")
    found = discover([str(path)])
    assert len(found.logs) == 32 and not found.skipped and not any(log.fault for log in found.logs)


def test_encrypted(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"x.log": PLAIN})
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag in both headers: APPNOTE.TXT 4.4.4
        data[data.index(signature) + at] |= 1
    path.write_bytes(data)
    assert reason(path) == "encrypted; unpack it first"


# what is damaged


def test_cut_off_data_is_opened_and_marked(capsys: pytest.CaptureFixture[str]) -> None:
    path = ARCHIVES / "cut_off.log.gz"
    found = discover([str(path)])
    [log] = found.logs
    assert PLAIN.startswith(Path(log.path).read_bytes()) and log.size > 100_000
    assert main(["damage", str(path)]) == 0
    assert "the compressed data is truncated" in capsys.readouterr().out
    assert main(["check", "--fail-on", "damage", str(path)]) == 1


def test_a_wrong_checksum_loses_nothing(tmp_path: Path) -> None:
    """What is wrong is found behind the last byte."""
    data = bytearray(gzip.compress(PLAIN))
    data[-8] ^= 0xFF
    (tmp_path / "x.log.gz").write_bytes(data)
    [log] = discover([str(tmp_path / "x.log.gz")]).logs
    assert (Path(log.path).read_bytes(), log.fault) == (PLAIN, "the compressed data is damaged: incorrect data check")
    path = zipped(tmp_path / "x.zip", {"x.log": PLAIN})
    data = bytearray(path.read_bytes())
    data[data.rindex(b"PK\x01\x02") + 16] ^= 0xFF  # in the list of members: APPNOTE.TXT 4.3.12
    path.write_bytes(data)
    [log] = discover([str(path)]).logs
    assert (Path(log.path).read_bytes(), log.fault) == (PLAIN, "its checksum is wrong")


def test_a_flipped_byte() -> None:
    [log] = discover([str(ARCHIVES / "flipped_byte.log.gz")]).logs
    assert log.fault.startswith("the compressed data is damaged")
    assert log.size > 100_000


def test_a_tar_archive_that_is_cut_off(tmp_path: Path) -> None:
    whole = tar(tmp_path / "x.tar", {"a.log": PLAIN, "b.log": PLAIN}, "w").read_bytes()
    (tmp_path / "x.tar").write_bytes(whole[: len(PLAIN) + 50_000])
    found = discover([str(tmp_path / "x.tar")])
    assert [log.fault for log in found.logs] == ["", "the archive is truncated inside of this member"]


# what cannot be opened


@pytest.mark.parametrize(("name", "wanted"), [
    ("empty.tar", "contains no log (0 files)"), ("no_trace.zip", "contains no log (1 file)"), ("empty.log.gz", "the file is empty"),
])  # fmt: skip
def test_nothing_of_ours(name: str, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(ARCHIVES / name)]) == 2
    assert capsys.readouterr().err == f"tltui: {wanted}: '{ARCHIVES / name}'\n  to record a trace: tltui run -- python train.py\n"


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(own_cache(), "top", tmp_path / "file" / "unpacked")
    wanted = f"cannot unpack to {tmp_path}/file/unpacked: Not a directory; set XDG_CACHE_HOME"
    assert reason(ARCHIVES / "job.zip") == wanted


def test_no_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.inputs.archives.cache.RESERVE", 1 << 60)
    assert reason(ARCHIVES / f"{NAME}.gz").startswith("cut at the limit: only ")


def test_what_is_stopped_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        if own_cache().written > 1 << 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(SETTINGS, "progress", stop)
    with pytest.raises(KeyboardInterrupt):
        discover([str(ARCHIVES / "bomb_512M.log.xz")])
    [own] = [path for path in cache.iterdir() if path.is_dir()]
    assert [path.name for path in own.iterdir()] == ["lock"]
