"""Texts about groups of blocks: names, lists of modules, and the code that compiles them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tltui.documents import format as fmt
from tltui.questions.blocks.graph_blocks import BlockGroup
from tltui.text.sanitize import sanitize


def name_of(group: BlockGroup) -> str:
    """Return `12 × WhisperEncoderLayer`; without a class the path of the list."""
    name = f"{fmt.count(len(group.members))} × {sanitize(group.class_name or f'{group.containers[0]}.*')}"
    if group.calls == len(group.members):
        return name
    each, rest = divmod(group.calls, len(group.members))
    return f"{name}, {fmt.plural(group.calls, 'call')}" if rest else f"{name}, {fmt.plural(each, 'call')} each"


def members_of(paths: Sequence[str]) -> str:
    """Return `layers.0, 2, 4–7`: the number or name of each module, after the path of its list.

    Of modules with equal places in several lists: `layers.0–3.1`.
    """
    of_lists = by_container(paths)
    outer = by_container(tuple(of_lists))
    if len(of_lists) > 1 and len(outer) == 1 and len({tuple(words) for words in of_lists.values()}) == 1:
        [(path, numbers)] = outer.items()
        if all(number.isdecimal() for number in numbers):
            words = next(iter(of_lists.values()))
            return sanitize(f"{path}.{_with_ranges(numbers)}.{_with_ranges(words)}")
    return sanitize("; ".join(f"{container}.{_with_ranges(words)}" for container, words in of_lists.items()))


def _with_ranges(words: Sequence[str]) -> str:
    """Return `0, 2, 4–7`."""
    pieces: list[str] = []
    for word in words:
        first, _, last = pieces[-1].partition("–") if pieces else ("", "", "")
        end = last or first
        if word.isdecimal() and end.isdecimal() and int(word) == int(end) + 1:
            pieces[-1] = f"{first}–{word}"
        else:
            pieces.append(word)
    return ", ".join(piece.replace("–", ", ") if _is_pair(piece) else piece for piece in pieces)


def _is_pair(piece: str) -> bool:
    first, dash, last = piece.partition("–")
    return bool(dash) and int(last) == int(first) + 1


def by_container(paths: Sequence[str]) -> dict[str, list[str]]:
    """Map each list to the numbers or names of its modules among these; numbers ascend."""
    results: dict[str, list[str]] = {}
    for path in paths:
        container, _, word = path.rpartition(".")
        results.setdefault(container, []).append(word)
    for words in results.values():
        if all(word.isdecimal() for word in words):
            words.sort(key=int)
    return results


def compile_calls(groups: Sequence[BlockGroup], container: str) -> Iterator[str]:
    """Yield the lines that compile the blocks of one list, by their numbers or names where the list has other modules.

    `compile()` of a module has no effect for the classes of `torch.nn`, whose files Dynamo skips.
    """
    of_list = [group for group in groups if container in group.containers]
    dictionaries = {path for group in groups for path in group.dictionaries}
    place = f"model.{_in_python(container, dictionaries)}"
    is_torch = any(group.class_module.startswith("torch.") for group in of_list)
    words = by_container([path for group in of_list for path in group.members])[container]
    is_dictionary = container in dictionaries
    numbers = [f'"{sanitize(word)}"' if is_dictionary else word for word in words]
    item = "name" if is_dictionary else "n"
    has_others = any(other.path.rpartition(".")[0] == container for group in groups for other in group.different)
    if len(numbers) == 1:
        item = numbers[0]
    elif has_others:
        yield f"for {item} in ({', '.join(numbers)}):"
    elif is_torch:
        yield f"for {item} in {f'list({place})' if is_dictionary else f'range(len({place}))'}:"
    else:
        yield f"for block in {f'{place}.values()' if is_dictionary else place}:"
        yield "    block.compile()"
        return
    indent = "" if len(numbers) == 1 else "    "
    one = f"{place}[{item}]"
    yield f"{indent}{one} = torch.compile({one})" if is_torch else f"{indent}{one}.compile()"


def _in_python(path: str, dictionaries: set[str]) -> str:
    """Return a module path as an expression: `down_blocks[0].attentions`."""
    first, *rest = sanitize(path).split(".")
    text, before = first, first
    for word in rest:
        text += f'["{word}"]' if before in dictionaries else f"[{word}]" if word.isdecimal() else f".{word}"
        before += f".{word}"
    return text
