"""A record is what `@dataclass(frozen=True, slots=True)` makes of the same class, and makes its methods late."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, astuple, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar, get_type_hints

import pytest

from tltui.text.frozen import frozen, mutable

T = TypeVar("T")


@frozen
class Point:
    """A place."""

    x: float
    """From the left."""
    y: float = 0.0
    """From above."""

    @property
    def size(self) -> float:
        return abs(self.x) + abs(self.y)

    def moved(self, by: float) -> Point:
        return replace(self, x=self.x + by)


@dataclass(frozen=True, slots=True)
class PointLike:
    """A place."""

    x: float
    y: float = 0.0


@frozen
class Many:
    COUNT: ClassVar[int] = 3
    name: str
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)
    hidden: int = field(default=0, hash=False)


@frozen
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


@frozen
class Computed:
    text: str
    length: int = field(init=False)
    lines: list[str] = field(init=False, default_factory=list)
    kind: str = field(init=False, default="text")

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.text))


@frozen
class Box(Generic[T]):
    content: T


@frozen
class Named(Point):
    name: str = ""


@dataclass(frozen=True, slots=True)
class Derived(Point):
    name: str = ""


class Plain(Point):
    """A class without a decorator that keeps more than the fields."""


@frozen
class Loud:  # noqa: PLW1641  (a record has a hash)
    x: int

    def __repr__(self) -> str:
        return "loud"

    def __eq__(self, other: object) -> bool:
        return True


@frozen
class Single:
    value: float


@frozen
class Empty:
    """Nothing."""


def fresh() -> Any:
    """A record whose methods nobody has asked for."""

    @frozen
    class Fresh:
        x: int
        y: int = 2

    return Fresh


def test_instances_are_those_of_a_dataclass() -> None:
    assert (Point(1.0).x, Point(1.0).y, Point(1.0, y=3.0).y) == (1.0, 0.0, 3.0)
    assert repr(Point(1.0)) == repr(PointLike(1.0)).replace("PointLike", "Point") == "Point(x=1.0, y=0.0)"
    assert Point(1.0) == Point(1.0) != Point(2.0)
    assert Point(1.0) != PointLike(1.0)
    assert hash(Point(1.0)) == hash(Point(1.0))
    assert {Point(1.0): "a"}[Point(1.0)] == "a"
    assert Point(1.0).size == 1.0 and Point(1.0).moved(2) == Point(3.0)
    assert not hasattr(Point(1.0), "__dict__")
    assert Point.__doc__ == "A place." and Point.__name__ == "Point" and Point.__module__ == __name__
    for arguments in ((), (1, 2, 3)):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            Point(*arguments)
    assert Empty() == Empty() and repr(Empty()) == "Empty()" and hash(Empty()) == hash(Empty())
    nan = float("nan")
    assert Single(nan) == Single(nan) != Single(float("nan")), "as tuples compare"


@pytest.mark.parametrize("made", [Point(1.0), Named(1.0, 2.0, "a"), Plain(1.0)])
def test_nothing_of_it_can_be_changed(made: Point) -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2.0
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'y'"):
        del made.y
    if not isinstance(made, Plain):
        with pytest.raises(FrozenInstanceError):
            made.z = 1


def test_a_class_without_a_decorator_may_keep_more() -> None:
    plain = Plain(1.0)
    plain.z = 2
    assert plain.z == 2
    del plain.z
    assert not hasattr(plain, "z")


def test_functions_of_dataclasses_take_it() -> None:
    assert is_dataclass(Point) and is_dataclass(Point(1.0))
    assert [f.name for f in fields(Many)] == ["name", "tags", "note", "hidden"]
    assert [(f.name, f.type, f.default) for f in fields(Point)] == [(f.name, f.type, f.default) for f in fields(PointLike)]
    assert asdict(Named(1.0, 2.0, "a")) == {"x": 1.0, "y": 2.0, "name": "a"}
    assert astuple(Point(1.0)) == (1.0, 0.0)
    assert replace(Point(1.0), y=2.0) == Point(1.0, 2.0)
    assert get_type_hints(Point) == {"x": float, "y": float}
    assert str(inspect.signature(Point)) == str(inspect.signature(PointLike))


def test_fields_have_defaults_and_options() -> None:
    one, other = Many("a"), Many("a", note="of the other", hidden=0)
    assert one == other and hash(Single(1.0)) and one.tags is not other.tags
    assert repr(other) == "Many(name='a', tags=[], hidden=0)"
    assert Many.COUNT == 3 and "COUNT" not in Many.__match_args__
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    hashed = Many("a", (), hidden=1), Many("a", (), hidden=2)
    assert hash(hashed[0]) == hash(hashed[1]) and hashed[0] != hashed[1]


def test_what_is_checked_after_the_fields_are_set() -> None:
    assert Checked(1, 2).high == 2
    with pytest.raises(ValueError, match="low is above high"):
        Checked(2, 1)


def test_fields_that_are_no_parameters() -> None:
    assert repr(Computed("abc")) == "Computed(text='abc', length=3, lines=[], kind='text')"
    assert str(inspect.signature(Computed)) == "(text: 'str') -> None" and Computed("a").lines is not Computed("a").lines


def test_methods_of_the_class_stay() -> None:
    assert repr(Loud(1)) == "loud" and Loud(1) == 5
    assert hash(Loud(1)) == hash(Loud(1)), "a frozen dataclass with an __eq__ has a hash"


def test_it_can_be_generic_and_derived_from() -> None:
    assert Box[int](1) == Box(1) and repr(Box("a")) == "Box(content='a')"
    assert Named(1.0, 2.0, "a") == Named(1.0, 2.0, "a") != Named(1.0, 2.0, "b")
    assert Named.__slots__ == ("name",) and Named(1.0).size == 1.0
    assert repr(Named(1.0)) == "Named(x=1.0, y=0.0, name='')"
    assert Named(1.0) != Point(1.0)
    assert repr(Derived(1.0, name="a")) == "Derived(x=1.0, y=0.0, name='a')" and Derived(1.0) == Derived(1.0)


@pytest.mark.parametrize("made", [Point(1.0), Named(1.0, 2.0, "a"), Many("a", ["b"]), Box((1, 2)), Empty()])
def test_it_can_be_copied_and_pickled(made: object) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(made, protocol)) == made
    assert copy.copy(made) == copy.deepcopy(made) == made
    if sys.version_info >= (3, 13):
        assert copy.replace(made) == made


def test_it_can_be_matched() -> None:
    match Named(1.0, 2.0, "a"):
        case Point(2.0):
            raise AssertionError("another place")
        case Named(x, y, name):
            assert (x, y, name) == (1.0, 2.0, "a")


def test_a_cycle_can_be_shown() -> None:
    content: list[object] = []
    box = Box(content)
    content.append(box)
    assert repr(box) == "Box(content=[...])"


@pytest.mark.parametrize("use", [
    lambda made: made(1), lambda made: made.__init__, lambda made: made.__eq__, lambda made: made.__hash__, fields,
    lambda made: object.__new__(made) == 1, inspect.signature,
])  # fmt: skip
def test_any_use_may_be_the_first(use: Callable[[Any], object]) -> None:
    made = fresh()
    use(made)
    assert made(1) == made(1, 2) != made(2) and repr(made(1)).endswith("Fresh(x=1, y=2)") and hash(made(1)) == hash(made(1))


def test_a_subclass_may_be_used_before_its_base() -> None:
    base: Any = fresh()
    sub = frozen(type("Sub", (base,), {"__annotations__": {"z": "int"}, "z": 3, "__module__": __name__}))
    assert repr(sub(1)) == "Sub(x=1, y=2, z=3)" and base(1) == base(1)


def test_methods_are_made_when_they_are_used() -> None:
    made = fresh()
    assert not inspect.isfunction(vars(made)["__init__"])
    made(1)
    assert inspect.isfunction(vars(made)["__init__"]) and not inspect.isfunction(vars(made)["__hash__"])


def test_a_keyword_only_field_is_refused() -> None:
    made: Any = frozen(type("Odd", (), {"__annotations__": {"x": "int"}, "x": field(kw_only=True), "__module__": __name__}))
    with pytest.raises(TypeError, match="Odd: a record has no keyword-only fields"):
        made()


def test_it_imports_no_typing_extensions() -> None:
    code = "import sys, tltui.text.frozen; print('typing_extensions' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


@mutable
class Total:
    """A sum that grows."""

    LIMIT: ClassVar[int] = 9
    name: str
    count: int = 0
    parts: list[int] = field(default_factory=list)
    hidden: int = field(default=0, repr=False, compare=False)

    def add(self, part: int) -> None:
        self.count += 1
        self.parts.append(part)


@dataclass(slots=True)
class TotalLike:
    """A sum that grows."""

    LIMIT: ClassVar[int] = 9
    name: str
    count: int = 0
    parts: list[int] = field(default_factory=list)
    hidden: int = field(default=0, repr=False, compare=False)


@mutable
class Scaled(Total):
    factor: float = 1.0


@mutable(eq=False)
class Handle:
    number: int = 0


class Registered:
    """A class that notes its subclasses."""

    names: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.began = True

    def __init_subclass__(cls) -> None:
        cls.names.append(cls.__name__)


@mutable(slots=False)
class Event(Registered):
    text: str
    tags: list[str] = field(default_factory=list)
    weight: int = field(default=3)

    def __post_init__(self) -> None:
        super().__init__()


def test_a_mutable_record_is_a_dataclass_with_slots() -> None:
    total, like = Total("a", 1), TotalLike("a", 1)
    assert repr(total) == repr(like).replace("TotalLike", "Total")
    assert str(inspect.signature(Total)) == str(inspect.signature(TotalLike))
    assert [one.name for one in fields(Total)] == [one.name for one in fields(TotalLike)] and asdict(total) == asdict(like)
    total.add(4)
    assert total == Total("a", 2, [4], hidden=5) != Total("a", 2) and replace(total, name="b").parts is total.parts
    assert Total("a").parts is not Total("a").parts and is_dataclass(Total) and Total.LIMIT == 9
    assert Total.__slots__ == TotalLike.__slots__ and not hasattr(total, "__dict__")  # type: ignore[attr-defined]
    assert get_type_hints(Total)["count"] is int and Total.__match_args__ == TotalLike.__match_args__  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unhashable"):
        hash(total)
    with pytest.raises(AttributeError):
        total.other = 1  # type: ignore[attr-defined]


def test_a_mutable_record_can_be_derived_from_copied_and_pickled() -> None:
    scaled = Scaled("a", factor=2.0)
    scaled.add(1)
    assert repr(scaled) == "Scaled(name='a', count=1, parts=[1], factor=2.0)" and Scaled.__slots__ == ("factor",)  # type: ignore[attr-defined]
    assert copy.copy(scaled) == copy.deepcopy(scaled) == scaled != Total("a", 1, [1])
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(scaled, protocol)) == scaled


def test_without_eq_a_mutable_record_is_compared_by_identity() -> None:
    handle = Handle()
    assert handle == handle != Handle() and len({handle, Handle()}) == 2 and repr(Handle(2)) == "Handle(number=2)"


def test_without_slots_a_class_stays_the_same_class() -> None:
    assert Registered.names == ["Event"], "made once"
    event = Event("a")
    event.note = 1  # type: ignore[attr-defined]
    assert event.began and event == Event("a") and repr(event) == "Event(text='a', tags=[], weight=3)"
    assert not hasattr(Event, "tags") and Event.weight == 3
