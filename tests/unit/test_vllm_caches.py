"""vLLM's cache directories: opened as a source, compared factor by factor, never executed. Made after vLLM's sources."""

from __future__ import annotations

import ast
import json
import os
import pickle
from pathlib import Path

import pytest
from real import TRACES, fresh

from tltui.cli import main
from tltui.inputs.vllm_cache import LIMIT, NotParsed, hash_of, parse_entries, parse_object
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.caches.vllm_caches import VllmCaches, read_caches
from tltui.text.document import Options

ENV = {"VLLM_USE_V1": True, "VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}
ARTIFACT = "artifact_compile_range_1_8192_subgraph_0"
ENTRY = {((1, 8192), 0, "inductor_standalone"): {"graph_handle": (ARTIFACT, "/home/user/a"), "cache_key": None}}


def cache(
    top: Path, name: str, env: dict[str, object] | None = None, config: str = "1", code: str = "2", compiler: str = "3",
    line: str = "x = x + 1",
) -> Path:  # fmt: skip
    """Write a cache as vllm/compilation/backends.py does: one rank, one prefix."""
    prefix = top / "torch_compile_cache" / name / "rank_0_0" / "backbone"
    prefix.mkdir(parents=True)
    factors = {"env": env or ENV, "config_hash": config, "code_hash": code, "compiler_hash": compiler}
    (prefix / "cache_key_factors.json").write_text(json.dumps(factors, indent=2, sort_keys=True))
    (prefix / "vllm_compile_cache.py").write_text(repr(ENTRY))
    graph = f"class GraphModule(torch.nn.Module):\n    # File: /vllm/models/llama.py:12 in forward, code: {line}\n"
    (prefix / "computation_graph.py").write_text(graph)
    (prefix / ARTIFACT).write_bytes(bytes(range(256)) * 10)
    inductor = prefix.parent / "inductor_cache" / "ab"
    inductor.mkdir(parents=True)
    (inductor / "cab.py").write_text("print()")
    return prefix.parents[1]


def caches_of(*paths: Path) -> VllmCaches:
    steps = read_caches(fresh(*paths))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: VllmCaches = end.value
            return result


def page_of(run: Run) -> str:
    page = build(run, "@caches", Options(width=100))
    while not page.advance():
        pass
    return "\n".join(page.line(number).text for number in range(len(page)))


@pytest.mark.parametrize("below", ["", "0123456789", "0123456789/rank_0_0", "0123456789/rank_0_0/backbone"])
def test_a_cache_opens_at_each_level(below: str, tmp_path: Path) -> None:
    cache(tmp_path, "0123456789")
    (one,) = caches_of(tmp_path / "torch_compile_cache" / below).caches
    assert one.cache_hash == "0123456789"
    assert one.unit.endswith("backbone")
    assert (one.ranges, one.graphs, one.refused) == (("1–8192",), 1, ())
    assert [(file.name, file.size_bytes) for file in one.files if file.is_binary] == [(ARTIFACT, 2560)]
    assert len(one.files) == 4, "Inductor's cache is not listed"


@pytest.mark.parametrize(("change", "kind", "name"), [
    ({"env": ENV | {"VLLM_USE_V1": False}}, "environment", "VLLM_USE_V1"),
    ({"env": ENV | {"VLLM_NEW": "x" * 1000}}, "environment", "VLLM_NEW"),
    ({"config": "9"}, "configuration", "config_hash"),
    ({"compiler": "9"}, "compiler", "compiler_hash"),
    ({"code": "9"}, "code", ""),
    ({"code": "9", "line": "x = x + 2"}, "code", "/vllm/models/llama.py"),
])  # fmt: skip
def test_the_factor_is_named(change: dict[str, str], kind: str, name: str, tmp_path: Path) -> None:
    old, new = cache(tmp_path, "0123456789"), cache(tmp_path, "89abcdef01", **change)  # type: ignore[arg-type]
    (one,) = caches_of(new, old).differences
    assert (one.kind, one.name) == (kind, name)
    assert one.new != one.old
    assert [found.cache_hash for found in caches_of(new, old).caches] == ["89abcdef01", "0123456789"]


def test_long_values_that_differ_at_their_end(tmp_path: Path) -> None:
    old = cache(tmp_path, "0123456789", {"A": "x" * 2000 + "1"})
    new = cache(tmp_path, "89abcdef01", {"A": "x" * 2000 + "2"})
    (one,) = caches_of(new, old).differences
    assert one.name == "A"


def test_equal_factors_differ_in_nothing(tmp_path: Path) -> None:
    old, new = cache(tmp_path, "0123456789"), cache(tmp_path, "89abcdef01")
    assert caches_of(new, old).differences == ()
    assert "No recorded factor differs between these caches." in page_of(fresh(new, old))


def test_a_cache_of_before_0_14_has_no_factors(tmp_path: Path) -> None:
    old, new = cache(tmp_path, "0123456789"), cache(tmp_path, "89abcdef01")
    (old / "rank_0_0" / "backbone" / "cache_key_factors.json").unlink()
    (one,) = caches_of(new, old).differences
    assert one.note == "the old cache has no readable cache_key_factors.json (vLLM writes it since 0.14, SGLang never)"


def test_a_cache_of_sglang(tmp_path: Path) -> None:
    prefix = tmp_path / "torch_compile_cache" / "0123456789" / "rank_0_0" / "backbone"
    prefix.mkdir(parents=True)
    (prefix / "sglang_compile_cache.py").write_text("{   (None, 0, 'inductor'): ('fabc', '/home/user/a')}")
    (prefix / "computation_graph_1795166488.1234.py").write_text("class GraphModule(torch.nn.Module):\n")
    (one,) = caches_of(tmp_path).caches
    assert (one.cache_hash, one.ranges, one.graphs, one.factors) == ("0123456789", ("all sizes",), 1, ())


def test_the_command_compares_with_a_baseline(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    old, new = cache(tmp_path, "0123456789"), cache(tmp_path, "89abcdef01", {"VLLM_USE_V1": False})
    assert main(["caches", str(new), "--baseline", str(old)]) == 0
    text = capsysbinary.readouterr().out.decode()
    assert "environment VLLM_USE_V1" in text
    assert "false ← true" in text
    assert "environment VLLM_ATTENTION_BACKEND" in text
    assert 'not set ← "FLASH_ATTN"' in text
    assert main(["caches", str(new), "--baseline", str(old), "--json"]) == 0
    result = json.loads(capsysbinary.readouterr().out)["result"]
    assert [one["name"] for one in result["vllm"]["differences"]] == ["VLLM_ATTENTION_BACKEND", "VLLM_USE_V1"]


def test_a_baseline_that_cannot_be_compared_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing")
    assert main(["caches", "--demo", "--baseline", missing]) == 2
    assert capsys.readouterr().err.startswith(f"tltui: No such file or directory: '{missing}'")
    assert main(["caches", "--demo", "--baseline", str(TRACES / "ranks")]) == 2
    assert "--baseline is not a cache directory of vLLM: " in capsys.readouterr().err


def test_a_compiled_model_is_listed_and_never_unpickled(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "executed"),)

    rank = tmp_path / "torch_aot_compile" / ("0123456789abcdef" * 4) / "rank_0_0"
    rank.mkdir(parents=True)
    (rank / "model").write_bytes(pickle.dumps(Attack()) + bytes(4000))
    (one,) = caches_of(tmp_path).caches
    assert [(file.name, file.is_binary) for file in one.files] == [("model", True)]
    assert not (tmp_path / "executed").exists()


HOSTILE = {
    "cache_key_factors.json": [b"[" * 200_000, b'{"env": ' * 100_000, b"{}" + b" " * LIMIT, b"\xff\xfe", b"[1]", b"", b'{"env": 1'],
    "vllm_compile_cache.py": [
        b"__import__('os').mkdir('executed')", b"(" * 100_000, b"-" * 200_000 + b"1", b"1" + b"+1" * 200_000, b"{" + b"1:" * 40,
        b"not " * 100_000 + b"1", b"{0: 'a' % ()}", b"f'{1}'", b"{[]: 1}", b"[lambda: 0]", b"1" * (LIMIT + 1), b"\x00", b"[1, 2]",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, texts in HOSTILE.items() for data in texts])
def test_hostile_contents_are_refused(name: str, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotParsed):
        (parse_object if name.endswith("json") else parse_entries)(data)
    top = cache(tmp_path, "0123456789")
    (top / "rank_0_0" / "backbone" / name).write_bytes(data)
    text = page_of(fresh(top))
    assert not data or f"not read: {name}: " in text
    assert not (tmp_path / "executed").exists()


def test_what_vllm_writes_is_read() -> None:
    assert parse_entries(repr(ENTRY).encode()) == ENTRY
    text = "{   (None, 0, 'inductor'): ('f\"[[[[' \n 'b', '/home/user/a\\'(((')}"
    assert parse_entries(text.encode()) == ast.literal_eval(text)
    assert parse_object(b'{"env": {"A": "[[[[{{{{ \\" [[["}}') == {"env": {"A": '[[[[{{{{ " [[['}}


def test_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    top = cache(tmp_path / "cache", "0123456789")
    secret = tmp_path / "secret"
    secret.write_text('{"env": {"TOKEN": "zq"}}')
    prefix = top / "rank_0_0" / "backbone"
    (prefix / "cache_key_factors.json").unlink()
    (prefix / "cache_key_factors.json").symlink_to(secret)
    os.mkfifo(prefix / "pipe")
    (top / "rank_1_0").symlink_to(tmp_path)
    (top / "rank_0_0" / "outside").symlink_to(tmp_path)
    run = fresh(top)
    (one,) = caches_of(top).caches
    assert one.factors == ()
    assert {file.name for file in one.files} == {"vllm_compile_cache.py", "computation_graph.py", ARTIFACT}
    reasons = [damage.reason for model in run.models for damage in model.log.damage]
    assert any("cache_key_factors.json: a symbolic link: not opened" in reason for reason in reasons)
    assert any("pipe: not a regular file" in reason for reason in reasons)


def test_the_hash_is_the_directory_above_the_rank() -> None:
    assert hash_of("/a/torch_compile_cache/0123/rank_0_0/backbone/x.py") == "0123"
    assert hash_of("/a/b/x.py") == ""
