"""The page and command `layers`."""

import json

import pytest
from real import TRACES, trace

from tltui.cli import main
from tltui.export import lines_of
from tltui.questions.build import build
from tltui.text.document import Options

LOG = str(TRACES / "layers")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, width: int = 100, code: int = 0) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        assert main(["layers", *arguments]) == code
    out = capsys.readouterr()
    return out.err if code else out.out


def page(ref: str, width: int = 100, **options: str) -> list[str]:
    document = build(trace("layers"), ref, Options(width=width, **options))  # type: ignore[arg-type]
    while not document.advance():
        pass
    return list(lines_of(document, "text"))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_tree_has_a_line_for_each_layer(width: int) -> None:
    lines = page("@layers:0/0", width)
    assert lines[0] == "Layers of [0/0]" and max(map(len, lines)) <= width
    attn = next(line for line in lines if line.strip().startswith("attn "))
    assert attn.split() == ["attn", "8", "5", "28", "8.9", "KB"]
    assert [line.split()[0] for line in lines if line.startswith("    layers.")] == ["layers.0", "layers.1"] * 2


def test_iterations_are_merged() -> None:
    lines = page("@layers:0/0", sort="merged")
    [merged, *_] = [line for line in lines if "layers.* × 2" in line]
    assert merged.split()[3] == "21" and not any("layers.1" in line for line in lines)


def test_a_layer_has_its_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, LOG, "0/0", "layers.1.attn")
    assert "layers.1.attn: 8 kernels, 5 for this layer only; 28 nodes" in out and out.count("layers.1.attn: ") == 2
    assert "extern_kernels.addmm:" in out and "3 loads, 1 store, " in out and "    also in   " in out
    assert printed(capsys, LOG, "layers.1.attn") == out, "only one compile has it"
    assert printed(capsys, LOG, "0/0", "--layer", "1.attn") == out


def test_of_all_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, LOG, "0/0", "layers.*.attn")
    assert "layers.*.attn × 2: 15 kernels" in out


def test_an_unknown_layer_names_those_that_are_near(capsys: pytest.CaptureFixture[str]) -> None:
    err = printed(capsys, LOG, "0/0", "layers.7.attn", code=2)
    assert "unknown layer of [0/0]: 'layers.7.attn'\n  similar: layers." in err and ".attn" in err.partition("similar:")[2]
    assert "unknown layer: 'nowhere'" in printed(capsys, LOG, "nowhere", code=2).lower()


def test_the_links_of_the_tree_lead_to_layers() -> None:
    document = build(trace("layers"), "@layers:0/0", Options(width=100))
    while not document.advance():
        pass
    targets = [link.target for n in range(len(document)) for link in document.line(n).links]
    own = [target for target in targets if target.startswith("@layers:0/0#")]
    assert len(set(own)) > 15
    for target in dict.fromkeys(own):
        assert " for this layer only; " in "".join(page(target)), target


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, LOG, "0/0", "layers.*.attn", "--json"))
    [compile_] = found["result"]
    forward, backward = compile_["units"]
    assert (found["view"], compile_["ref"], compile_["layer"]) == ("layers", "0/0", "layers.*.attn")
    assert forward["layers"][0]["iterations"] == 2 and forward["layers"][0]["kernels"] == len(forward["kernels"]) == 15
    assert forward["kernels"][0]["cost"]["loads"] is not None and backward["kernels"][0]["measured_us"] is None


def test_a_run_without_layers_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, str(TRACES / "torch-2.13" / "mesh"))
    assert "No layers. This page identifies modules by the parameters among graph inputs" in out


def test_graphs_that_were_lowered_are_sectioned_by_layer_too() -> None:
    titles = {}
    for n in (1, 2):
        document = build(trace("layers"), f"0/0:inductor_post_grad_graph#{n}", Options())
        while not document.advance():
            pass
        titles[n] = [section.title for section in document.sections()]
    passes = [title.partition(" of ")[0] for title in titles[1] if " pass " in title]
    assert passes[:2] == ["layers.0 pass 1/2", "layers.1 pass 2/2"]
    assert any(title.startswith("layers.1.attn.qkv  forward") for title in titles[2])
    assert [title.partition(" of ")[0] for title in titles[2] if " pass " in title][1] == "layer pass 2/2", "of two iterations"


def test_a_count_of_kernels_with_unknown_layers_is_no_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layers", str(TRACES / "provenance" / "cond"), "0/0"]) == 0
    forward, backward = capsys.readouterr().out.split("backward graph")
    assert [line.split() for line in backward.splitlines()[2:5]] == [
        ["(model)", "2", "2", "17", "976", "B"], ["a", "1", "2", "448", "B"], ["b"],
    ]  # fmt: skip
    assert "A layer may have more kernels than listed." in " ".join(backward.split()) and "may have" not in forward
    assert main(["layers", str(TRACES / "provenance" / "cond"), "0/0", "b"]) == 0
    assert "b: kernels unknown" in capsys.readouterr().out
