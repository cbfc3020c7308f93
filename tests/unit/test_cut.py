"""What is left of a text where there is no room for all of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import real
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import is_url

from tltui.commands import COMMANDS, Situation
from tltui.config import Config
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.questions.records.index_page import pages
from tltui.screens.palette import help_document
from tltui.text import formatting
from tltui.text.document import Document, Options
from tltui.text.formatting import cells
from tltui.text.search.byte_search import finder
from tltui.text.search.child_process import compiled
from tltui.text.torch_names import both, in_payloads, short
from tltui.tree.listing import listing_document
from tltui.tree.outline import compile_node, label
from tltui.tree.rows import Filter

pure = settings(deadline=None, derandomize=True, max_examples=300)
texts = st.text(st.sampled_from("ab/字e\u0301漢ｗ…🙂 .:7[,"), max_size=30)
WAYS: list[Callable[[str, int], str]] = [formatting.end, formatting.middle, formatting.path, formatting.name]


@pure
@given(texts, st.integers(-1, 35))
def test_nothing_is_wider_than_asked_and_nothing_is_cut_without_need(text: str, width: int) -> None:
    for way in WAYS:
        shown = way(text, width)
        assert cells(shown) <= max(width, 0), way
        assert (shown == text) is (cells(text) <= width) or (not text and not shown), way
        assert not re.match("\u0301", shown.lstrip("…")) or text.startswith("\u0301") or "…\u0301" in text or "e\u0301" not in text


@pytest.mark.parametrize(("text", "width", "shown"), [
    ("/home/me/code/net/models/attn.py:88", 27, "/home/…/models/attn.py:88"),
    ("/home/me/code/net/models/attn.py:88", 28, "/home/me/…/models/attn.py:88"),
    ("/home/me/code/net/models/attn.py:88", 19, "…/models/attn.py:88"),
    ("/home/me/code/net/models/attn.py:88", 12, "…/attn.py:88"),
    ("/home/me/code/net/models/attn.py:88", 11, "…attn.py:88"),
    ("/home/me/code/net/models/attn.py:88", 10, "/hom…py:88"),
    ("/home/me/code/net/models/attn.py:88", 1, "…"),
    ("/home/me/code/net/models/attn.py:88", 0, ""),
    ("train/model.py:30", 16, "…/model.py:30"),
    ("triton_poi_fused_addmm_relu_0", 12, "trito…relu_0"),
    ("f32[16, 64][64, 1]cuda:0", 12, "f32[16, 64]…"),
    ("float32 [s77, 16]", 15, "float32 [s77,…"),
    ("(s0, 64, 1280)", 10, "(s0, 64,…"),
])  # fmt: skip
def test_what_is_kept(text: str, width: int, shown: str) -> None:
    assert formatting.name(text, width) == shown


def test_what_would_look_alike_is_told_apart() -> None:
    alike = ["pass.post_grad.decompose_map_to_while_loop", "pass.post_grad.decompose_scan_to_while_loop"]
    assert len({formatting.middle(text, 20) for text in alike}) == 1
    assert len(set(formatting.apart(alike, 20))) == 2
    assert formatting.apart([*alike, alike[0]], 20)[0] == formatting.apart([*alike, alike[0]], 20)[2]
    inside = ["a" * 40 + letter + "b" * 40 for letter in "xyz"]
    for width in (8, 12, 40):
        assert len(set(formatting.apart(inside, width))) == 3
    assert formatting.apart(inside, 0) == ["", "", ""]
    assert formatting.apart(["same", "same"], 2) == [formatting.name("same", 2)] * 2
    one_by_one = formatting.Apart()
    assert len({one_by_one.cut(text, 12) for text in inside}) == 3
    assert one_by_one.cut(inside[0], 12) == one_by_one.cut(inside[0], 12)


@pytest.mark.parametrize(("name", "shown"), [
    ("torch_dynamo_resume_in_f_at_5", "f ↩5"),
    ("Net.torch_dynamo_resume_in_forward_at_105", "Net.forward ↩105"),
    ("torch_dynamo_resume_in_<lambda>_at_7", "<lambda> ↩7"),
    ("torch_dynamo_resume_in___init___at_105", "__init__ ↩105"),
    ("torch_dynamo_resume_in_torch_dynamo_resume_in_f_at_5_at_9", "f ↩5 ↩9"),
    ("in torch_dynamo_resume_in_look_at_me_at_3, code:", "in look_at_me ↩3, code:"),
    ("torch_dynamo_resume_in_f_at_5_ORIGINAL_BYTECODE", "torch_dynamo_resume_in_f_at_5_ORIGINAL_BYTECODE"),
    ("torch_dynamo_resume_in_f", "torch_dynamo_resume_in_f"),
])  # fmt: skip
def test_functions_behind_a_break_are_called_in_short(name: str, shown: str) -> None:
    assert short(name) == short(shown) == shown
    assert short(name, ascii_only=True) == shown.replace("↩", "<-")


@pytest.mark.parametrize("pattern", [
    "torch_dynamo_resume_in_f_at_5", "f ↩5", "f <-5", "f↩5", "resume_in_f_at_5", "torch_dynamo_resume_in_f", "resume_in",
    "torch_dynamo_resume", "^torch_dynamo_resume_in_f_at_5$", "x|f ↩5",
])  # fmt: skip
def test_both_names_of_a_function_are_found_by_either(pattern: str) -> None:
    for text in ("f ↩5", "f <-5", "torch_dynamo_resume_in_f_at_5"):
        assert compiled(pattern).search(text), text
    assert not compiled(pattern).search("g at 5")
    assert not re.compile(pattern).search("g ↩6")
    assert both("torch_dynamo_resume_in_f_at_5") == "f ↩5 torch_dynamo_resume_in_f_at_5" and both("f") == "f"


def test_other_patterns_stay_as_they_were_typed() -> None:
    for pattern in ("f", "resume", r"\bresume_in\d", "[resume_in]", "a <- b", "(", "resume_in(", "resumed_at"):
        held = compiled(pattern).pattern
        assert held in (pattern, re.escape(pattern)), pattern


def test_a_payload_is_searched_for_what_torch_wrote() -> None:
    found = finder(in_payloads("f ↩5"))
    assert found.pattern is not None and found.pattern.search(b"def torch_dynamo_resume_in_f_at_5(x):")
    assert in_payloads("torch_dynamo_resume_in_f_at_5") == "torch_dynamo_resume_in_f_at_5"


def test_tree_and_filter_know_both_names() -> None:
    run = real.trace("torch-2.13/breaks")
    compile_ = next(c for c in run.compiles() if str(c.ref) == "1/0")
    node = compile_node(compile_)
    assert "f ↩5" in "".join(piece if isinstance(piece, str) else piece[0] for piece in label(node).left)
    assert "f <-5" in "".join(piece if isinstance(piece, str) else piece[0] for piece in label(node, True).left)
    for wanted in ("f ↩5", "f <-5", "torch_dynamo_resume_in_f_at_5", "resume_in_f"):
        assert Filter(wanted).matches(node), wanted


# pages

TRACES = (*(f"torch-2.13/{name}" for name in ("breaks", "ddp", "outcomes", "mesh", "vllm_like", "train")), "hangs/kernels", "")
LARGEST = 0xF0000


def documents(run: Run, width: int, ascii_: bool = False) -> Iterator[tuple[str, Document]]:
    """Every page about the run, and those about its first compiles."""
    options = Options(width=width, ascii=ascii_)
    yield "ls", listing_document(run, options)
    compiles = [compile_ for compile_ in run.compiles() if compile_.is_compile][:6]
    refs = ["", "@pages", *(page.ref for page in pages(run) if not page.ref.startswith(("@records", "@output")))]
    refs += [str(rank.ref) for rank in run.ranks]
    for compile_ in compiles:
        refs += [str(compile_.ref), str(compile_.frame.ref), *(f"@{view.name}:{compile_.ref}" for view in QUESTIONS)]
    for ref in dict.fromkeys(refs):
        try:
            document = build(run, ref, options)
        except BadAddress:
            continue
        while not document.advance():
            pass
        yield ref, document


def told(what: str) -> str:
    return "".join("…" if ord(letter) >= LARGEST else letter for letter in what)


@pytest.mark.parametrize("name", TRACES)
def test_rows_that_differ_are_not_cut_to_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text that is cut gets a mark of its own here, so that two rows that only look alike are told apart."""
    numbers: dict[str, int] = {}

    def marked(whole: str, shown: str) -> str:
        return shown.replace("…", chr(LARGEST + numbers.setdefault(whole, len(numbers)))) if shown != whole else shown

    def watched(way: Callable[..., str], at: int) -> Callable[..., str]:
        def cutting(*arguments: Any) -> str:
            return marked(arguments[at], way(*arguments))

        return cutting

    apart = formatting.apart
    monkeypatch.setattr(fmt, "clip", watched(fmt.clip, 0))
    monkeypatch.setattr(fmt, "clip_middle", watched(fmt.clip_middle, 0))
    monkeypatch.setattr(Page, "clip", watched(Page.clip, 1))
    monkeypatch.setattr(Page, "clip_middle", watched(Page.clip_middle, 1))
    monkeypatch.setattr(formatting, "apart", lambda texts, *rest: list(map(marked, texts, apart(texts, *rest))))
    for ref, document in documents(real.trace(name) if name else real.demo(), 80):
        rows: defaultdict[str, set[str]] = defaultdict(set)
        for n in range(len(document)):
            rows[told(document.line(n).text)].add(document.line(n).text)
        assert [row for row, of in rows.items() if len(of) > 1] == [], ref
    assert numbers, "something is cut at 80 columns"


AS_WRITTEN = ("@metrics", "@damage", "@grep")
"""Pages that quote whole lines of a record or a log, which are code and data: they scroll sideways, and `w` wraps them."""


@pytest.mark.parametrize("ascii_", [False, True])
@pytest.mark.parametrize("name", TRACES)
def test_pages_fit_into_80_columns(name: str, ascii_: bool) -> None:
    for ref, document in documents(real.trace(name) if name else real.demo(), 80, ascii_):
        if not ref.startswith(AS_WRITTEN):
            assert [line for line in document.text() if cells(line) > 80 and not is_url(line)] == [], ref


@pytest.mark.parametrize("ascii_", [False, True])
@pytest.mark.parametrize("width", [40, 76, 116])
def test_help_fits_into_its_width(width: int, ascii_: bool) -> None:
    lines = list(help_document(ascii_, Config(problems=("what was wrong " * 20,)), width, Situation(), "tree").text())
    code = ("    theme = ", "  [RANK[")
    assert [line for line in lines if cells(line) > width and not line.startswith(code)] == []
    assert all(map(str.isascii, lines)) is ascii_
    said = " ".join(" ".join(lines).split())
    assert all(" ".join(command.help.split()) in said for command in COMMANDS if width > 100)


@pytest.mark.parametrize("name", ["torch-2.13/breaks", ""])
def test_no_page_calls_a_function_by_the_long_name(name: str) -> None:
    for ref, document in documents(real.trace(name) if name else real.demo(), 100):
        assert not [line for line in document.text() if re.search(r"torch_dynamo_resume_in_\w+_at_\d+(?!\w)", line)], ref


def test_a_url_is_a_whole_line_and_a_very_long_word_is_not() -> None:
    url = "(https://docs.pytorch.org/a/long/path.html)"
    assert fmt.wrap(f"see {url} for tips", 20) == ["see", url, "for tips"]
    assert fmt.wrap("see https://a.b for tips", 20) == ["see https://a.b for", "tips"]
    assert max(map(len, fmt.wrap("https://" + "x" * 600, 20))) == 20
