"""Everything that has a name, and finding it."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_logs import Log
from real import trace

from tltui.model.nodes import Compile
from tltui.model.ref import Ref
from tltui.questions.build import build
from tltui.questions.provenance.graph_names import names_of
from tltui.questions.stacks.tracebacks import qualified_name
from tltui.text.document import Options
from tltui.tree.name_search import BLOCK, LOOKED_AT, Place, Places, everything, recent


def made(texts: list[str]) -> Places:
    found = Places()
    for first in range(0, len(texts), BLOCK):
        found.add([Place(str(number), text) for number, text in enumerate(texts[first : first + BLOCK], first)])
    return found


def test_the_nearer_the_match_the_earlier_it_comes() -> None:
    letters = "grand unified art description set"
    found = made(["my guards list", "x bodyguards", letters, "guards", "list of guards", "0/1:guards tree"])
    best = ["guards", "my guards list", "list of guards", "0/1:guards tree", "x bodyguards", letters]
    assert [p.text for p in found.match("guards")] == best
    assert [p.text for p in found.match("list guards")] == ["my guards list", "list of guards"]
    assert found.match("Guards")[0].text == "guards"
    assert [p.text for p in found.match("bgs")] == ["x bodyguards"]
    assert found.match("zzz") == []
    assert len(found.match("")) == 6


def test_names_of_any_text_are_found() -> None:
    found = made(["a\nb", "[x](y)*", "ünïcode", ""])
    assert [p.text for p in found.match("a b")] == ["a\nb"]
    assert [p.text for p in found.match("[x]")] == ["[x](y)*"]
    assert [p.text for p in found.match("](")] == ["[x](y)*"]
    assert [p.text for p in found.match("ÜNC")] == ["ünïcode"]
    assert found.match("^") == []


def test_typing_on_finds_the_same_as_typing_at_once() -> None:
    texts = [f"{n}:0/{n % 7} artifact {n * 7919 % 1000} of_{'abcdef'[n % 6]}" for n in range(3000)]
    slowly, query = made(texts), ""
    for letter in "7of_c9":
        query += letter
        assert slowly.match(query) == made(texts).match(query), query
    slowly.add([Place("new", "7 of_c 9")])
    assert slowly.match(query)[0].ref == "new"


def test_a_hundred_thousand_names() -> None:
    texts = [f"{n % 64}:{n // 500}/{n % 8}:inductor_output_code some kind of title {n}" for n in range(100_000)]
    found = made(texts)
    assert len(found) == 100_000
    typed = ["i", "in", "iou", "iouc", "x", "xq", "title 99999", "63:19"]
    for query in typed:
        found.match(query)
    assert found.match("title 99999")[0].text.endswith("99999")
    assert len(found.match("inductor")) <= LOOKED_AT


def test_all_kinds_of_things_are_there() -> None:
    run = trace("torch-2.13/ddp")
    compiles = [c for c in run.compiles() if c.is_compile]
    ref = next(str(p.ref) for p in everything(run, compiles, None) if p.ref.endswith(":inductor_post_grad_graph"))
    document = build(run, ref, Options())
    places = list(everything(run, compiles, compiles[0], names_of(document), ref))
    by_ref = {place.ref: place.text for place in places}
    assert by_ref["1:"] == "1:  rank 1  7 compiles"
    assert any(text.startswith(f"{compiles[0].ref}:") for text in by_ref.values())
    assert "@summary" in by_ref and "@damage" in by_ref
    assert any(place.ref.startswith(f"{ref}@L") and "torch.ops.aten" in place.text for place in places), "nodes of the graph"
    assert any(place.ref.startswith("@shapes:") and "symbol of" in place.text for place in places)
    for place in places:
        if not place.ref.startswith("@"):
            assert run.resolve(place.ref.partition("@")[0]) is not None
    for view in ("@shapes:1:0/1", "@summary"):
        assert len(build(run, view, Options())) > 0


def test_frames_and_odd_symbols(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start("train_step").metrics().metrics(compile_=1)
    log.add("create_symbol", {"symbol": "s7", "source": "L['x'].size()[0]"}).add("create_symbol", {"symbol": 3}).add(
        "create_symbol", []
    )
    run = log.open()
    texts = [p.text for p in everything(run, list(run.compiles()), None)]
    assert "0/  train_step  f.py:4  frame of 2 compiles" in texts
    assert [t for t in texts if "symbol of" in t] == ["s7  L['x'].size()[0]  symbol of 0/0"]


@pytest.mark.parametrize("name", ["breaks", "aoti"])
def test_kernels_of_output_code(name: str) -> None:
    run = trace(f"torch-2.13/{name}")
    owner = next(c for c in run.compiles() if isinstance(c, Compile))
    refs = [place.ref for place in everything(run, list(run.compiles()), owner)]
    document = build(run, next(ref for ref in refs if "output_code" in ref or "wrapper_code" in ref), Options())
    found = [p.text for p in everything(run, [], None, names_of(document), document.ref)]
    assert any(text.startswith(("cpp_fused", "call", "AOTInductorModel", "inline")) or "fused" in text for text in found)


ALL = ["ddp", "train", "recompiles", "breaks", "resets", "vllm_like", "mesh", "ca", "errors", "regional_inductor"]


@pytest.mark.parametrize("name", ALL)
def test_no_two_places_read_alike(name: str) -> None:
    run = trace(f"torch-2.13/{name}")
    refs: dict[str, str] = {}
    for place in everything(run, list(run.compiles()), None):
        assert refs.setdefault(place.text, place.ref) == place.ref, place.text
        assert place.text.strip() == place.text


def test_a_row_tells_function_place_direction_status_and_rank() -> None:
    run = trace("torch-2.13/recompiles")
    rows = {place.ref: place for place in everything(run, list(run.compiles()), None)}
    assert rows["0/0"].text == "0/0  f  recompiles.py:2" and rows["0/0"].mark == "✓"
    assert rows["0/2"].text == "0/2  f  recompiles.py:2  ↻ n == 2"
    assert rows["0/2"].pieces == (("✓ ", "ok"), ("0/2", "strong"), "  f  recompiles.py:2  ↻ n == 2")
    of_frame = [place.text for ref, place in rows.items() if ref.startswith("0/") and ":" not in ref]
    assert len(of_frame) == len(set(of_frame)) == 6 and "0/  f  recompiles.py:2  frame of 5 compiles" in of_frame
    run = trace("torch-2.13/train")
    train = {place.ref: place.text for place in everything(run, list(run.compiles()), None, name_of=qualified_name)}
    code = [text for ref, text in train.items() if ":inductor_output_code" in ref]
    assert [text.split("  ")[-3:] for text in code] == [[unit, "M.forward", "train.py:15"] for unit in ("forward", "backward")]
    ddp = trace("torch-2.13/ddp")
    assert all(f"rank {place.ref[0]}" in place.text for place in everything(ddp, list(ddp.compiles()), None) if ":0/0" in place.ref)
    failed = trace("torch-2.13/breaks")
    marks = {place.ref: (place.mark, place.style) for place in everything(failed, list(failed.compiles()), None, ascii_=True)}
    assert marks["0/0"] == ("!", "break") and marks["1/0"] == ("+", "ok") and marks["none"] == (".", "dim")


def test_where_one_was_comes_first_while_nothing_is_typed() -> None:
    run = trace("torch-2.13/ddp")
    known = list(everything(run, list(run.compiles()), None))
    code, grep = "1:4/0:inductor_output_code", str(Ref(view="grep", artifact="a (b"))
    refs = ["0:0/0", "@problems", code, "0:0/0", "7:9/9", "no such", "", "@timing:1:0/0", grep, "1:"]
    first = recent(run, refs)
    assert [place.ref for place in first] == [
        "0:0/0", "@problems", code, "", "@timing:1:0/0", grep, "1:",
    ]  # fmt: skip
    by_ref = {place.ref: place for place in known}
    assert [by_ref[ref] for ref in ("0:0/0", "@problems", code, "1:")] == [first[n] for n in (0, 1, 2, 6)]
    assert first[3].text.startswith("the run  ddp") and first[5].text.endswith("search for a (b")
    places = Places(first)
    places.add(known)
    shown = places.match("")
    assert shown[: len(first)] == first
    assert [place.ref for place in shown[len(first) :]][:2] == ["@summary", "@recompiles"], "then pages, each place once"
    assert len({place.ref for place in shown}) == len(shown)
    assert [place.ref for place in places.match("0:0/0")].count("0:0/0") == 1
    frames = trace("torch-2.13/recompiles")
    assert next(place.text for place in recent(frames, ["0/", "0/1"])) == "0/  f  recompiles.py:2  frame of 5 compiles"


def test_a_function_called_so_comes_before_commands_that_begin_so() -> None:
    found = made(["go to  o  command of everywhere", "guards", "3/0  g  b.py:9", "4/0  g ↩11  b.py:11", "1/0  gelu  a.py:1"])
    assert found.match("g")[0].text == "3/0  g  b.py:9"
    assert found.match("go")[0].text == "go to  o  command of everywhere"
