"""What a terminal sends, in pieces of any size: it means the same, and what is broken costs itself."""

from __future__ import annotations

import random

import pytest
from textual import events
from textual.message import Message

from tltui.terminal.driver import KEPT, SILENCE, Answered, Decoder


def said(messages: list[Message]) -> list[str]:
    """Keys by name, the rest by what it is."""
    found = []
    for message in messages:
        if isinstance(message, events.Key):
            found.append(message.key)
        elif isinstance(message, events.Paste):
            found.append(f"paste {message.text}")
        elif isinstance(message, events.MouseEvent):
            found.append(f"{type(message).__name__} {message.button} {message.x:g},{message.y:g}")
        elif isinstance(message, Answered):
            found.append("answer")
        else:
            found.append(type(message).__name__)
    return found


def decoded(*pieces: bytes) -> list[str]:
    decoder = Decoder()
    found = [message for piece in pieces for message in decoder.feed(piece)]
    return said(found + decoder.silence(SILENCE))


CASES = [
    (b"jk", ["j", "k"]),
    ("é€𝄞x".encode(), ["é", "euro_sign", "musical_symbol_g_clef", "x"]),
    (b"a\xe9j", ["a", "j"]),  # a Latin-1 terminal
    (b"\xc3j\xf0\x9f\x98k\xed\xa0\x80l\x9bm\xffn", ["j", "k", "l", "m", "n"]),
    (b"\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[15~", ["up", "down", "ctrl+right", "delete", "f5"]),
    (b"\x1b[[Aj", ["f1", "j"]),  # the console of Linux
    (b"\x1bx\x1b\rj", ["alt+x", "enter", "j"]),
    (b"\x1b\x1b[Aj", ["escape", "up", "j"]),
    (b"j\x1b", ["j", "escape"]),
    (b"\x1b[", ["left_square_bracket"]),
    (b"\x00j", ["ctrl+@", "j"]),
    # mice
    (b"\x1b[<0;5;6M\x1b[<0;5;6mj", ["MouseDown 1 4,5", "MouseUp 1 4,5", "j"]),
    (b"\x1b[M &'\x1b[M#&'j", ["MouseDown 1 5,6", "MouseUp 1 5,6", "j"]),
    (b"\x1b[M \xa0\xffj", ["MouseDown 1 127,222", "j"]),  # right of column 95
    (b"\x1b[M`!!j", ["MouseScrollUp 0 0,0", "j"]),
    (b"\x1b[M \x1b[Aj", ["up", "j"]),
    (b"\x1b[32;100;7Mj", ["MouseDown 1 99,6", "j"]),
    (b"\x1b[<0;99999999;1M\x1b[<0;-5;3M\x1b[<0;;Mj", ["j"]),
    (b"\x1b[<0;" + b"9" * 5000 + b";1Mj", ["j"]),
    # the keyboard of kitty
    (b"\x1b[97u\x1b[97;5u\x1b[27u\x1b[57441;2u", ["a", "ctrl+a", "escape", "left_shift"]),
    (b"\x1b[97;5:1u\x1b[97;5:2u\x1b[97;5:3u\x1b[97:65;5uj", ["ctrl+a", "ctrl+a", "ctrl+a", "j"]),
    (b"\x1b[1;1:3A\x1b[1;5:1A", ["ctrl+up"]),
    (b"\x1b[1114112u\x1b[99999999999999999999u\x1b[55296u\x1b[97;99999999999999999999uj", None),
    # answers
    (b"\x1b[0nj\x1b[3n\x1b[24;80R\x1b[1;1R", ["answer", "j", "answer", "answer", "answer"]),
    (b"\x1b[1;2R\x1b[13~", ["shift+f3", "f3"]),
    (b"\x1b[?2026;2$y\x1b[?62;22c\x1b[>0;1;2cj", ["TerminalSupportsSynchronizedOutput", "j"]),
    (b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]0;x\x07\x1bP1$r0m\x1b\\\x1b_Gi=1;OK\x1b\\j", ["j"]),
    (b"\x1b]" + b"x" * 9000 + b"\x1b\\j", ["j"]),
    (b"\x1b[I\x1b[O\x1b[Ij", ["j"]),
    # what nobody knows
    (b"\x1b[" + b"1;" * 2000 + b"mj", ["j"]),
    (b"\x1b[" + b"1;" * 2000 + b"\x1b[Aj", ["up", "j"]),
    (b"\x1b[99x\x1b[?5;5;5;5w\x1b[=1!zj", ["j"]),
    (b"\x1b[12\x18j\x1b[12\xe9k", ["j", "k"]),
    (b"\x1b[48;30;100;0;0t\x1b[<0;5;6Mj", ["Resize", "MouseDown 1 4,5", "j"]),
    (b"\x1b[48;30;100;300;1000t\x1b[<0;51;66Mj", ["Resize", "MouseDown 1 5,6", "j"]),
    (b"\x1b[48;0;0;0;0t\x1b[48;99999999;99999999;1;1tj", ["j"]),
    # pastes
    (b"\x1b[200~one\rtwo\x1b[201~j", ["paste one\rtwo", "j"]),
    (b"\x1b[200~a\x1b[Aq\x1bq\x1b[20~\x1b[201\x1b[201~j", ["paste a\x1b[Aq\x1bq\x1b[20~\x1b[201", "j"]),
    (b"\x1b[200~\xe9\x00x\x1b[201~\x1b[200~\x1b[201~\x1b[201~j", ["paste x", "paste ", "j"]),
    (b"\x1b[200~never ends\x1b[20", ["paste never ends\x1b[20"]),
]  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), CASES, ids=lambda value: repr(value)[:40])
def test_in_pieces_of_any_size(data: bytes, expected: list[str] | None) -> None:
    """Cut at each place, and byte by byte."""
    whole = decoded(data)
    if expected is None:
        assert whole[-1] == "j"
    else:
        assert whole == expected
    cuts = range(1, len(data)) if len(data) < 200 else random.Random(1).sample(range(1, len(data)), 40)
    for cut in cuts:
        assert decoded(data[:cut], data[cut:]) == whole, cut
    assert decoded(*(data[at : at + 1] for at in range(len(data)))) == whole


def test_a_paste_of_any_size() -> None:
    text = b"0123456789" * 100_000
    for size in (1000, 4096, 65536):
        data = b"\x1b[200~" + text + b"\x1b[201~j"
        found = decoded(*(data[at : at + size] for at in range(0, len(data), size)))
        assert found == ["paste " + text[:KEPT].decode(), "j"]


def test_thousands_of_pastes_at_once() -> None:
    assert decoded(b"\x1b[200~x\x1b[201~" * 5000) == ["paste x"] * 5000


def test_silence_in_a_paste() -> None:
    """It may go on for as long as a byte comes now and then; then it is over, and keys are keys again."""
    decoder = Decoder()
    assert decoder.feed(b"\x1b[200~aaa \x1b") == []
    assert decoder.silence(0.6) == []
    assert said(decoder.feed(b"[201~j")) == ["paste aaa ", "j"]
    decoder.feed(b"\x1b[200~aaa")
    assert said(decoder.silence(SILENCE)) == ["paste aaa"]
    assert said(decoder.feed(b"j\x1b[201~k")) == ["j", "k"]


def test_silence_in_a_sequence() -> None:
    decoder = Decoder()
    decoder.feed(b"\x1b[1;")
    assert decoder.silence(0.5) == []
    assert said(decoder.feed(b"5A")) == ["ctrl+up"]
    for begun in (b"\x1b[1;", b"\x1b[" + b"1;" * 50, b"\x1b]0;title", b"\xf0\x9f", b"\x1b[M &", b"\x1b]0;x\x1b"):
        decoder.feed(begun)
        assert decoder.is_waiting
        assert decoder.silence(SILENCE) == []
        assert not decoder.is_waiting
        assert said(decoder.feed(b"j")) == ["j"]


def test_any_bytes() -> None:
    """Never an exception, and the keyboard works behind it."""
    chance = random.Random(7)
    parts = [data for data, _ in CASES if len(data) < 60]
    for _ in range(300):
        decoder = Decoder()
        for _ in range(20):
            piece = bytearray(chance.choice(parts))
            for _ in range(chance.randrange(3)):
                piece[chance.randrange(len(piece))] = chance.randrange(256)
            decoder.feed(bytes(piece[: chance.randrange(1, len(piece) + 1)]))
        decoder.silence(SILENCE)
        assert said(decoder.feed(b"j")) == ["j"]
