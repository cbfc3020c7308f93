"""What is copied for a shell is read by it as it was, and does nothing when it is pasted."""

from __future__ import annotations

import os
import subprocess

import pytest

from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize

HARD = [
    "a b", "it's", "$HOME `id` \\ \"", "*?[a]", "a\nrm -rf x\n", "\x1b]0;owned\x07", "a\tb", "\x9b2J", "\u202eevil", "\x7f",
    "é ✓", os.fsdecode(b"latin-1 \xe9 and \x1b"), "", "-n", "\\'\n", "\x01234", "\u200babc", "#",
]  # fmt: skip


@pytest.mark.parametrize("text", HARD, ids=ascii)
def test_a_shell_reads_it_as_it_was(text: str) -> None:
    word = quoted(text)
    assert sanitize(word) == word and "\n" not in word
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {word}"], capture_output=True, check=True)
    assert done.stdout == os.fsencode(text) + b"\0"


def test_what_needs_no_quotes_has_none() -> None:
    assert quoted("/tmp/trace/rank_0.log") == "/tmp/trace/rank_0.log"
    assert quoted("0:0/1_1:inductor_output_code") == "0:0/1_1:inductor_output_code"
