"""Search everywhere: against a naive search over all records of real traces."""

from __future__ import annotations

import re
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_logs import Log
from real import ROOT, demo, trace

from tltui.cli import main
from tltui.model.ref import CompileId, Ref, parse_ref
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.records.grep_page import BadPattern, GrepHit, Query, grep_document, hits
from tltui.text.document import Options
from tltui.text.search.byte_search import needles


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


@pytest.mark.parametrize("pattern", [
    "sin", "GraphModule", "print", r"buf\d+ = ", r"^class ", "L\\['x'\\]", "no such text at all", "é",
])  # fmt: skip
def test_the_same_lines_as_a_naive_search(pattern: str) -> None:
    run = trace("torch-2.13/breaks")
    ours = found(run, pattern)
    assert len(ours) == len(naive(run, pattern))
    assert [hit.line for hit in ours] == [line for _, line in naive(run, pattern)]


def test_a_hit_leads_to_its_line() -> None:
    run = demo()
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
    assert ids - {None} == {CompileId(None, 3, 0)}, "None: a record that is no artifact"
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
    assert any(re.match(r"\d+  0/0:dynamo_output_graph .*f  .*breaks\.py:2", line) for line in text)
    assert re.fullmatch(r"\d+ lines in \d+ places", text[-1])
    targets = {link.target for n in range(len(document)) for link in document.line(n).links}
    assert any(target.startswith("0/0:dynamo_output_graph@L") for target in targets)


def page(run: Run, pattern: str, options: Options) -> list[str]:
    document = grep_document(run, Query(pattern), options)
    while not document.advance():
        pass
    return list(document.text())


def test_groups_have_the_order_of_the_tree_and_code_precedes_metrics() -> None:
    heads = [re.match(r"(\d+)  (\d+):(\d+)/(\d+):([a-z_]+)", line) for line in page(demo(), "cpp_fused", Options())]
    groups = [(int(head[2]), int(head[3]), int(head[4]), head[5]) for head in heads if head]
    places = [group[:3] for group in groups]
    assert places == sorted(places) and {0, 1} == {place[0] for place in places} and len(set(places)) > 5
    for place in set(places):
        names = [group[3] for group in groups if group[:3] == place]
        assert names[0] == "inductor_output_code" and "metrics" not in " ".join(names[:-2]) and "metrics" in names[-1]
    text = page(demo(), "cpp_fused", Options())
    for at, head in enumerate(heads):
        if head:
            group = list(takewhile(str.strip, text[at + 1 :]))
            assert len(group) == int(head[1]), "the number of the head is that of its rows"


@pytest.mark.parametrize("width", [40, 56, 90])
@pytest.mark.parametrize("pattern", ["cpp_fused", "clamp", "forward"])
def test_on_the_screen_each_row_shows_its_hit(pattern: str, width: int) -> None:
    run = demo()
    rows = [
        line
        for line in page(run, pattern, Options(width=width, key_of=lambda _: "x"))
        if line.startswith("  ") or "envelope" in line
    ]
    assert len(rows) > 2 and all(pattern in row.lower() and len(row) <= width for row in rows)
    assert any(row[10] == "…" for row in rows) and any(row[-1] == "…" for row in rows)
    printed = page(run, pattern, Options(width=width))
    assert any(len(row) > width for row in printed), "what a command prints has no edge"


def test_a_hit_wider_than_the_room_is_cut_at_its_end(tmp_path: Path) -> None:
    run = Log(tmp_path / "x.log").artifact("a", "before " + "größe" * 40 + " after").open()
    [row] = [line for line in page(run, "(größe)+", Options(width=40, key_of=lambda _: "x")) if line.startswith("   ")]
    assert len(row) == 40 and "größegröße" in row and row.endswith("…")


def test_a_stopped_search_shows_its_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tltui.questions.records.grep_page as grep

    log = Log(tmp_path / "x.log")
    for number in range(400):
        log.artifact(f"a{number}", "needle\n" * 20)
    run = log.open()
    monkeypatch.setattr(grep, "PIECE", 256)
    monkeypatch.setattr("tltui.text.composite_documents.SLICE", 1.5)  # one step each time, as the clock below goes
    monkeypatch.setattr("tltui.text.composite_documents.time", SimpleNamespace(monotonic=partial(next, count())))
    document = grep_document(run, Query("needle"), Options())
    for _ in range(20):
        assert not document.advance()
    assert not any("needle" in line for line in document.text())
    document.stop()  # type: ignore[attr-defined]
    assert any("needle" in line for line in document.text()) and "Stopped" in list(document.text())[-1]


def test_bad_patterns_and_nothing_found() -> None:
    run = trace("torch-2.13/breaks")
    with pytest.raises(BadPattern, match="invalid regular expression"):
        grep_document(run, Query("a("), Options())
    with pytest.raises(BadPattern, match="empty pattern"):
        grep_document(run, Query(""), Options())
    assert list(build(run, "@grep", Options()).text()) == ["empty pattern: ''; give at least one character"]
    document = grep_document(run, Query("zzz nothing"), Options())
    while not document.advance():
        pass
    assert list(document.text()) == ["No matches for 'zzz nothing'"]


@pytest.mark.parametrize(("pattern", "same_as"), [("\ud800", "no such text at all"), ("\udcff|cos", "cos")])
def test_half_of_a_surrogate_pair_is_in_no_line(pattern: str, same_as: str) -> None:
    run = trace("torch-2.13/breaks")
    assert [hit.line for hit in found(run, pattern)] == [hit.line for hit in found(run, same_as)]


def test_addresses_of_patterns_survive() -> None:
    run = trace("torch-2.13/breaks")
    document = build(run, "@grep::L%5B'x'%5D", Options())
    assert parse_ref(document.ref).artifact == "L['x']"


def test_pieces_do_not_hide_hits(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    import tltui.questions.records.grep_page as grep

    log = Log(tmp_path / "x.log")
    for number in range(50):
        log.add("artifact", {"name": f"a{number}", "encoding": "string"}, f"one\nneedle {number}\nthree needle")
    run = log.open()
    whole = found(run, "needle")
    assert len(whole) == 100
    for size in (64, 257, 1000):
        monkeypatch.setattr(grep, "PIECE", size)
        assert found(run, "needle") == whole


@pytest.mark.parametrize("pattern", [
    r"extern_kernels\.(addmm|mm)\w*", r"(torch|aten)\.\w+", r"\bsin\b|\bcos\b", r"\d{6}", r"a\s+b", r"x*y", r"[Gg]raph.?Module",
    r"(?:buf)+\d", r"def \w+\(self", r"L\['x'\]\.size\(\)\[\d\]", r"$", r"=\s*$", r"(?i)GRAPHMODULE", "torch.ops.aten",
])  # fmt: skip
def test_expressions_give_the_same_lines_whatever_way_they_go(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import tltui.text.search.byte_search as byte_search

    run = trace("torch-2.13/breaks")
    expected = [line for _, line in naive_lines(run, pattern)]
    for frequent in (400, 1 << 40, 1):
        monkeypatch.setattr(byte_search, "FREQUENT", frequent)
        assert [hit.line for hit in found(run, pattern)] == expected, (pattern, frequent)


def naive_lines(run: Run, pattern: str) -> list[tuple[int, int]]:
    """Like `naive`, with non-empty matches only."""
    cased = any(letter.isupper() for letter in re.sub(r"\\.", "", pattern))
    expression = re.compile(pattern.encode(), 0 if cased else re.IGNORECASE)
    out = []
    for model in run.models:
        for record in model.log.records():
            payload = model.log.payload(record)
            lines = [model.log.head(record), *(payload.read().split(b"\n") if payload is not None else [])]
            out += [(record, n) for n, line in enumerate(lines) if any(m.end() > m.start() for m in expression.finditer(line))]
    return out


@pytest.mark.parametrize(("pattern", "held"), [
    (r"abc", ["abc"]), (r"ab*cd", ["cd"]), (r"a\.b+c", ["a.b"]), (r"(foo|bar)x", ["bar", "foo"]),
    (r"foo|ba", ["ba", "foo"]),
    (r"(foo|b)?xy", ["xy"]), (r"(foo|b)xyz", ["xyz"]), (r"a|bcd", None), (r"\d+", None), (r"[abc]def", ["def"]),
    (r"[]a]bc", ["bc"]),
    (r"x{2}abc", ["abc"]), (r"(?=abc)d", None), (r"(?i)abc", None), (r"\x41bc", None), (r"ab(cd", None), (r"", None),
    (r"^class ", ["class "]),
    (r"(?:ab|cd)+", ["ab", "cd"]), (r"(ab){0}cd", ["cd"]), (r"\bword\b", ["word"]), ("ab\\", None), (r"a(b|cde)", None),
])  # fmt: skip
def test_needles(pattern: str, held: list[str] | None) -> None:
    assert needles(pattern) == held


def test_text_that_json_escapes_is_found_in_envelopes(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").metrics(fail_reason='größe "x" \\ y').artifact("note", 'one größe "x" two')
    run = log.open()
    assert [hit.line for hit in found(run, "größe")] == [0, 1]
    first, second = found(run, 'größe "x"')
    assert 'größe "x" \\ y' in first.text and second.text == 'one größe "x" two'


def test_lines_around_a_hit(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").artifact("a", "\n".join(f"line {n}{' needle' * (n in (1, 3, 9, 12))}" for n in range(1, 13)))
    log.artifact("b", "needle")
    run = log.open()
    one = found(run, "needle", context=2)
    assert [(hit.line, len(hit.before), len(hit.after)) for hit in one] == [(1, 0, 2), (3, 2, 2), (9, 2, 2), (12, 2, 0), (1, 0, 0)]
    assert one[2].before == ("line 7", "line 8") and one[2].after == ("line 10", "line 11")
    document = grep_document(run, Query("needle", context=1), Options(ascii=True))
    while not document.advance():
        pass
    numbers = [line.split()[0] for line in document.text() if line.startswith(" ")]
    assert numbers == ["1", "2", "3", "4", "...", "8", "9", "10", "11", "12", "1"]
    assert any(hit for hit in found(trace("torch-2.13/breaks"), "def", context=3))


def test_the_command_takes_context(capsys: pytest.CaptureFixture[str]) -> None:
    source = str(ROOT / "tests" / "traces" / "torch-2.13" / "breaks")
    assert main(["grep", "graph_break", source, "-C", "1", "--artifact", "dynamo_graph_break_reason"]) == 0
    plain = capsys.readouterr().out
    assert main(["grep", "graph_break", source, "--artifact", "dynamo_graph_break_reason"]) == 0
    assert len(plain) > len(capsys.readouterr().out)


@pytest.mark.parametrize("pattern", ["(V*", "[", "a**", "(?P<", "*"])
def test_the_page_of_a_bad_pattern_says_why_and_offers_its_text(pattern: str) -> None:
    run = trace("torch-2.13/breaks")
    document = build(run, str(Ref(view="grep", artifact=pattern)), Options())
    assert "invalid regular expression: " in document.line(0).text and repr(pattern) in document.line(0).text
    [(line, link)] = [(line, link) for n in range(len(document)) for line in [document.line(n)] for link in line.links]
    literal = parse_ref(link.target).artifact or ""
    assert re.fullmatch(literal, pattern) and line.text.endswith(literal)
    assert build(run, link.target, Options()).title == f"search: {literal}"
