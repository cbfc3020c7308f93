"""Comparison of a call with an older compiled version: all guarded values that differ, and those that are unknown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from tltui.model.nodes import Compile
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.explanations import Key, Reason, fixed_in, sized, symbols_of, tensors_in
from tltui.questions.recompiles.guard_grammar import Cause, Condition, Term, as_attribute, by_number_type, condition_of, value_kind
from tltui.questions.recompiles.guard_requirements import ANY, Property, cause_of_difference, words_of_difference
from tltui.text.frozen import frozen

MODES = "torch function modes"
"""The setting in torch's reasons. Guards have no value of it."""


@frozen
class Difference:
    """A guarded value that differs between a call and an older compiled version."""

    key: Key
    """The identity of the cause."""
    expected: str
    """The value that the older version requires."""
    actual: str
    """The value in the call; '' if unknown."""
    text: str = ""
    """The failed guard in torch's words."""
    keys: tuple[str, ...] = ()
    """The keys of a dict that one of the two has alone, of a length: `'c' added`."""

    @property
    def cause(self) -> str:
        """The class of the cause."""
        return self.key[0]

    @property
    def source(self) -> str:
        """The source of the cause."""
        return self.key[1]

    @property
    def dim(self) -> int | None:
        """The dimension, of a size or stride."""
        return self.key[2]


class Comparison(NamedTuple):
    """A call compared with an older version."""

    version: int
    """The number of the older compile in the table."""
    differences: tuple[Difference, ...]
    unknown: frozenset[Key]
    """Guards that only the older version has, or of a value that is dynamic in the call."""
    is_complete: bool
    """Whether both have guards in the log, and every guard of the older one could be compared."""
    branches: tuple[frozenset[Key], ...] = ()
    """Conditions of the call that are false for the values of the older compile: the sizes and numbers of each."""
    laid: frozenset[Key] = frozenset()
    """Strides, one of each tensor, that do not follow from the sizes as in the older version."""
    relaid: frozenset[Key] = frozenset()
    """The same where the stride is a symbol in the call, or where the tensor became contiguous."""
    loose: frozenset[Key] = frozenset()
    """Other strides that no sizes explain in both: conditions on them may hold or not."""
    specialized: tuple[tuple[Key, frozenset[Key]], ...] = ()
    """Sizes and numbers that differ, and that one of the two compiles specialized, although its code did not need the number.

    Each with constant sizes there that may be the reason."""
    free: frozenset[Key] = frozenset()
    """Sizes and numbers that differ and are symbols in the compile of the call, if it traced the same code as the older one."""
    needed: frozenset[Key] = frozenset()
    """Those that the same code specialized, because it needs the number itself."""
    aliased: frozenset[Key] = frozenset()
    """Keys of dicts, by which one of the two has a tensor twice: with equal keys, the other one has two tensors there."""
    reshaped: frozenset[Key] = frozenset()
    """Tensors with another number of dimensions and of elements: with equal dimensions, their sizes differ."""
    likely: frozenset[Key] = frozenset()
    """Values of a call without guards that differ from those of all other older versions."""
    is_same_code: bool = False
    """Whether only sizes and numbers differ."""
    is_branched: bool = False
    """Whether only numbers differ, and the versions guard other values: they traced different code."""


Values = dict[Property, str | None]
"""Changed properties of a version, against the first one with guards; None where it lacks one."""


class Version:
    """The guards of a compile, and the values of the call that it was compiled for."""

    def __init__(
        self, compile_: Compile, first: dict[Property, tuple[str, str]], changes: tuple[Values, dict[Property, str]] | None
    ) -> None:
        self.compile_ = compile_
        self.ref = compile_.address
        self.first = first
        self.changes = changes[0] if changes is not None else None
        self._lines = changes[1] if changes is not None else {}
        self._modules: dict[str, bool] = {}
        self._constants: dict[str, frozenset[Key]] = {}
        self._equalities: tuple[Condition, ...] | None = None
        self._aliases: tuple[Property, ...] | None = None

    def value(self, key: Property) -> str | None:
        """Return the required value of a property; None for none."""
        if self.changes is None:
            return None
        if key in self.changes:
            return self.changes[key]
        entry = self.first.get(key)
        return entry[0] if entry is not None else None

    def line(self, key: Property) -> str:
        """Return the line of a requirement."""
        return self._lines.get(key) or (self.first[key][1] if key in self.first else "")

    def hint(self, source: str) -> str:
        """Return the value of a symbol in the call; '' for none."""
        return symbols_of(self.compile_).get(source, ("", ""))[1]

    def size(self, source: str, dim: int) -> str | None:
        """Return a size of a tensor in the call, '' if unknown; None for no such dimension."""
        value = self.value(Property(required.SIZE, source, str(dim)))
        return self.hint(f"{source}.size()[{dim}]") if value == ANY else value

    def layout(self, source: str) -> tuple[Sequence[int], Sequence[int | None]]:
        """Return the sizes and the strides of a tensor in the call, None for an unknown stride; no sizes if one is unknown."""
        sizes: list[int] = []
        strides: list[int | None] = []
        while (size := self.size(source, len(sizes))) is not None:
            if not size.isdigit():
                return (), ()
            stride = self.value(Property(required.STRIDE, source, str(len(sizes)))) or ""
            stride = self.hint(f"{source}.stride()[{len(sizes)}]") if stride == ANY else stride
            sizes.append(int(size))
            strides.append(int(stride) if stride.isdigit() else None)
        if None in strides:  # products of sizes have no symbol
            tensor = tensors_in(self.compile_).get(source)
            return (sizes, tensor.strides if tensor is not None and list(tensor.sizes) == sizes else strides)
        return sizes, strides

    def kind(self, source: str) -> str:
        """Return the type of a source in the call; '' if unknown."""
        return self.value(Property(required.KIND, source)) or ""

    def equalities(self) -> tuple[Condition, ...]:
        """Return the conditions that two sizes are equal."""
        if self._equalities is None:
            conditions = (condition_of(key.source) for key in self._names(required.CONDITION))
            self._equalities = tuple(
                condition for condition in conditions
                if condition is not None and condition.kind == guard_grammar.EQUAL and len(condition.terms) == 2
            )  # fmt: skip
        return self._equalities

    def is_constant(self, size: Key) -> bool:
        """Return whether a size is a constant that was not specialized."""
        _, source, dim = size
        return self.value(Property(required.SIZE, source, str(dim))) != ANY and sized(source, dim) not in fixed_in(self.compile_)

    def constant_sizes(self, value: str) -> frozenset[Key]:
        """Return the sizes that are a constant of this value."""
        if value not in self._constants:
            self._constants[value] = frozenset(
                (guard_grammar.SIZE, key.source, int(key.name)) for key in (*self.first, *(self.changes or ()))
                if key.kind == required.SIZE and self.value(key) == value
            )  # fmt: skip
        return self._constants[value]

    def aliases(self) -> tuple[Property, ...]:
        """Return the requirements that two sources are one object."""
        if self._aliases is None:
            self._aliases = tuple(self._names(required.ALIASING))
        return self._aliases

    def _names(self, kind: str) -> Iterator[Property]:
        """Yield the required properties of a kind."""
        for key in dict.fromkeys((*self.first, *(self.changes or ()))):
            if key.kind == kind and self.value(key) is not None:
                yield key

    def is_module(self, source: str) -> bool:
        """Return whether a source is an attribute of an nn.Module: Dynamo guards that it has no `forward` of its own."""
        owner, dot, _ = source.rpartition(".")
        if owner not in self._modules:
            self._modules[owner] = self.value(Property(required.KEY, f"{owner}.__dict__", "'forward'")) == required.ABSENT
        return bool(dot) and self._modules[owner]


def compared(
    older: Version, call: Version, number: int, reasons: Sequence[Reason], modes: bool, properties: dict[Key, Property],
    failed: Collection[tuple[Key, str]] = (), distinct: Collection[Property] = (), alike: Sequence[Version] = (),
) -> Comparison:  # fmt: skip
    """Compare a call with an older version; `reasons`, torch's for that version, are certain.

    `failed`: the guards of all older versions that failed for this call, as cause and required value.
    `distinct`: the values that differ in all older versions; `alike`: the versions that a call without guards resembles.
    """
    differences = {key: Difference(key, r.expected, r.actual, r.text) for r in reasons for key in r.keys}
    if older.changes is None or call.changes is None:
        likely: frozenset[Key] = frozenset()
        if older.changes is not None:
            differences |= {each.key: each for each in _failed_too(older, failed) if each.key not in differences}
            likely = frozenset((*_likely(older, distinct), *_unlike(older, alike))) - differences.keys()
        return Comparison(number, tuple(differences.values()), frozenset(), False, likely=likely)
    comparing = _Comparing(older, call, differences, failed)
    comparing.run()
    properties.update(comparing.properties)
    is_complete = comparing.is_complete
    if modes and not any(key[0] != guard_grammar.STATE for key in differences):
        is_complete = False  # guards have no value of the modes, and torch names the first guard that failed
    for difference in comparing.differences:
        if difference.cause == guard_grammar.STATE and reasons and difference.key not in differences:
            continue  # torch compares its settings first and names each that differs
        reported = differences.setdefault(difference.key, difference)
        if not reported.actual or not reported.expected or difference.keys:  # a setting, a length: torch names no value
            differences[difference.key] = difference
    if comparing.opaque_settings and (not differences or any(key[0] == guard_grammar.STATE for key in differences)):
        is_complete = False
    unknown = frozenset((*comparing.unknown, *comparing.new_aliases()))
    result = Comparison(
        number, tuple(differences.values()), unknown, is_complete, comparing.branches(), frozenset(comparing.laid),
        frozenset(comparing.relaid), frozenset(comparing.loose), tuple(_specialized_by(differences, (older, call))),
    )  # fmt: skip
    if not all(map(_is_measure, differences.values())):
        aliased, reshaped = comparing.aliased(differences), filter(comparing.is_reshaped, differences)
        return result._replace(aliased=frozenset(aliased), reshaped=frozenset(reshaped))
    is_branched = any(_is_constant(each) and key not in comparing.free for key, each in differences.items()) and (
        comparing.has_other_guards(differences) or comparing.has_other_operations()
    )
    needed = frozenset(_specialized(differences, call, True))
    return result._replace(free=frozenset(comparing.free), needed=needed, is_same_code=True, is_branched=is_branched)


def _specialized(keys: Collection[Key], version: Version, needs_number: bool) -> Iterator[Key]:
    """Yield the sizes and numbers that a version specialized, because code needs the number or for another reason."""
    fixed = fixed_in(version.compile_)
    for key in keys if fixed else ():
        reason = fixed.get(sized(key[1], key[2]))
        if reason is not None and reason.needs_number == needs_number:
            yield key


def _specialized_by(keys: Collection[Key], versions: Sequence[Version]) -> Iterator[tuple[Key, frozenset[Key]]]:
    """Yield the sizes and numbers that one of the versions specialized, each with constant sizes that may be the reason.

    These equal it, or differ too: `mask.size()[1] == 1 + cache.size()[1]` for a constant size of the cache.
    """
    for version in versions:
        for key in _specialized(keys, version, False):
            value = version.size(key[1], key[2]) if key[2] is not None else version.value(Property(required.VALUE, key[1]))
            differing = (other for other in keys if other[0] == guard_grammar.SIZE and version.is_constant(other))
            equal = version.constant_sizes(value) if value else ()
            yield key, frozenset((*equal, *differing)) - {key}


def _failed_too(older: Version, failed: Collection[tuple[Key, str]]) -> Iterator[Difference]:
    """Yield the guards of a version that are those of other versions, and failed there for the same call."""
    sources = {source for (_, source, _), _ in failed}
    for key in dict.fromkeys((*older.first, *(older.changes or ()))) if failed else ():
        value = older.value(key) if key.source in sources and key.kind in (required.SIZE, required.VALUE) else None
        if value is not None and value != ANY:
            for cause in keys_of(cause_of_value(older, key, value)):
                if (cause, value) in failed:
                    yield Difference(cause, value, "")


def _likely(older: Version, distinct: Collection[Property]) -> Iterator[Key]:
    """Yield the numbers and texts of a version that differ in all versions: they probably differ in a call without guards too.

    Torch names the first guard of each version that failed: another one may come before these.
    """
    for key in distinct:
        value = older.value(key)
        if value is not None:
            yield from keys_of(cause_of_value(older, key, value))


def _unlike(older: Version, alike: Sequence[Version]) -> Iterator[Key]:
    """Yield the sizes, numbers and texts of a version that differ from those of all versions which a call resembles."""
    for key in dict.fromkeys(key for version in (older, *alike) for key in version.changes or ()) if alike else ():
        value = older.value(key) if key.kind in (required.SIZE, required.VALUE) else None
        if value not in (None, ANY) and not any(version.value(key) in (value, None, ANY) for version in alike):
            yield from keys_of(cause_of_value(older, key, value or ""))


def distinct_values(versions: Sequence[Version]) -> tuple[Property, ...]:
    """Return the sizes, numbers and texts that have another value in each version, of at least `FEWEST_DISTINCT` versions."""
    guarded = [version for version in versions if version.changes is not None]
    if len(guarded) < FEWEST_DISTINCT:
        return ()
    results: list[Property] = []
    for key in next((version.changes for version in guarded if version.changes), ()):  # the first guards have none
        values = [version.value(key) for version in guarded] if key.kind in (required.SIZE, required.VALUE) else []
        kinds = {value_kind(value) if value is not None else None for value in values}
        if values and len(set(values)) == len(values) and len(kinds) == 1 and kinds <= _COUNTLESS:
            results.append(key)
    return tuple(results)


FEWEST_DISTINCT = 3
"""Versions of a frame from which on a value that differs in all of them is expected to differ in the next one."""
_COUNTLESS = guard_grammar.NUMBERS | {guard_grammar.STR}
"""Types that have more than two values."""


_MEASURES = (guard_grammar.SIZE, guard_grammar.STRIDE, guard_grammar.INT, guard_grammar.FLOAT, guard_grammar.CONDITION)


def _is_measure(difference: Difference) -> bool:
    """Return whether a difference is a size or a number: the traced code is the same, except for branches, which are conditions."""
    is_number = difference.cause in guard_grammar.NAMED and value_kind(difference.expected) in guard_grammar.NUMBERS
    return difference.cause in _MEASURES or is_number


def _is_constant(difference: Difference) -> bool:
    """Return whether a difference is a number that the older version has as a constant."""
    return difference.cause not in (guard_grammar.SIZE, guard_grammar.STRIDE, guard_grammar.CONDITION)


_MODULE = re.compile(r"^(?:__import__\('[\w.]+'\)|G\['__import_\w+'\])$")
"""An imported module: one object as long as the process runs."""


def cause_of_value(older: Version, key: Property, expected: str, actual: str = "") -> Cause:
    """Return the cause of a difference from a version, `actual` is '' if unknown."""
    cause = by_number_type(cause_of_difference(key, older.line(key), expected, actual), actual)
    return as_attribute(cause) if cause.kind in guard_grammar.VALUES and older.is_module(cause.source) else cause


class _Comparing:
    """The comparison of a call with the requirements of an older version."""

    def __init__(
        self, older: Version, call: Version, reported: Mapping[Key, Difference], failed: Collection[tuple[Key, str]]
    ) -> None:
        """Make a comparison. `reported`: the differences that torch named; `failed`: see `compared`."""
        self._older, self._call, self._reported, self._failed = older, call, reported, failed
        self.differences: list[Difference] = []
        self.properties: dict[Key, Property] = {}
        self.unknown: set[Key] = set()
        self.free: set[Key] = set()
        self.opaque_settings = False
        self.laid: set[Key] = set()
        self.relaid: set[Key] = set()
        self.loose: set[Key] = set()
        self._compared_layouts: set[str] = set()
        self._others: dict[str, str] = {}  # tensors that are no tensor in the call → their property that differs
        self._resized: set[str] = set()
        self._strided: set[str] = set()
        self._open_strides: list[tuple[Property, str]] = []

    @property
    def is_complete(self) -> bool:
        """Whether each guard of the older version was compared."""
        return not self.unknown

    def run(self) -> None:
        """Compare all properties in which the two may differ."""
        older, call = self._older.changes or {}, self._call.changes or {}
        keys = [key for key in (*older, *(key for key in call if key not in older)) if key.kind != required.KIND]
        if len(keys) > 1:
            keys.sort(key=_order)
        for key in keys:
            expected = self._older.value(key)
            if expected is not None:
                actual = self._call.value(key)
                if actual != expected:
                    self._compare(key, expected, actual)
        for key, expected in self._open_strides:
            if key.source not in self._strided:
                self._is_unknown(key, expected)

    def _compare(self, key: Property, expected: str, actual: str | None) -> None:
        kind = key.kind
        if kind in required.TENSOR:
            self._tensor(key, expected, actual)
        elif kind == required.VALUE:
            self._value(key, expected, actual)
        elif kind == required.OPAQUE:
            if key.name == required.GLOBAL_SETTINGS:
                self.opaque_settings = True
            else:
                self._is_unknown(key, expected)
        elif kind in (required.DISTINCT, required.ALIASING):
            self._aliasing(key, expected)
        elif kind == required.CONDITION:
            self._condition(key, expected)
        elif kind == required.TYPE:
            self._differs(key, expected, actual or self._type(key.source))
        elif kind == required.KEY and actual is None and self._call.kind(f"{key.source}[{key.name}]"):
            self._differs(key, expected, required.THERE)
        elif kind == required.LENGTH and key.name == ">=":
            self._at_least(key, expected)
        elif kind == required.MARK and key.source in self._others:
            pass
        else:
            self._differs(key, expected, actual or "")

    def _differs(self, key: Property, expected: str, actual: str) -> None:
        """Add a difference; an unknown value is no difference."""
        if not actual:
            self._is_unknown(key, expected)
        elif actual != expected:
            self.differences.append(self._difference(key, expected, actual))

    def _difference(self, key: Property, expected: str, actual: str) -> Difference:
        cause = self._cause(key, expected, actual)
        cause_key, *_ = keys_of(cause)
        is_type = cause.kind == guard_grammar.TYPE and key.kind == required.VALUE
        self.properties.setdefault(cause_key, Property(required.TYPE, key.source) if is_type else key)
        reported = self._reported.get(cause_key)
        if reported is not None and reported.actual and reported.expected and cause_key[0] != guard_grammar.LENGTH:
            return reported
        text = words_of_difference(key, self._older.line(key), expected, actual)
        keys = self._keys(cause_key[1]) if cause_key[0] == guard_grammar.LENGTH else ()
        return Difference(cause_key, cause.expected, cause.actual or actual, text, keys)

    def _keys(self, source: str) -> tuple[str, ...]:
        """Return the keys of a dict under which only one of the two has a guarded value."""
        results: dict[str, None] = {}
        for key in (*(self._call.changes or ()), *(self._older.changes or ())):
            match = _DICT_KEY.match(key.source[len(source) :]) if key.source.startswith(f"{source}[") else None
            if key.kind == required.KIND and match is not None:
                before, now = self._older.kind(key.source), self._call.kind(key.source)
                if bool(before) != bool(now):
                    results[f"{match[1]} {'added' if now else 'absent'}"] = None
        return tuple(results)[:MOST_KEYS]

    def _cause(self, key: Property, expected: str, actual: str) -> Cause:
        return cause_of_value(self._older, key, expected, actual)

    def _is_unknown(self, key: Property, expected: str) -> None:
        if _MODULE.match(key.source):
            return
        cause = self._cause(key, expected, "")
        keys = keys_of(cause)
        if len(keys) == 1 and (keys[0], cause.expected) in self._failed:  # torch names it for another version
            self.differences.append(self._difference(key, expected, ""))
        else:
            self.unknown.update(keys)

    def _type(self, source: str) -> str:
        value = self._call.value(Property(required.VALUE, source))
        return self._call.kind(source) or (_TYPES.get(value_kind(value), "") if value else "")

    def _tensor(self, key: Property, expected: str, actual: str | None) -> None:
        source, kind = key.source, key.kind
        if source in self._others or expected == ANY:
            return
        if kind == required.STRIDE and actual is not None:
            self._layout(source)
        if kind == required.STRIDE and source in self._resized:
            return
        if kind == required.CLASS:
            if actual is None:
                none = self._call.value(Property(required.VALUE, source)) == required.NONE
                actual = "NoneType" if none else self._call.kind(source).rpartition(".")[2]
            if actual != expected:
                self._others[source] = actual
                is_other = bool(actual) and not (actual.endswith("Tensor") or actual == "Parameter")
                self._differs(key, expected, actual if is_other or self._call.value(key) is not None else "")
            return
        if kind == required.RANK and actual is not None:
            self._resized.add(source)
            self._others[source] = actual
        if kind == required.SIZE and actual is not None:
            self._size(key, expected, actual)
        elif kind == required.STRIDE:
            self._stride(key, expected, actual)
        elif actual == ANY:
            self._is_unknown(key, expected)
        elif kind != required.KEYS or actual is None or without_autocast(expected) != without_autocast(actual):
            self._differs(key, expected, actual or "")

    def _stride(self, key: Property, expected: str, actual: str | None) -> None:
        """Add the first stride that differs: the others follow from the same layout."""
        if actual is None or actual == ANY:
            self._open_strides.append((key, expected))
        elif key.source not in self._strided:
            self._strided.add(key.source)
            self._differs(key, expected, actual)

    def _layout(self, source: str) -> None:
        """Compare the strides of a tensor with those that torch computes from dynamic sizes."""
        if source in self._compared_layouts:
            return
        self._compared_layouts.add(source)
        (sizes, strides), (new_sizes, new_strides) = self._older.layout(source), self._call.layout(source)
        old_strides = [stride for stride in strides if stride is not None]
        if not sizes or not len(old_strides) == len(sizes) == len(new_sizes):
            return
        expected = strides_for(new_sizes, new_strides, sizes, old_strides)
        others = [n for n, pair in enumerate(zip(expected, new_strides, strict=True)) if None not in pair and pair[0] != pair[1]]
        free = [n for n, now in enumerate(expected) if now is None and strides[n] != new_strides[n]]
        proven = [n for n in others if new_sizes[n] != 1]  # a size of one may have any stride
        for dim in (*proven, *others, *free)[:1]:
            if proven:
                is_static = self._call.value(Property(required.STRIDE, source, str(dim))) != ANY
                kinds = self.laid if is_static else self.relaid
            else:
                kinds = self.relaid if not others and _is_dense(new_sizes, new_strides) else self.loose
            kinds.add((guard_grammar.STRIDE, source, dim))

    def _size(self, key: Property, expected: str, actual: str) -> None:
        if actual == ANY:
            actual = self._call.hint(f"{key.source}.size()[{key.name}]")
            if actual == expected:  # another call that the dynamic version serves may have another size
                self._is_unknown(key, expected)
            else:
                self.free.update(keys_of(self._cause(key, expected, actual)))
        if actual != expected:
            self._resized.add(key.source)
            self._differs(key, expected, actual)

    def _value(self, key: Property, expected: str, actual: str | None) -> None:
        if actual is not None and expected != required.NOT_NONE:
            same = required.is_unordered(expected) and required.is_unordered(actual)
            self._differs(key, expected, "" if same else guard_grammar.SOMETHING if actual == required.NOT_NONE else actual)
            return
        kind = self._call.kind(key.source)
        if expected == required.NOT_NONE:
            if actual == required.NONE or (actual is None and kind == "NoneType"):
                self._differs(key, expected, required.NONE)
            elif actual is None and not kind:
                self._is_unknown(key, expected)
            return
        hint = self._call.hint(key.source)
        if hint == expected:
            self._is_unknown(key, expected)
        elif hint:
            self.free.update(keys_of(self._cause(key, expected, hint)))
            self._differs(key, expected, hint)
        elif expected == required.NONE:
            self._differs(key, expected, guard_grammar.SOMETHING if kind and kind != "NoneType" else "")
        else:
            other = kind and kind != _TYPES.get(value_kind(expected), kind)
            self._differs(key, expected, f"some {kind}" if other else "")

    def _at_least(self, key: Property, expected: str) -> None:
        length = self._call.value(Property(required.LENGTH, key.source))
        if length is None or not length.isdigit():
            self._is_unknown(key, expected)
        elif int(length) < int(expected):
            self._differs(key, expected, length)

    def _aliasing(self, key: Property, expected: str) -> None:
        """Compare which sources are one object."""
        call = self._call
        if key.kind == required.DISTINCT:
            if key.source not in self._others:
                self._is_unknown(key, expected)
            return
        if all(call.value(Property(required.DISTINCT, source)) is not None for source in (key.source, key.name)):
            self.differences.append(self._difference(key, "one object", "different objects"))
        else:
            self._is_unknown(key, expected)

    def new_aliases(self) -> Iterator[Key]:
        """Yield aliases in the call of a source that the older version has no guards on: with it, that may have none."""
        for key, value in (self._call.changes or {}).items():
            is_new = key.kind == required.ALIASING and value is not None and self._older.value(key) is None
            if is_new and not all(map(self._older.kind, (key.source, key.name))):
                yield (guard_grammar.ALIASING, key.source, None)

    def aliased(self, differences: Collection[Key]) -> Iterator[Key]:
        """Yield the lengths and keys of dicts that differ, and by which one of the two has a tensor twice."""
        by_dict: dict[str, list[Key]] = {}
        for key in differences:
            if key[0] in (guard_grammar.LENGTH, guard_grammar.KEY):
                by_dict.setdefault(guard_grammar.container(key[1]), []).append(key)
        for one, other in ((self._older, self._call), (self._call, self._older)):
            for name in one.aliases() if by_dict else ():
                for source in (name.source, name.name) if other.value(name) is None else ():
                    if not other.kind(source):
                        yield from by_dict.get(guard_grammar.container(source), ())

    def is_reshaped(self, key: Key) -> bool:
        """Return whether a difference is the number of dimensions of a tensor that also has another number of elements."""
        elements = [_elements(version, key[1]) for version in (self._older, self._call)] if key[0] == guard_grammar.RANK else [0, 0]
        return elements[0] != elements[1]

    def has_other_operations(self) -> bool:
        """Return whether the graphs have different numbers of operations, and no size or number is dynamic in one of them only."""
        counts = {version.compile_.facts.graph_op_count for version in (self._older, self._call)}
        return self.is_complete and not self.free and len(counts - {None}) > 1

    def has_other_guards(self, differences: Collection[Key]) -> bool:
        """Return whether one of the two guards objects, types or keys that the other one does not guard.

        `differences`: what differs. Of a number that is dynamic in one of them, only the other one guards the value.
        """
        numbers = {source for _, source, _ in (*differences, *self.unknown)}
        keys = dict.fromkeys((*(self._older.changes or ()), *(self._call.changes or ())))
        return any(
            key.kind in _OF_CODE and key.source not in numbers
            and (self._older.value(key) is None) != (self._call.value(key) is None) for key in keys
        )  # fmt: skip

    def _condition(self, key: Property, expected: str) -> None:
        """Evaluate a condition of the older version with the values of the call."""
        condition = condition_of(key.source)
        if condition is None:
            self._is_unknown(key, expected)
            return
        values, is_fixed = _values_of(condition, self._call)
        if condition.failing(values):
            self.differences.append(self._difference(key, expected, ", ".join(v for v in values.values() if v)))
            if _is_special(condition.text):
                self._equal_sizes(condition.terms[0])
        elif not is_fixed and not _is_special(condition.text):
            self._is_unknown(key, expected)

    def _equal_sizes(self, term: Term) -> None:
        """Add torch's bound of 2 on each size that the older version requires to equal a term: one symbol is for all of them.

        The guard is about one of them, but each would have it alone.
        """
        pending, visited = [term], {term.text}
        while pending:
            text = pending.pop().text
            for condition in self._older.equalities():
                if text not in (other.text for other in condition.terms):
                    continue
                for other in condition.terms:
                    size = self._call.size(other.source, other.dim) if other.dim is not None else None
                    if other.text not in visited and size in guard_grammar.SPECIAL:
                        visited.add(other.text)
                        pending.append(other)
                        bound = f"2 <= {other.text}"
                        key = (guard_grammar.CONDITION, other.source, other.dim)
                        self.differences.append(Difference(key, bound, size or "", bound))

    def branches(self) -> tuple[frozenset[Key], ...]:
        """Return the sizes and numbers of conditions of the call that are false for the older compile.

        With dynamic sizes, that compile would have traced the other branch.
        """
        results: dict[frozenset[Key], None] = {}
        for key, value in (self._call.changes or {}).items():
            if key.kind == required.CONDITION and value is not None and self._older.value(key) is None:
                condition = condition_of(key.source)
                if condition is not None and not _is_special(condition.text) and condition.failing(
                    _values_of(condition, self._older)[0]
                ):
                    results[frozenset(key for term in condition.terms for key in _keys_of_term(term))] = None
        return tuple(results)


def strides_for(
    new_sizes: Sequence[int], new_strides: Sequence[int | None], sizes: Sequence[int], strides: Sequence[int]
) -> list[int | None]:
    """Return the strides that a version requires of a tensor with other sizes if its sizes are dynamic; None for any from 2 on.

    Torch writes a stride as a product of sizes where it can (_compute_symbolic_stride in torch/fx/experimental/symbolic_shapes.py).
    `sizes`, `strides`: those of the tensor that the version was compiled for.
    """
    results: list[int | None] = [None] * len(sizes)
    products: dict[int, int] = {}  # a product of sizes and strides → the same product for the other sizes
    for stride, negative in sorted((stride, -n) for n, stride in enumerate(strides)):
        n = -negative
        is_packed = n + 1 < len(sizes) and stride == sizes[n + 1] * strides[n + 1]
        if stride in SPECIAL_STRIDES and not (is_packed and stride in products):
            results[n] = stride
        elif stride in products:
            results[n] = products[stride]
        elif new_strides[n] in SPECIAL_STRIDES:
            results[n] = stride
        now = new_strides[n] if results[n] is None else results[n]
        if now is not None:
            products[sizes[n] * stride] = new_sizes[n] * now
    return results


SPECIAL_STRIDES = (0, 1)
"""Strides that are always constants."""


def _is_dense(sizes: Sequence[int], strides: Sequence[int | None]) -> bool:
    """Return whether a tensor fills its memory in any order of dimensions: torch asks whether it is contiguous."""
    product = 1
    for stride, size in sorted((stride or 0, size) for size, stride in zip(sizes, strides, strict=True) if size != 1):
        if stride != product:
            return False
        product *= size
    return True


def _elements(version: Version, source: str) -> int:
    """Return the number of elements of a tensor; 0 if a size is unknown."""
    elements, dim = 1, 0
    while (size := version.size(source, dim)) is not None:
        elements, dim = elements * int(size) if size.isdigit() else 0, dim + 1
    return elements


def _values_of(condition: Condition, version: Version) -> tuple[dict[str, str], bool]:
    """Return the values of the terms of a condition in a call, and whether the guards of that call fix all of them."""
    values: dict[str, str] = {}
    is_fixed = True
    for term in condition.terms:
        is_size = term.dim is not None
        key = Property(required.SIZE, term.source, str(term.dim)) if is_size else Property(required.VALUE, term.text)
        value = version.value(key)
        if value is None or value == ANY:
            is_fixed, value = False, version.hint(term.text)
        values[term.text] = value
    return values, is_fixed


def _keys_of_term(term: Term) -> tuple[Key, ...]:
    """Return the causes that a term of a condition can be: a size, or a number of a class that its guard names."""
    if not term.is_number:
        return ((guard_grammar.SIZE, term.source, term.dim),)
    return tuple((kind, term.source, None) for kind in (guard_grammar.INT, *sorted(guard_grammar.NAMED)))


def _is_special(text: str) -> bool:
    """Return whether a condition is torch's own bound of dynamic sizes, which holds in each version that has the size dynamic."""
    return text.startswith("2 <= ") and " <= " not in text[5:]


_OF_CODE = (required.KEY, required.OBJECT, required.TYPE, required.LENGTH, required.VALUE)
"""Guards of values that the traced code uses."""
_DICT_KEY = re.compile(r"^\[('[^']*'|\"[^\"]*\")\]$")
MOST_KEYS = 6
_AUTOCAST = re.compile(r"Autocast\w+(?:, )?")


def without_autocast(keys: str) -> str:
    """Return dispatch keys without those of autocast, which is a setting and not a property of a tensor."""
    return _AUTOCAST.sub("", keys).replace(", )", ")")


_TYPES = {
    guard_grammar.INT: "int", guard_grammar.FLOAT: "float", guard_grammar.BOOL: "bool", guard_grammar.STR: "str",
}  # fmt: skip
_ORDER = {kind: n for n, kind in enumerate((required.CLASS, required.RANK, *required.TENSOR))}


def _order(key: Property) -> int:
    """Sort the class and the number of dimensions of tensors first, and sizes before strides."""
    return _ORDER.get(key.kind, len(_ORDER))


def keys_of(cause: Cause) -> tuple[Key, ...]:
    """Return the identity of a cause; of the global state one for each setting."""
    if cause.kind == guard_grammar.STATE and cause.settings:
        return tuple((cause.kind, setting, None) for setting in cause.settings)
    return ((cause.kind, cause.source, cause.dim),)
