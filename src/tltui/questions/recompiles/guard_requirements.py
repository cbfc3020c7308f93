"""Requirements of guards: each line of a guard tree as (source, property) → the value that it requires."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple

from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.failed_guard_text import cause_of, class_name, compared_dispatch_keys, strip_local
from tltui.questions.recompiles.guard_grammar import Cause, comment_of, split_comment, value_kind

CLASS, KEYS, DTYPE, DEVICE, GRAD, RANK, SIZE, STRIDE = "class", "keys", "dtype", "device", "grad", "rank", "size", "stride"
TENSOR = (CLASS, KEYS, DTYPE, DEVICE, GRAD, RANK, SIZE, STRIDE)
VALUE, TYPE, OBJECT, LENGTH, KEY, MARK, STATE = "value", "type", "object", "length", "key", "mark", "state"
ALIASING, DISTINCT, CONDITION, OPAQUE = "aliasing", "distinct", "condition", "opaque"
KIND = "kind"
"""The type of a source of any manager: a fact about the call, guarded or not."""
ANY = "any"
"""The value of a dynamic size or number."""
NONE, NOT_NONE = "None", "not None"
THERE, ABSENT = "there", "not there"
GLOBAL_SETTINGS = "global settings"
LINES_CACHED = 8192
"""Lines of guard trees whose meaning is cached."""
MOST_CHARACTERS = 20_000
"""Characters of a line that are parsed."""


class Property(NamedTuple):
    """A property of a source that guards constrain."""

    kind: str
    source: str
    name: str = ""
    """The dimension, the key, the setting or the mark."""


class Requirement(NamedTuple):
    """The value that a guard requires of a property."""

    key: Property
    value: str


_LINE = re.compile(r"^(?:\| )*\+- (?:(?:Key|Value)Manager: )?(?P<kind>\w+)(?:: (?P<rest>.*))?$")
_MANAGER = re.compile(r"source=(?P<source>.*?)(?:, accessed_by=.*)?, type=(?P<type><.*?>)(?:, tag_safe=.*)?$")
_TENSOR = re.compile(
    r"^check_tensor\((?P<source>.*?), (?P<class>\w+), (?P<keys>DispatchKeySet\([^)]*\)|None), (?P<dtype>[\w.]+), "
    r"device=(?P<device>\w+), requires_grad=(?P<grad>\w+), size=\[(?P<size>[^\]]*)\], stride=\[(?P<stride>[^\]]*)\]\)$"
)
_STATE = re.compile(r"^___check_global_state\(\)(?: against (?P<json>\{.*\}))?$")
_TYPE = re.compile(r"^___check_type_id\((?P<source>.*), (?P<id>\d+)\)(?:, type=(?P<type><[^>]*>).*)?$")
_OBJECT = re.compile(r"^___check_(?:obj_id|fake_script_type)\((?P<source>.*), (?P<id>\d+)\)(?:, type=(?P<type><[^>]*>).*)?$")
_DISTINCT = re.compile(r"^check_no_aliasing\((?P<sources>.*)\)$")
_ALIAS = re.compile(r"^(?P<one>\S+) is (?P<other>(?!None$|not )\S+)$")
_IS_NONE = re.compile(r"^(?P<source>.*) is (?P<no>not )?None$")
_LENGTH = re.compile(r"^len\((?P<source>.*)\) (?P<op>==|>=) (?P<length>\d+)$")
_EMPTY = re.compile(r"^not (?P<source>[^\s()]+)$")
_CONTAINS = re.compile(
    r"^(?P<no>not )?(?:___dict_contains|___set_contains)\((?P<key>.*?), (?P<source>[A-Za-z_].*)\)$"
    r"|^(?P<none>not )?set\.__contains__\((?P<set>.*), (?P<item>.*?)\)$"
)
_HAS = re.compile(r"^(?P<no>not )?hasattr\((?P<source>.*), '(?P<name>\w+)'\)(?: == (?P<is>True|False))?$")
_EQUALS = re.compile(r"^(?P<source>\S.*?) == (?P<value>.+)$", re.DOTALL)
_NUMBERED = re.compile(r"(__builtins_dict__)_\d+|(_\d{9,20})_c\d+")
"""A global that Dynamo makes for each compile under another number."""
_WITH_NUMBERS = ("__builtins_dict__", "___unnamed_scope_", "G['_1", "G['_9")
"""Parts of trees with such globals: object ids begin with 1 or 9, apart from rare ones."""
_UNORDERED = ("frozenset(", "{", "set(")


def is_unordered(value: str) -> bool:
    """Return whether a value may have several spellings."""
    return value.startswith(_UNORDERED)


def requirements_in(line: str) -> tuple[Requirement, ...]:
    """Return the requirements of a line of a guard tree, `L[…]` shortened; of a manager the type of its source."""
    match = _LINE.match(line) if len(line) <= MOST_CHARACTERS else None
    if match is None:
        return ()
    kind, rest = match["kind"], match["rest"] or ""
    if kind.endswith("Manager"):
        return _manager(kind, rest)
    expression = split_comment(rest)[0]
    return _guard(kind, expression)


def _manager(kind: str, rest: str) -> tuple[Requirement, ...]:
    match = _MANAGER.search(rest)
    if match is None:
        return ()
    source = match["source"]
    results = [Requirement(Property(KIND, source), class_name(match["type"]))]
    if kind == "DictGuardManager":
        results.append(Requirement(Property(OPAQUE, source, "keys"), ""))
    return tuple(results)


@lru_cache(maxsize=LINES_CACHED)
def requirements_of_line(line: str) -> tuple[Requirement, ...]:
    """Return the requirements of a line of a guard tree as torch wrote it."""
    return requirements_in(strip_local(line))


def numbers_removed(text: str) -> str:
    """Return a guard tree without the numbers of globals that Dynamo makes for each compile."""
    return _NUMBERED.sub(r"\1\2", text) if any(part in text for part in _WITH_NUMBERS) else text


def has_ordered_keys(line: str) -> bool:
    """Return whether a line is of a dict whose keys are guarded in order: its length follows from several lines."""
    return "DictGuardManager" in line or "list(dict.keys(" in line


def requirements_of(text: str) -> dict[Property, tuple[str, str]]:
    """Return the requirements of a guard tree: property → (value, line)."""
    results: dict[Property, tuple[str, str]] = {}
    for line in numbers_removed(text).split("\n"):
        for key, value in requirements_of_line(line):
            results.setdefault(key, (value, line))
    for key in [key for key in results if key.kind == OPAQUE and key.name == "keys"]:
        pairs = 0
        while Property(KIND, f"list(dict.keys({key.source}))[{pairs}]") in results:
            pairs += 1
        # torch compares the length of a dict whose keys it guards in order, but writes no line for that; an empty one has no keys
        contents = (f"{key.source}[", f"list(dict.keys({key.source}))[")
        if pairs or not any(other.kind == KIND and other.source.startswith(contents) for other in results):
            del results[key]
            results[Property(LENGTH, key.source)] = (str(pairs), "")
    return results


def _guard(kind: str, text: str) -> tuple[Requirement, ...]:
    """Return the requirements of a guard."""
    if text.startswith("check_tensor("):
        return _tensor(text)
    if match := _STATE.match(text):
        return _state(match["json"])
    if text.startswith(("___check_torch_function_mode_stack", "NO_TENSOR_ALIASING")) or not text:
        return ()  # no values: only torch's reasons show a difference
    if match := _TYPE.match(text):
        return (Requirement(Property(TYPE, match["source"]), class_name(match["type"] or "") or match["id"]),)
    if match := _OBJECT.match(text):
        return (Requirement(Property(OBJECT, match["source"]), match["id"]),)
    if match := _DISTINCT.match(text):
        return tuple(Requirement(Property(DISTINCT, source), "") for source in match["sources"].split(", "))
    if match := _IS_NONE.match(text):
        return (Requirement(Property(VALUE, match["source"]), NOT_NONE if match["no"] else NONE),)
    if match := _LENGTH.match(text):
        return (Requirement(Property(LENGTH, match["source"], "" if match["op"] == "==" else ">="), match["length"]),)
    if "_dynamo_" in text and "attr(" in text:
        return _mark(text)
    return _container(text) or _plain(kind, text)


def _tensor(text: str) -> tuple[Requirement, ...]:
    match = _TENSOR.match(text)
    if match is None:
        return (Requirement(Property(OPAQUE, text[13:].partition(", ")[0], "tensor"), text),)
    source = match["source"]
    sizes, strides = _list(match["size"]), _list(match["stride"])
    results = [
        Requirement(Property(kind, source), match[kind].removeprefix("torch.")) for kind in (CLASS, KEYS, DTYPE, DEVICE, GRAD)
    ]
    results.append(Requirement(Property(RANK, source), str(len(sizes))))
    for kind, values in ((SIZE, sizes), (STRIDE, strides)):
        results += [Requirement(Property(kind, source, str(n)), ANY if v == "None" else v) for n, v in enumerate(values)]
    return tuple(results)


def _list(text: str) -> list[str]:
    return text.split(", ") if text else []


def _state(text: str | None) -> tuple[Requirement, ...]:
    """Return the settings of torch, one requirement each."""
    try:
        settings = json.loads(text) if text else None
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        return (Requirement(Property(OPAQUE, "", GLOBAL_SETTINGS), ""),)
    return tuple(Requirement(Property(STATE, "", str(name)), _setting(str(name), value)) for name, value in settings.items())


_SCALAR_TYPES = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16"}
"""The numbers of c10::ScalarType that torch.set_default_dtype accepts."""


def _setting(name: str, value: object) -> str:
    if name == "default_dtype" and isinstance(value, int):
        return _SCALAR_TYPES.get(value, f"ScalarType {value}")
    return json.dumps(value)


_MARKED = re.compile(r"(?:has|get)attr\((?P<source>[^\n]*?), '(?P<mark>_dynamo_\w+)'")


def _mark(text: str) -> tuple[Requirement, ...]:
    match = _MARKED.search(text)
    if match is None:
        return (Requirement(Property(CONDITION, text), THERE),)
    return (Requirement(Property(MARK, match["source"], match["mark"]), ABSENT if text.endswith(" == False") else text),)


def _container(text: str) -> tuple[Requirement, ...]:
    if match := _CONTAINS.match(text):
        source, key = match["source"] or match["set"], match["key"] or match["item"]
        return (Requirement(Property(KEY, source, key), ABSENT if match["no"] or match["none"] else THERE),)
    if match := _HAS.match(text):
        absent = (match["no"] is not None) != (match["is"] == "False")
        return (Requirement(Property(KEY, match["source"], f".{match['name']}"), ABSENT if absent else THERE),)
    if match := _EMPTY.match(text):
        return (Requirement(Property(LENGTH, match["source"]), "0"),)
    return ()


def _plain(kind: str, text: str) -> tuple[Requirement, ...]:
    """Return a constant value, an aliasing, or the text as a condition."""
    if match := _ALIAS.match(text):
        one, other = sorted((match["one"], match["other"]))
        return (Requirement(Property(ALIASING, one, other), "one object"),)
    match = _EQUALS.match(text)
    is_value = match is not None and (kind != "LAMBDA_GUARD" or _is_constant(match["value"]))
    if match is None or not (is_value or guard_grammar.condition_of(text) is None):
        return (Requirement(Property(CONDITION, text), THERE),)
    return (Requirement(Property(VALUE, match["source"]), match["value"]),)


def _is_constant(text: str) -> bool:
    return value_kind(text) != guard_grammar.VALUE or text == NONE


def cause_of_difference(key: Property, line: str, expected: str, actual: str) -> Cause:
    """Return the cause of a difference, classified as torch's reason for the same guard is."""
    kind, source, name = key
    if kind in (SIZE, STRIDE):
        return Cause(guard_grammar.SIZE if kind == SIZE else guard_grammar.STRIDE, source, int(name), expected, actual)
    if kind == KEYS:
        return compared_dispatch_keys(source, expected, actual)
    if kind in _TENSOR_CAUSES:
        if kind == GRAD:
            expected, actual = (_YES_NO.get(value, value) for value in (expected, actual))
        return Cause(_TENSOR_CAUSES[kind], source, None, expected, actual)
    if kind == STATE:
        return Cause(guard_grammar.STATE, name, None, expected, actual, settings=(name,))
    if kind == DISTINCT:
        return Cause(guard_grammar.ALIASING, source, None, "different tensors", "one tensor")
    if kind == LENGTH:
        return Cause(guard_grammar.LENGTH, source, None, expected, actual)
    cause = _cause_in(line)
    if kind in (OBJECT, KEY, MARK) or not actual:
        return cause
    return Cause(cause.kind, cause.source, cause.dim, cause.expected, actual, cause.value, cause.settings, cause.note)


@lru_cache(maxsize=LINES_CACHED)
def _cause_in(line: str) -> Cause:
    """Return the cause that a guard has if it fails."""
    expression, comment = _split(line)
    return cause_of(expression, comment_of(comment).note)


@lru_cache(maxsize=LINES_CACHED)
def _split(line: str) -> tuple[str, str]:
    """Split a line of a guard tree into the expression, `L[…]` shortened, and the comment."""
    return split_comment(_LINE.sub(r"\g<rest>", strip_local(line)))


def words_of_difference(key: Property, line: str, expected: str, actual: str) -> str:
    """Return a difference in the words that torch has for a failed guard, with the comment of the guard."""
    kind, source, name = key
    expression, comment = _split(line)
    if kind in _TENSOR_WORDS:
        expression = f"{_TENSOR_WORDS[kind].format(source, name)}. expected {expected}, actual {actual}"
    elif kind == GRAD:
        expression = f"tensor '{source}' requires_grad mismatch. expected requires_grad={int(expected == 'True')}"
    elif kind == CLASS:
        expression = f"expected type of '{source}' to be a tensor type, ' but found <class '{actual}'>"
    elif kind == STATE:
        expression = f"GLOBAL_STATE changed: {name}"
    elif kind == LENGTH and not line:
        expression = f"len({source}) == {expected}"
    return f"{expression}  # {comment}" if comment else expression


_TENSOR_WORDS = {
    SIZE: "tensor '{0}' size mismatch at index {1}", STRIDE: "tensor '{0}' stride mismatch at index {1}",
    RANK: "tensor '{0}' rank mismatch", DTYPE: "tensor '{0}' dtype mismatch", KEYS: "tensor '{0}' dispatch key set mismatch",
}  # fmt: skip
_YES_NO = {"True": "yes", "False": "no"}
_TENSOR_CAUSES = {
    CLASS: guard_grammar.TYPE, DTYPE: guard_grammar.DTYPE, DEVICE: guard_grammar.DEVICE, GRAD: guard_grammar.GRAD,
    RANK: guard_grammar.RANK,
}  # fmt: skip
