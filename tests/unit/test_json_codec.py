"""JSON by the standard library: the values, bytes and refusals of orjson, value by value and through whole commands."""

from __future__ import annotations

import enum
import json
import math
import random
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tltui.text import json_codec

orjson = pytest.importorskip("orjson")
TRACES = Path(__file__).parents[1] / "traces"

TEXTS = [
    b"-0",
    b"-0.0",
    b"1E5",
    b"1e-400",
    b"0e999999",
    b"1e999",
    b"-1e400",
    b"9" * 400,
    b"9" * 30 + b".5",
    b"1." + b"1" * 400,
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"-9223372036854775809",
    b"[1e16, 1e22, 123456789e-30]",
    b"01",
    b"1.",
    b".5",
    b"+1",
    b"-",
    b"",
    b" ",
    b" 1 \r\n\t",
    b"1 \x0b",
    b"1 2",
    b"[1,]",
    b'{"a":1,}',
    b"{1:2}",
    b"'a'",
    b"nul",
    b"True",
    b"NaN",
    b"[Infinity]",
    b"-Infinity",
    rb'"\ud800"',
    rb'"\udc00"',
    rb'"\ud83d\ude00"',
    rb'"\ud83dx"',
    rb'"\\ud800"',
    rb'"\\\ud800"',
    rb'"\ud800\ud83d\ude00"',
    rb'{"\ud800":1}',
    b'"\xff"',
    b'"\xed\xa0\x80"',
    b"\xef\xbb\xbf1",
    b'"\x7f"',
    b'"\x01"',
    b'"a\nb"',
    rb'"\x"',
    rb'"\u12"',
    rb'"\u0000\/\b"',
    b'{"a":1,"b":2,"a":3}',
    '"é😀\u2028"'.encode(),
    '"é"'.encode("latin-1"),
    b"\x00",
    b"1\x00",
    b'"' + b"x" * 70_000 + b'"',
]


def read(loads: Any, text: bytes | str) -> str:
    """The value as Python writes it, with the order of keys; or that the text was refused."""
    try:
        return repr(loads(text))
    except json.JSONDecodeError:
        return "refused"


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:20]))
def test_a_text_is_read_or_refused_alike(text: bytes) -> None:
    assert read(json_codec.standard_loads, text) == read(orjson.loads, text)
    if text.isascii():
        assert read(json_codec.standard_loads, text.decode()) == read(orjson.loads, text.decode())


def test_a_str_with_half_of_a_pair_is_refused() -> None:
    assert read(json_codec.standard_loads, '"\ud800"') == read(orjson.loads, '"\ud800"') == "refused"


@pytest.mark.parametrize("levels", [1, 254, 900, 1024, 1025, 1400])
@pytest.mark.parametrize("ends", [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
def test_levels_are_read_or_refused_alike(levels: int, ends: tuple[bytes, bytes]) -> None:
    levels //= ends[0].count(b"[") + ends[0].count(b"{")
    text = ends[0] * levels + b"1" + ends[1] * levels

    def depth(loads: Any) -> int:
        try:
            value, found = loads(text), 0
        except json.JSONDecodeError:
            return -1
        while value != 1 if isinstance(value, int) else True:
            value, found = value["a"] if isinstance(value, dict) else value[0], found + 1
        return found

    assert depth(json_codec.standard_loads) == depth(orjson.loads)


def test_texts_by_chance_are_read_or_refused_alike() -> None:
    chance = random.Random(7)
    pieces = [
        '"',
        "\\",
        "u",
        "d8",
        "00",
        "dc",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "1",
        "-",
        ".",
        "e",
        "+",
        "0" * 20,
        "9" * 19,
        " ",
        "é",
        "\x1f",
        "null",
        '"a":',
        "NaN",
    ]
    good = [
        '{"a": [1, -2.5e3, "x\\n\\ud83d\\ude00"], "b": {"c": null, "d": true}}',
        "[18446744073709551615, 1e308, 12345678901234567890123]",
    ]
    for _ in range(4000):
        text = list(chance.choice(good)) if chance.random() < 0.7 else []
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(text) + 1)
            text[at : at + chance.randrange(2)] = chance.choice(pieces)
        data = "".join(text).encode()
        assert read(json_codec.standard_loads, data) == read(orjson.loads, data), data


class Colour(enum.Enum):
    RED = "red"
    ONE = 1


class Number(enum.IntEnum):
    TWO = 2


class Text(str):
    pass


class Pair(tuple):  # type: ignore[type-arg]
    pass


class Real(float):
    pass


@dataclass
class Open:
    a: int
    _b: int = 2
    c: list[Any] = field(default_factory=list)

    @cached_property
    def later(self) -> int:
        return 5


@dataclass(frozen=True, slots=True)
class Slotted:
    a: object
    _b: int = 2


def an_open() -> Open:
    made = Open(1)
    assert made.later == 5
    return made


def nest(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = [value] if levels % 2 else {"a": value}
    return value


VALUES = [
    None,
    True,
    0,
    -(2**63),
    2**64 - 1,
    2**64,
    -(2**63) - 1,
    'é\x7f\x01"\\\n\u2028😀',
    "\ud800",
    {"\ud800": 1},
    [],
    {},
    (),
    [[], {}, ()],
    {"a": {"b": [1, 2.5]}},
    Colour.RED,
    Colour.ONE,
    Number.TWO,
    Text("t"),
    Pair((1,)),
    Real(1.5),
    an_open(),
    Slotted(1),
    Slotted({1: Slotted(2)}),
    b"x",
    {1},
    object,
    {1: 2},
    {1.5: 1, None: 2, True: 3, Number.TWO: 4, Colour.RED: 5, Text("k"): 6},
    {(1,): 2},
    {2**64: 1},
    {math.nan: 1},
    {1e16: 1},
    {"1": 1, 1: 2},
    {b"": 1},
    nest(254, 1),
    nest(255, 1),
    nest(253, Slotted(1)),
    nest(254, Slotted(1)),
    nest(254, {1, 2}),
    nest(254, []),
    nest(253, []),
]
FLOATS = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    *(s * m * 10.0**e for e in range(-30, 30) for m in (1, 1.2345, 1 / 3) for s in (1, -1)),
]


def written(dumps: Any, value: Any, **options: Any) -> str | bytes:
    try:
        return bytes(dumps(value, **options))
    except TypeError:
        return "refused"


def plain(value: Any) -> Any:
    if isinstance(value, (set, Pair)):
        return sorted(value)
    raise TypeError


@pytest.mark.parametrize("indent", [False, True])
@pytest.mark.parametrize("non_str_keys", [False, True])
@pytest.mark.parametrize("default", [None, plain], ids=["without default", "with default"])
def test_values_are_written_or_refused_alike(indent: bool, non_str_keys: bool, default: Any) -> None:
    option = (orjson.OPT_INDENT_2 if indent else 0) | (orjson.OPT_NON_STR_KEYS if non_str_keys else 0)
    for value in (*VALUES, *FLOATS, FLOATS):
        own = written(json_codec.standard_dumps, value, indent=indent, default=default, non_str_keys=non_str_keys)
        assert own == written(orjson.dumps, value, option=option, default=default), repr(value)[:80]


@pytest.mark.parametrize("often", [1, 254, 255, 300])
def test_default_is_asked_as_often(often: int) -> None:
    def result(dumps: Any) -> str | bytes:
        left = iter(range(often - 1))
        return written(dumps, object(), default=lambda _: 1 if next(left, None) is None else object())

    assert result(json_codec.standard_dumps) == result(orjson.dumps)


@given(st.floats())
def test_floats_by_chance(value: float) -> None:
    assert json_codec.standard_dumps(value) == orjson.dumps(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_values_by_chance_come_back(value: Any) -> None:
    data = written(json_codec.standard_dumps, value, indent=True)
    assert data == written(orjson.dumps, value, option=orjson.OPT_INDENT_2)
    if isinstance(data, bytes):
        assert repr(json_codec.standard_loads(data)) == repr(orjson.loads(data))
