"""`enter` on a name: its definition; the line below: what is known of it."""

from __future__ import annotations

from real import trace

from tltui.questions.build import build
from tltui.questions.provenance.graph_names import names_of
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Options
from tltui.text.payload import Payload


def test_a_node_of_a_graph() -> None:
    document = build(trace("torch-2.13/train"), "0/0:dynamo_output_graph", Options())
    names = names_of(document)
    assert names is not None and names.graph is not None
    lines = list(document.text())
    line = next(n for n, text in enumerate(lines) if "layer_norm:" in text)
    later = next(n for n, text in enumerate(lines) if n > line and "layer_norm" in text)
    assert names.definition("layer_norm", later) == line
    said = names.about("layer_norm", later)
    assert said.startswith("layer_norm: f32[") and "torch.nn.functional.layer_norm" in said and "read by linear" in said
    assert names.about_line(line).startswith("layer_norm: ")
    assert names.definition("no_such_name", later) is None and names.about("no_such_name", later) == ""


def test_a_kernel_of_output_code() -> None:
    document = build(trace("torch-2.13/breaks"), "0/0:inductor_output_code", Options())
    names = names_of(document)
    assert names is not None
    lines = list(document.text())
    call = next(n for n, text in enumerate(lines) if text.strip().startswith("cpp_fused") and "async_compile" not in text)
    name = lines[call].strip().partition("(")[0]
    found = names.definition(name, call)
    assert found is not None and lines[found].startswith(f"{name} = async_compile.")


def test_pages_and_data_have_no_names() -> None:
    run = trace("torch-2.13/breaks")
    assert names_of(build(run, "0/0", Options())) is None
    assert names_of(build(run, "0/0:compilation_metrics", Options())) is None


def test_the_nearest_definition_above_counts() -> None:
    names = names_of(BytesDocument(Payload.of(b"a = 1\nb = a\na = 2\nc = a\n"), "python"))
    assert names is not None
    assert names.definition("a", 1) == 0 and names.definition("a", 3) == 2 and names.definition("b", 0) == 1
