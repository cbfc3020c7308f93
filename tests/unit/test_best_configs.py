"""Configurations in Inductor's autotuning cache (`tests/traces/inputs/autotune/cache`, written by torch's own code)."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from real import TRACES, fresh

from tltui.cli import main
from tltui.questions.autotune.autotune_report import LIMIT, Configuration, Parameter, configuration_changes, configurations_of

AUTOTUNE = TRACES / "inputs" / "autotune"


def test_the_page_has_kernel_configuration_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autotune", str(AUTOTUNE / "cache"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)["result"]
    first, second, _, last = answer["configurations"]
    assert (first["kernel"], first["num_warps"], first["search_s"]) == ("triton_red_fused_native_layer_norm_1", 16, 0.231)
    assert first["by_coordinate_descent"] and first["parameters"][1] == {"name": "R0_BLOCK", "value": 2048}
    assert second["kernel"] == "triton_poi_fused_add_relu_0"
    assert last["kernel"] == "triton_per_fused_softmax_2"  # by Triton's cache: two kernels are in its directory
    assert main(["autotune", str(AUTOTUNE / "cache")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Inductor's cache has the configurations of 4 kernels." in text
    assert "R0_BLOCK=2048 16 1 descent 231 ms" in text and "found by coordinate descent" in text
    assert "one of 2 kernels XBLOCK=128 4 1 3.00 ms" in text


def test_the_first_page_begins_with_the_configurations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(AUTOTUNE / "cache")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Inductor's autotuning cache has no timestamps" in text and "tltui autotune" in text
    assert "Configurations of Triton kernels in Inductor's cache." in text and "No error" not in text


def test_a_baseline_shows_kernels_configured_differently(capsys: pytest.CaptureFixture[str]) -> None:
    cache, changed = (str(AUTOTUNE / name) for name in ("cache", "cache_changed"))
    assert main(["autotune", changed, "--baseline", cache]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "triton_red_fused_native_layer_norm_1 R0_BLOCK 2048 → 1024, num_warps 16 → 8" in text
    assert main(["autotune", changed, "--baseline", cache, "--json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["result"]["configured"]
    assert change["old"] == "XBLOCK=1 R0_BLOCK=2048 num_warps=16 num_stages=1"
    assert main(["autotune", cache, "--baseline", cache]) == 0
    assert "Kernels of both runs have equal configurations." in " ".join(capsys.readouterr().out.split())


def test_kernels_of_two_versions_of_torch_are_paired_by_name() -> None:
    def made(kernel: str, warps: int, file: str) -> Configuration:
        return Configuration(kernel, (), (Parameter("XBLOCK", 8),), warps, 1, None, None, file)

    old = [made("a", 4, "x/1.best_config"), made("b", 4, "x/2.best_config"), made("b", 2, "x/3.best_config")]
    new = [made("a", 8, "y/4.best_config"), made("b", 8, "y/5.best_config")]
    (change,) = configuration_changes(old, new)  # kernel b has two shapes in the old cache
    assert (change.kernel, change.text) == ("a", "num_warps 4 → 8")


@pytest.mark.parametrize("path", ["", "ab", "cd/{file}"])
def test_a_cache_a_part_of_it_and_one_file_open(path: str, tmp_path: Path) -> None:
    cache = AUTOTUNE / "cache"
    (file,) = (name for name in os.listdir(cache / "cd") if name.endswith(".best_config"))
    found = configurations_of(fresh(cache / path.format(file=file)))
    assert found.refused == () and len(found.configurations) == (4 if not path else 1)


HOSTILE: dict[str, bytes] = {
    "huge": b'{"XBLOCK": 1, "num_warps": 4, "pad": "' + b"x" * LIMIT + b'"}',
    "deep": b"[" * 100_000,
    "deep_object": b'{"a":' * 5_000,
    "list": b"[1, 2]",
    "number": b"3",
    "null": b"null",
    "empty_object": b"{}",
    "binary": bytes(range(256)) * 8,
    "cut": b'{"XBLOCK": 25',
    "wrong_types": b'{"num_warps": true, "num_stages": [], "time_taken_ms": "x", "found_by_coordesc": 3, "triton_cache_hash": {}}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_with_a_reason(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(AUTOTUNE / "cache", cache)
    (cache / "ab" / "x.best_config").write_bytes(HOSTILE[name])
    found = configurations_of(fresh(cache))
    assert len(found.configurations) == 4 and len(found.refused) == 1 and "x.best_config: " in found.refused[0]
    assert main(["autotune", str(cache)]) == 0
    assert "not read: " in capsys.readouterr().out


def test_values_of_other_types_are_left_out(tmp_path: Path) -> None:
    fields = {
        "XBLOCK": 8, "flag": True, "a": [1], "b": {"c": 2}, "num_warps": 4, "num_stages": -1, "time_taken_ms": 1e300,
        "found_by_coordesc": "yes", "triton_cache_hash": "../../../../etc", "\x1b[31m": "\x1b]0;x\x07",
    }  # fmt: skip
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "x.best_config").write_text(json.dumps(fields))
    (item,) = configurations_of(fresh(tmp_path)).configurations
    assert item.kernel == "" and item.candidates == () and item.search_s is None and item.by_coordinate_descent is None
    assert item.parameters[:2] == (Parameter("XBLOCK", 8), Parameter("flag", 1)) and (item.num_warps, item.num_stages) == (4, None)


def test_nothing_outside_of_the_directory_is_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret, cache = tmp_path / "secret", tmp_path / "cache"
    (cache / "ab").mkdir(parents=True)
    secret.mkdir()
    (secret / "k.py").write_text("'kernel_name': 'triton_secret'")
    (secret / "s.best_config").write_text('{"XBLOCK": 77, "num_warps": 4}')
    (secret / "triton_secret.json").write_text("{}")
    (cache / "ab" / "x.best_config").write_text('{"XBLOCK": 8, "num_warps": 4, "triton_cache_hash": "%s"}' % ("A" * 52))
    (cache / "ab" / "link.best_config").symlink_to(secret / "s.best_config")
    (cache / "ab" / "k.py").symlink_to(secret / "k.py")
    (cache / "cd").symlink_to(secret)
    (cache / "triton" / "0").mkdir(parents=True)
    (cache / "triton" / "0" / ("A" * 52)).symlink_to(secret)
    os.mkfifo(cache / "ab" / "f.best_config")
    assert main(["autotune", str(cache)]) == 0
    out = capsys.readouterr().out
    assert "XBLOCK=8" in out and "77" not in out and "secret" not in out.replace(str(tmp_path), "")
