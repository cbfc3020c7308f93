"""Search everywhere: against a naive search over all records of real traces."""

from __future__ import annotations

import re

import pytest
from made_logs import ROOT, Log, trace

from tltui.documents.build import build
from tltui.documents.grep import BadPattern, GrepHit, Query, grep_document, hits
from tltui.model.ref import parse_ref
from tltui.model.run import Run, open_run
from tltui.sources.discover import discover
from tltui.text.document import Options


def found(run: Run, pattern: str, **more: object) -> list[GrepHit]:
    return [hit for hit in hits(run, Query(pattern, **more)) if hit is not None]  # type: ignore[arg-type]


def naive(run: Run, pattern: str) -> list[tuple[int, int]]:
    """(record, line of its payload from 1, 0 for the envelope) of every line that matches."""
    flags = 0 if any(letter.isupper() for letter in pattern) else re.IGNORECASE
    expression = re.compile(pattern.encode(), flags)
    out = []
    for model in run.models:
        log = model.log
        for record in log.records():
            if expression.search(log.head(record)):
                out.append((record, 0))
            payload = log.payload(record)
            if payload is not None:
                out += [(record, n) for n, line in enumerate(payload.read().split(b"\n"), 1) if expression.search(line)]
    return out


@pytest.mark.parametrize("pattern", ["sin", "GraphModule", "print", r"buf\d+ = ", r"^class ", "L\\['x'\\]", "no such text at all", "é"])
def test_the_same_lines_as_a_naive_search(pattern: str) -> None:
    run = trace("torch-2.13/breaks")
    ours = found(run, pattern)
    assert len(ours) == len(naive(run, pattern))
    assert [hit.line for hit in ours] == [line for _, line in naive(run, pattern)]


def test_a_hit_leads_to_its_line() -> None:
    run = open_run(discover([str(ROOT / "src" / "tltui" / "demo")]))
    for hit in found(run, "layer_norm"):
        if hit.ref.startswith("@") or not hit.line:
            continue
        document = build(run, hit.ref, Options(raw=True))
        line = document.line(hit.line - 1).text
        assert "layer_norm" in line.lower(), hit
        assert hit.text[hit.column : hit.column + hit.length].lower() == "layer_norm"
        assert parse_ref(hit.ref).artifact == hit.name


def test_case_is_smart() -> None:
    run = trace("torch-2.13/breaks")
    assert len(found(run, "graphmodule")) >= len(found(run, "GraphModule")) > 0
    assert found(run, "GRAPHMODULE") == []


def test_filters() -> None:
    run = trace("torch-2.13/breaks")
    assert {hit.name for hit in found(run, "def", artifact="inductor_*")} <= {
        "inductor_output_code", "inductor_post_grad_graph"
    }  # fmt: skip
    ids = {parse_ref(hit.ref).id for hit in found(run, "def", frame=3)}
    assert ids - {None} == {(None, 3, 0)}, "None: a record that is no artifact"
    broken = found(run, "def", status="break")
    assert broken and {hit.ref.partition(":")[0] for hit in broken if hit.ref[0] != "@"} <= {"0/0", "2/0", "3/0"}
    assert found(run, "def", rank=7) == []


def test_a_hit_in_an_envelope_is_decoded() -> None:
    run = trace("torch-2.13/errors")
    hit = next(hit for hit in found(run, "fail_reason") if not hit.line)
    assert '"fail_reason"' in hit.text and '\\"' not in hit.text


def test_the_page_groups_and_ends_with_a_count(tmp_path: object) -> None:
    run = trace("torch-2.13/breaks")
    document = grep_document(run, Query(r"\.sin\("), Options())
    while not document.advance():
        pass
    text = list(document.text())
    assert any(line.startswith("0/0:dynamo_output_graph") and "f  " in line and "breaks.py:2" in line for line in text)
    assert re.fullmatch(r"\d+ lines in \d+ places", text[-1])
    targets = {link.target for n in range(len(document)) for link in document.line(n).links}
    assert any(target.startswith("0/0:dynamo_output_graph@L") for target in targets)


def test_bad_patterns_and_nothing_found() -> None:
    run = trace("torch-2.13/breaks")
    with pytest.raises(BadPattern, match="no regular expression"):
        grep_document(run, Query("a("), Options())
    document = grep_document(run, Query("zzz nothing"), Options())
    while not document.advance():
        pass
    assert list(document.text()) == ["Nothing in this run has zzz nothing"]


def test_addresses_of_patterns_survive() -> None:
    run = trace("torch-2.13/breaks")
    document = build(run, "@grep::L%5B'x'%5D", Options())
    assert parse_ref(document.ref).artifact == "L['x']"


def test_pieces_do_not_hide_hits(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    import tltui.documents.grep as grep

    log = Log(tmp_path / "x.log")
    for number in range(50):
        log.add("artifact", {"name": f"a{number}", "encoding": "string"}, f"one\nneedle {number}\nthree needle")
    run = log.open()
    whole = found(run, "needle")
    assert len(whole) == 100
    for size in (64, 257, 1000):
        monkeypatch.setattr(grep, "PIECE", size)
        assert found(run, "needle") == whole
