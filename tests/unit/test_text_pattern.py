"""Smart case: one meaning, wherever something is typed to be found."""

from __future__ import annotations

import re

import make_trace as mt
import pytest

from tltui.model.follow import open_run
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.guards.guard_report import GuardFilter
from tltui.questions.records.grep_page import Query, hits, page_hits
from tltui.sources.discover import discover
from tltui.text.document import Options
from tltui.text.graphs.guard_tree import GuardNode
from tltui.text.search.child_process import compiled, flags_of, heeds_case
from tltui.tree import outline
from tltui.tree.rows import Filter

NAME = "tiled_GEMM"
PATTERNS = [
    ("gemm", True), ("GEMM", True), ("Gemm", False), (r"\S+gemm", True), (r"\S+Gemm", False), (r"\W?\D\B.gemm", True),
    (r"(?P<Kernel>t\w+_)gemm", True), (r"\x67emm", True), (r"\x47emm", False), (r"\x47EMM", True), ("[g]emm", True),
    ("[G]emm", False),
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    ids = {"frame": 0, "compile": 0}
    failed = mt.metrics(fields={"fail_type": "Error", "fail_reason": f"no kernel {NAME}"}, **ids)
    log = mt.artifact(NAME, f"x = {NAME}(y)\n", **ids) + failed
    return open_run(discover([str(mt.write(tmp_path_factory.mktemp("trace"), log))]))


@pytest.mark.parametrize(("pattern", "matches"), PATTERNS)
def test_all_that_search_and_filter_agree(run: Run, pattern: str, matches: bool) -> None:
    payload = [hit for hit in hits(run, Query(pattern)) if hit is not None and hit.name == NAME and hit.line]
    document = build(run, f"0/0:{NAME}", Options())
    in_page = [hit for hit in page_hits(run, re.compile(pattern, flags_of(pattern)), Options()) if hit is not None]
    compile_ = run.resolve("0/0")
    assert isinstance(compile_, Compile)
    phases = outline.children(outline.compile_node(compile_))
    node = next(node for phase in phases for node in (phase, *outline.children(phase)) if node.ref.endswith(NAME))
    guard = GuardNode(-1, 1, 0, "EQUALS_MATCH", "L['x']", expression=NAME)
    assert {
        "payload": bool(payload),
        "document": any(document.find(compiled(pattern))),
        "page": bool(in_page),
        "tree": Filter(pattern).has_text(node),
        "guards": GuardFilter.of(pattern).matches(guard, "L['x']", False),
    } == dict.fromkeys(("payload", "document", "page", "tree", "guards"), matches)


def test_what_is_a_capital() -> None:
    assert [heeds_case(text) for text in ("É", "é", r"\N{LATIN SMALL LETTER A}", r"É", r"(?P=Name)", r"\\S", "")] == [
        True, False, False, True, False, True, False,
    ]  # fmt: skip


def test_text_that_is_no_expression_is_looked_for_as_it_stands() -> None:
    assert compiled("f(x").search("y = F(X)")
    assert not compiled("F(x").search("y = f(x)")
    assert not compiled("\\S(").search("\\s("), "here it is a letter"
    for strange in ("x{99999999999}", "(" * 5000 + ")" * 5000):
        assert compiled(strange).search(strange)
