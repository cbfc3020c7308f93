"""Records whose methods are made when they are first used.

`@frozen` is `@dataclass(frozen=True, slots=True)`, `@mutable` is `@dataclass(slots=True)`; `@mutable(eq=False)` compares and
hashes by identity, and `@mutable(slots=False)` adds the methods to the class itself, for classes that register themselves when
they are made (Textual's messages).

A dataclass compiles the text of its methods while its module is imported: 0.7 ms a class, used or not, and most commands make
instances of few of the records that they import. A record costs its slots; its `__init__` is compiled when the first instance is
made, and its fields are read from the annotations when somebody asks for them. `dataclasses.fields`, `replace`, `asdict` and
`is_dataclass` take records, and a dataclass or a record may be derived from one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, overload

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # importing typing_extensions takes longer than all records of a command

    def dataclass_transform(**_: object) -> Callable[[T], T]:
        """Return the identity: only type checkers use this decorator."""
        return lambda function: function


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class of annotated fields immutable, with slots and the methods of a dataclass."""
    names, defaults, namespace = _parts(cls)
    if namespace.get("__hash__", _MISSING) is None and "__eq__" in namespace:
        del namespace["__hash__"]  # Python sets it where a class defines __eq__; a frozen dataclass has a hash
    inherited: tuple[str, ...] = getattr(cls, "__match_args__", ())
    added = [name for name in names if name not in inherited]
    lazy = {name: _Lazy(make, defaults) for name, make in _MAKERS.items()}
    common = {"__slots__": tuple(added), "__match_args__": (*inherited, *added), "__record__": (names, defaults)}
    return _made_again(cls, {**_METHODS, **lazy, **namespace, **common, "__dataclass_params__": _PARAMETERS})


@overload
def mutable(cls: type[T]) -> type[T]: ...
@overload
def mutable(*, eq: bool = True, slots: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(dataclasses.field,))
def mutable(cls: type[T] | None = None, *, eq: bool = True, slots: bool = True) -> Any:
    """Give a class of annotated fields the methods of a dataclass."""
    if cls is None:
        return lambda cls: _mutable(cls, eq, slots)
    return _mutable(cls, eq, slots)


def _mutable(cls: type[T], eq: bool, slots: bool) -> type[T]:
    names, defaults, namespace = _parts(cls)
    if namespace.get("__hash__", _MISSING) is None and "__eq__" in namespace:
        eq = False  # the class compares its instances itself
    makers = {name: make for name, make in _MUTABLE_MAKERS.items() if eq or name != "__eq__"}
    lazy = {name: _Lazy(make, defaults) for name, make in makers.items()}
    methods: dict[str, Any] = {"__repr__": _repr, "__replace__": _replace, **({"__hash__": None} if eq else {}), **lazy}
    methods = {name: method for name, method in methods.items() if name not in namespace}
    inherited: tuple[str, ...] = getattr(cls, "__match_args__", ())
    added = [name for name in names if name not in inherited]
    methods |= {"__match_args__": (*inherited, *added), "__record__": (names, defaults)}
    methods["__dataclass_params__"] = _MUTABLE_PARAMETERS
    if slots:
        return _made_again(cls, {**namespace, **methods, "__slots__": tuple(added)})
    for name, value in methods.items():
        setattr(cls, name, value)
        if isinstance(value, _Lazy):
            value.__set_name__(cls, name)
    for name, value in defaults.items():
        if isinstance(value, dataclasses.Field):
            delattr(cls, name) if value.default is dataclasses.MISSING else setattr(cls, name, value.default)
    return cls


def _parts(cls: type) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """Return the names of the fields that a class declares, their defaults, and the rest of the class."""
    namespace = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    annotations: dict[str, Any] = cls.__annotations__ if "__annotations__" in namespace else {}
    names = [name for name, kind in annotations.items() if not str(kind).startswith(("ClassVar", "typing.ClassVar"))]
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    return names, defaults, namespace


def _made_again(cls: type[T], namespace: dict[str, Any]) -> type[T]:
    """Make a class again with another namespace: slots cannot be added to a class."""
    metaclass: Any = type(cls)
    new: type[T] = metaclass(cls.__name__, cls.__bases__, {**namespace, "__annotations__": cls.__annotations__})
    new.__qualname__ = cls.__qualname__
    return new


class _Lazy:
    """An attribute of a class that is made when it is first asked for."""

    __slots__ = ("defaults", "make", "name", "owner")

    def __init__(self, make: Callable[[Any, dict[str, Any]], Any], defaults: dict[str, Any]) -> None:
        self.make, self.defaults = make, defaults

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: object, cls: type | None = None) -> Any:
        if vars(self.owner)[self.name] is self:
            setattr(self.owner, self.name, self.make(self.owner, self.defaults))
        value = vars(self.owner)[self.name]
        return value.__get__(instance, cls) if isinstance(value, FunctionType) else value


# what is made when it is first asked for


def _make_fields(owner: Any, defaults: dict[str, Any]) -> dict[str, dataclasses.Field[Any]]:
    """Read the fields from the annotations, behind those of the base classes."""
    fields: dict[str, dataclasses.Field[Any]] = {}
    for base in owner.__mro__[:0:-1]:
        fields.update(getattr(base, "__dataclass_fields__", {}))
    namespace = {**defaults, "__annotations__": owner.__annotations__, "__module__": owner.__module__, "__doc__": owner.__doc__}
    without_methods = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)
    same: Any = without_methods(type(owner.__name__, (), namespace))
    if any(field.kw_only for field in dataclasses.fields(same)):
        raise TypeError(f"{owner.__qualname__}: a record has no keyword-only fields")
    fields.update(same.__dataclass_fields__)
    return fields


def _declared(owner: Any) -> dict[str, Any]:
    """Return the default of each field, `MISSING` for none, a `Field` for options; without dataclasses, which are slow."""
    declared: dict[str, Any] = {}
    for base in owner.__mro__[::-1]:
        if "__record__" in vars(base):
            names, defaults = base.__record__
            declared.update({name: defaults.get(name, dataclasses.MISSING) for name in names})
        elif "__dataclass_fields__" in vars(base):
            declared.update(base.__dataclass_fields__)
    return declared


def _make_init(owner: Any, _: dict[str, Any]) -> Callable[..., None]:
    """Compile `__init__`: a parameter and an assignment for each field."""
    values: dict[str, Any] = {"_factory": _FACTORY}
    parameters: list[str] = []
    body: list[str] = []
    declared = _declared(owner)
    for name, declaration in declared.items():
        field = declaration if isinstance(declaration, dataclasses.Field) else None
        if (field is not None and field.kw_only is True) or "KW_ONLY" in str(owner.__annotations__.get(name)):
            dataclasses.fields(owner)  # raises an error
        default, value = "", name
        if field is not None and field.default_factory is not dataclasses.MISSING:
            values[f"_make_{name}"] = field.default_factory
            default, value = "=_factory", f"_make_{name}() if {name} is _factory else {name}"
        elif (constant := field.default if field is not None else declaration) is not dataclasses.MISSING:
            values[f"_default_{name}"] = constant
            default = f"=_default_{name}"
        if field is not None and not field.init:
            value = f"_make_{name}()" if default == "=_factory" else default[1:]
        else:
            parameters.append(f"{name}{default}")
        if value and owner.__dataclass_params__.frozen:
            values[f"_set_{name}"] = getattr(owner, name).__set__
            body.append(f"_set_{name}(self, {value})")
        elif value:
            body.append(f"self.{name} = {value}")
    if hasattr(owner, "__post_init__"):
        body.append("self.__post_init__()")
    text = f"def make({', '.join(values)}):\n def __init__({', '.join(['self', *parameters])}):\n"
    text += "".join(f"  {line}\n" for line in body or ["pass"]) + " return __init__\n"
    namespace: dict[str, Any] = {}
    exec(text, {}, namespace)
    init: Callable[..., None] = namespace["make"](**values)
    init.__qualname__, init.__module__ = f"{owner.__qualname__}.__init__", owner.__module__
    annotations: dict[str, Any] = {}
    for base in owner.__mro__[::-1]:
        annotations.update(vars(base).get("__annotations__", {}))
    init.__annotations__ = {name: annotations[name] for name in declared} | {"return": None}
    return init


def _make_eq(owner: Any, _: dict[str, Any]) -> Callable[[Any, object], bool]:
    """Compare instances of the same class by their fields."""
    compared = _values([field.name for field in dataclasses.fields(owner) if field.compare])

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    return __eq__


def _make_hash(owner: Any, _: dict[str, Any]) -> Callable[[Any], int]:
    """Hash the fields that are compared."""
    hashed = _values([f.name for f in dataclasses.fields(owner) if (f.compare if f.hash is None else f.hash)])
    return lambda self: hash(hashed(self))


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an instance to the values of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


# what all records have in common


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _set(self: Any, name: str, value: object) -> None:
    _refuse(self, name, "assign to")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    _refuse(self, name, "delete")
    object.__delattr__(self, name)


def _refuse(instance: Any, name: str, action: str) -> None:
    """Raise `FrozenInstanceError` for every attribute of a record and for the fields of a class that is derived from one."""
    if "__dataclass_params__" in vars(type(instance)) or name in instance.__match_args__:
        raise dataclasses.FrozenInstanceError(f"cannot {action} field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__match_args__]


def _restore(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__match_args__, state, strict=True):
        object.__setattr__(self, name, value)


def _replace(self: T, /, **changes: Any) -> T:
    return dataclasses.replace(self, **changes)  # type: ignore[type-var]


@dataclasses.dataclass(frozen=True, slots=True)
class _Empty:
    """A dataclass with the parameters of every record."""


@dataclasses.dataclass(slots=True)
class _MutableEmpty:
    """A dataclass with the parameters of every mutable record."""


class _Factory:
    """The default of a parameter whose value a `default_factory` makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = object()
_FACTORY = _Factory()
_PARAMETERS = _Empty.__dataclass_params__  # type: ignore[attr-defined]
_MUTABLE_PARAMETERS = _MutableEmpty.__dataclass_params__  # type: ignore[attr-defined]
_MAKERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "__dataclass_fields__": _make_fields,
    "__init__": _make_init,
    "__eq__": _make_eq,
    "__hash__": _make_hash,
}
_MUTABLE_MAKERS = {name: make for name, make in _MAKERS.items() if name != "__hash__"}
_METHODS = {
    "__repr__": _repr,
    "__setattr__": _set,
    "__delattr__": _delete,
    "__getstate__": _state,
    "__setstate__": _restore,
    "__replace__": _replace,
}
