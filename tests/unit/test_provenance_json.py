"""`tltui provenance --json`: by unit, by kernel, and of a model with many kernels; what the page says of what is known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from real import TRACES, opened, trace
from results import result_in

from tltui.cli import main
from tltui.cli.printing import as_json, result_of
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, parse_ref
from tltui.questions.index import BY_NAME
from tltui.questions.provenance import page as provenance
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.question import view_document
from tltui.text.document import Options

MEGABYTE = 1_000_000


def printed(name: str, *arguments: str) -> bytes:
    asked = dict(zip(arguments[::2], arguments[1::2], strict=True))
    options = Options(filter=asked.get("--unit", ""), part=asked.get("--kernel", ""))
    document = view_document(trace(f"provenance/{name}"), BY_NAME["provenance"], parse_ref("0/0"), options)
    return b"".join(as_json(result_of(document), not provenance.QUESTION.is_long))


def told(name: str, *arguments: str) -> Any:
    return json.loads(printed(name, *arguments))


def page(name: str, options: Options) -> str:
    return "\n".join(view_document(trace(f"provenance/{name}"), BY_NAME["provenance"], parse_ref("0/0"), options).text())


def test_a_model_with_many_kernels_fits_a_megabyte() -> None:
    found = printed("many_kernels")
    assert sum(len(unit["kernels"]) for unit in json.loads(found)["units"]) == 849
    assert len(found) <= MEGABYTE and len(printed("many_kernels", "--unit", "backward")) <= MEGABYTE * 0.6
    assert len(printed("many_kernels", "--kernel", "extern_kernels.mm:48")) <= 10_000


@pytest.mark.parametrize("name, wanted, count", [
    ("lazy_backward", "extern_kernels.mm:4", 1), ("lazy_backward", "extern_kernels.bmm", 12),
    ("subgraph", "extern_kernels.mm", 2),
])  # fmt: skip
def test_a_kernel_has_what_the_whole_says_of_it(name: str, wanted: str, count: int) -> None:
    whole, part = (told(name, *arguments)["units"] for arguments in ((), ("--kernel", wanted)))
    by_unit = {unit["unit"]: unit for unit in whole}
    kernels = [kernel for unit in part for kernel in unit["kernels"]]
    assert len(kernels) == count and all(wanted in (kernel["key"], kernel["name"]) for kernel in kernels)
    for unit in part:
        all_of_it = by_unit[unit["unit"]]
        assert all(kernel in all_of_it["kernels"] for kernel in unit["kernels"])
        keys = {kernel["key"] for kernel in unit["kernels"]}
        nodes = {name for kernel in unit["kernels"] for name in kernel["post_nodes"]}
        assert {key for born in unit["lines"] for key in born["kernels"]} == keys
        assert {node["name"] for born in unit["lines"] for node in born["post_nodes"]} == nodes
        calls = {line for kernel in unit["kernels"] for line in kernel["call_lines"]}
        assert calls <= {int(line) for line in unit["py_code_to_post"]} and unit["coverage"]["kernels"] == len(all_of_it["kernels"])
        for line, others in unit["post_to_py_code"].items():
            assert set(others) <= set(all_of_it["post_to_py_code"][line])


def test_the_command_prints_it(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    log = str(TRACES / "provenance" / "subgraph")
    assert main(["provenance", log, "0/0", "--json", "--unit", "inference", "--kernel", "extern_kernels.mm"]) == 0
    found = result_in(capsysbinary.readouterr().out)
    assert found == json.loads(printed("subgraph", "--unit", "inference", "--kernel", "extern_kernels.mm"))
    assert main(["provenance", log, "0/0", "--kernel", "nothing"]) == 2
    assert b"0/0 has no kernel 'nothing'" in capsysbinary.readouterr().err


def test_a_kernel_of_one_unit_and_one_that_is_not_there() -> None:
    units = told("lazy_backward", "--unit", "backward", "--kernel", "extern_kernels.bmm")["units"]
    assert [(unit["unit"], len(unit["kernels"])) for unit in units] == [("backward", 8)]
    assert {"forward", "backward"} == {unit["unit"] for unit in told("lazy_backward", "--kernel", "extern_kernels.bmm")["units"]}
    with pytest.raises(BadAddress, match=r"0/0 has no kernel 'extern_kernels.bm'; similar: extern_kernels.bmm"):
        told("lazy_backward", "--kernel", "extern_kernels.bm")


def test_every_line_says_whose_it_is_own_ones_first() -> None:
    [forward, backward] = told("llama")["units"]
    for unit in (forward, backward):
        owners = [born["owner"] for born in unit["lines"] if born["file"]]
        assert set(owners) == {"own", "library"} and owners == sorted(owners, key=["own", "library"].index)
        for kernel in unit["kernels"]:
            assert kernel["line_owners"] == ["own"] * len(kernel["user_lines"]) != [], "an own line in every stack"
    assert "a library's" in page("llama", Options(width=100, filter="forward"))
    [log] = (TRACES / "provenance" / "gpt2").glob("*.log")
    compile_ = opened(log).resolve("1/0")
    assert isinstance(compile_, Compile)
    owners = {born.owner for unit in provenance_of(compile_).units for born in unit.lines if born.file}
    assert "own" not in owners and "library" in owners, "no own code calls it"


def test_what_torch_did_not_write_is_marked() -> None:
    [_, backward] = told("lazy_backward")["units"]
    derived = [kernel for kernel in backward["kernels"] if kernel["nodes_from"] == "dataflow"]
    assert len(derived) > 20
    counted = {own["source"]: own["count"] for own in backward["coverage"]["kernel_nodes_from"]}
    assert counted["dataflow"] == len(derived) and sum(counted.values()) == 39
    said = page("lazy_backward", Options(width=100, filter="backward"))
    assert "kernels → nodes  39 of 39: " in said and f"≈ {len(derived)} from data flow" in said
    assert "≈ derived from code and graph, not recorded by torch" in said
    assert "kernels → lines  39 of 39: from stack traces of the kernels" in said
    names = ", ".join(derived[0]["post_nodes"])
    assert f"      post-grad ≈ {names[:40]}" in said
    assert "≈" not in page("lazy_backward", Options(width=100, filter="forward"))
