"""Plain English: no unclear phrases or long sentences in texts and documents, and an explanation of every term."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from prose import SOURCES, document_blocks, documents, module_texts, modules, sentences, text_blocks
from real import ROOT

from tltui.cli.schema import NAMES, schema_text
from tltui.model.status import TABLE
from tltui.questions.check.limits import MEASURES
from tltui.questions.index import QUESTIONS

BANNED = {
    r"\brungs?\b": "recompiles", r"\bladders?\b": "the recompiles of a function", r"\bstorms?\b": "many recompiles",
    r"\balone_seconds\b": "only_cause_seconds", r"[Nn]ever reached": "not written: the compile failed earlier",
    r"[Nn]othing to miss": "normally absent", r"one would look for": "such compiles can write",
    r"no condition of yours": "the bound comes from torch", r"→ plain\b": "→ inference tensor",
    r"nothing was gained|nothing lost": "no operations were captured", r"\bbars? holds?\b|\ballowed 0\b": "limit 0",
    r"torch logged no reason why": "torch before 2.5 does not write why", r"did not hold: it was": "what was it?",
    r"\bthe newest first\b.*reason": "the one that was used last first", r"\bclass of causes\b": "kind of cause",
    r"\bnotable\b": "say what it is", r"\bpayloads? lines?\b": "lines that belong to a record", r"\bregroup": "sort",
    r"\bput right\b": "corrected", r"\bfor want of\b": "because … ran out", r"\breckoned\b": "estimated",
    r"\bwhat helps\b": "how to fix", r"\bwith that:": "also:", r"\bneed a compile\b": "are compiled separately",
    r"fixed (it )?again to": "specialized to", r"\bat the left\b": "on the left",
    r"\bthis __main__": "a __main__", r"\bsubsystem\b|\bleverag|\butili[sz]e|\bsimply\b|\bplease\b": "say what to do",
}  # fmt: skip
"""What stood on a page once, or comes to one's mind while writing one → what to say instead."""
EXPLAINED = (
    "compile", "frame", "attempt", "restart", "unit", "graph break", "eager mode", "recompile", "recompile limit", "guard",
    "symbol",
    "provenance", "epoch", "own time", "your line", "proven", "run", "launch", "rank", "process", "artifact", "record", "address",
    "own device", "diverge", "region", "lookup", "specialization", "recompile reason", "node mapping", "derived, `≈`",
    "layer, iteration", "repeated block", "prediction, expected number",
    "saved tensor, activation", "peak",
    "static cost", "form of input", "case", "profile", "flight recorder", "dump", "missing ranks", "output", "index",
    "same outcomes", "kind of ranks", "late, slow, wait", "open", "version",
)  # fmt: skip
"""Words of ours and of torch's that pages use without saying what they mean."""


UNCLEAR = {
    r"\bstand(?:s|ing)?\b(?!-| for\b)|\bstood\b(?! for\b)": "is listed, appears, comes after",
    r"\btell(?:s|ing)?\b|\btold\b": "shows, records", r"\bsay(?:s|ing)?\b|\bsaid\b": "shows, states",
    r"(?<![Tt]here )\b(?:is|are) no(?:ne)?\b(?! (?:longer|more|reason|way|need)\b)": "is not a …",
    r"\bof which\b": "split the sentence",
    r"\b(?:in|of|from|by|than) what\b(?![^.!]*\?)|\bwhat (?:varied|holds|became|tells|says|stands|follows from|there is)\b":
        "a noun: the changed values, the outcome",
    r"\bneeds? a compile\b": "is compiled separately", r"\banew\b": "again", r"\bbeside\b": "next to",
    r"\bof (?:yours|ours|theirs)\b": "your …", r"\bfits? (?:no|none|an? (?:earlier|older))\b": "matches no …",
    r"\b[Tt]orch (?:has |had )?g[ai]ven? (?:\w+ ){0,3}up\b|\bgiven up\b|\btorch gave up\b": "skipped, fell back to eager mode",
    r"\b(?:is|are|was) meant\b(?! (?:to|for)\b)": "give …, for example …",
    r"\bas far as (?:it|they) \w+": "name the limit", r"\bat the left\b(?! edge)": "on the left",
    r"\b[Ww](?:here to|hich line)\?": "missing …", r"\bfaults? of tltui\b": "internal error",
    r"\b\w+isation\b|\bcolour|\b(?:normal|sanit|recogn|special|optim|summar|initial)is(?:e|ed|es|ing)\b|\bbehaviour|\bneighbour|\bfavour":
        "American English",
    r"\d %": "81%",
}  # fmt: skip
"""Phrases that native readers stumble over → better words, in texts and documents."""
IN_TEXTS = {
    r"^there (?:is|are) no\b": "no …, unknown …: '…'",
    r"^what\b(?! (?:happen|to\b))[^?]*$": "a noun",
}
"""The same at the start of a text of the program, which is a label or a message there."""
LONGEST, MEAN = 30, 15
"""Words of a sentence: of each, and on average."""
SHORT = 5
"""Words below which a sentence is a label and does not count for the mean."""
NOT_YET: dict[str, int] = {}
"""Findings that remain in a file. A number may only become smaller."""


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each block of sentences in a module or document."""
    if path.suffix == ".py":
        yield from ((line, block) for line, text in module_texts(path) for block in text_blocks(text))
    else:
        yield from ((0, block) for block in document_blocks(path) if not is_style_guide(path, block))


def is_style_guide(path: Path, block: str) -> bool:
    """Return whether a block is a rule of docs/design.md §9, which quotes the phrases it forbids."""
    return path.name == "design.md" and block in style_guide()


@cache
def style_guide() -> str:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    return " ".join(text.split("\n## 9. ", 1)[1].split("\n## ", 1)[0].split())


def findings(path: Path) -> list[str]:
    """List the unclear phrases and long sentences of a file."""
    patterns = BANNED | UNCLEAR | (IN_TEXTS if path.suffix == ".py" else {})
    name, found = path.relative_to(ROOT).as_posix(), []
    for line, block in blocks(path):
        for pattern, better in patterns.items():
            if match := re.search(pattern, block):
                found.append(f"{name}:{line}: {match[0]!r}, better: {better}: {block[:100]}")
        for sentence in sentences(block):
            if (words := len(sentence.split())) > LONGEST:
                found.append(f"{name}:{line}: {words} words: {sentence[:100]} …")
    return found


@pytest.mark.parametrize("path", [*modules(), *documents()], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_plain_english(path: Path) -> None:
    found = findings(path)
    assert len(found) <= NOT_YET.get(path.relative_to(ROOT).as_posix(), 0), "\n".join(found)


def test_files_that_are_not_plain_yet_exist() -> None:
    assert not [name for name in NOT_YET if not (ROOT / name).exists()]


def test_sentences_are_short() -> None:
    for kind, paths in (("texts", modules()), ("documents", documents())):
        lengths = [len(s.split()) for path in paths for _, block in blocks(path) for s in sentences(block)]
        counted = [length for length in lengths if length >= SHORT]
        mean = sum(counted) / len(counted)
        print(f"{kind}: {len(counted):,} sentences, {mean:.1f} words per sentence")
        assert mean <= MEAN, kind


@pytest.mark.parametrize(("text", "is_found"), [
    ("it stands here", True), ("the log tells of it", True), ("0/9 is no compile", True), ("torch specialises sizes", True),
    ("kernels of which not all nodes are known", True), ("81 % of the time", True), ("no match is given up", True),
    ("a stand-alone script", False), ("it stands for a rank", False), ("it is no longer followed", False),
    ("there is no trace", False),
    ("What is this made of? Of what?", False), ("See what torch.compile did.", False), ("81% of the time", False),
    ("torch restarts the analysis", False), ("behind the others", False), ("the size is specialized", False),
])  # fmt: skip
def test_patterns_find_idioms_and_no_good_english(text: str, is_found: bool) -> None:
    assert any(re.search(pattern, text) for pattern in BANNED | UNCLEAR) == is_found


def test_joined_f_strings_and_markdown(tmp_path: Path) -> None:
    """A phrase is found across the pieces of an f-string and the lines of a paragraph, and not in code."""
    module = SOURCES / "model" / "run.py"
    assert any("{} is the newest of {} with this id, {}: compile ids" in text for _, text in module_texts(module))
    paper = tmp_path / "a.md"
    paper.write_text("# One\n\nA line\nstands [here](x.md) `it stands`.\n\n```\nit stands\n```\n\n| a b | it tells |\n")
    assert list(document_blocks(paper)) == ["One", "A line stands here CODE.", "a b", "it tells"]
    assert sentences("One two. Three four? tltui reads. e.g. this") == ["One two.", "Three four?", "tltui reads. e.g. this"]


def test_fields_of_json_have_plain_names() -> None:
    for command in NAMES:
        names = re.findall(r'"(\w+)": \{', schema_text(command))
        assert names and not [name for name in names if re.search(r"rung|ladder|storm|alone", name)], command


def test_the_search_for_words_finds_some() -> None:
    assert sum(len(text.split()) for path in modules() for _, text in module_texts(path)) > 10_000


def entries(heading: str) -> set[str]:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    part = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    words = re.finditer(r'^\| (?:<a id="[\w.-]+"></a>)?([^|]+?) \|', part, re.MULTILINE)
    return {match[1] for match in words} - {"---", "word", "name", "status"}


def test_every_word_of_ours_is_explained() -> None:
    assert entries("Statuses") == {str(status) for status in TABLE}
    assert entries("Limits of `tltui check`") == set(MEASURES)
    assert entries("Pages") == {view.name for view in QUESTIONS}
    assert entries("What happened to a compile") | entries("Where something is") == set(EXPLAINED)
