"""One metrics record: fields in groups, numbers in units that people read, the raw value beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tltui.analyses.metrics.fields import (
    BYTES,
    CONFIG,
    COPIES,
    COUNT,
    EPOCH_S,
    EPOCH_US,
    GROUPS,
    OTHER,
    RUNNING,
    TO_SECONDS,
    about,
)
from tltui.analyses.metrics.metrics import CompileMetrics, Field, MetricsRecord
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize
from tltui.trace.grammar import number

EVENTS = {
    "compilation_metrics": "Forward",
    "bwd_compilation_metrics": "Backward, compiled later",
    "aot_autograd_backward_compilation_metrics": "Backward, compiled later",
    "compilation_metrics_runtime": "At run time",
    "bwd_compilation_metrics_runtime": "Backward at run time",
}
UNKNOWN = "not known to this version of tltui"
ITEMS_SHOWN = 3
ENTRIES_SHOWN = 2000


def add_record(page: Page, found: CompileMetrics, record: MetricsRecord) -> None:
    """One section; fields without a value at its end, folded."""
    page.heading(EVENTS.get(record.event, record.event))
    page.add("  ", (fmt.clip_middle(record.ref, page.width - 2), tokens.LINK, record.ref))
    if not record.fields:
        page.say("The record is damaged: its fields cannot be read.", "  ", tokens.WARN)
        return
    told = [field for field in record.fields if field.value is not None]
    width = min(max((len(field.name) for field in told), default=0), max(page.width // 2 - 4, 20))
    for group in GROUPS:
        members = [field for field in told if field.group == group and field.name not in COPIES]
        if members:
            title = UNKNOWN if group == OTHER else group
            page.open(title)
            page.add("  ", (title, tokens.LABEL))
            for field in members:
                _field(page, field, record.ref, width, found)
            page.close()
    copies = [field for field in told if field.name in COPIES]
    if copies:
        title = f"{fmt.plural(len(copies), 'field')} that repeat{'s' if len(copies) == 1 else ''} one of these in another unit"
        page.open(title, folded=True)
        page.add("  ", (title, tokens.DIM))
        for field in copies:
            _field(page, field, record.ref, width, found)
        page.close()
    add_names(page, [field.name for field in record.fields if field.value is None], "without a value")


def add_meanings(page: Page, names: Sequence[str]) -> None:
    """What some fields count, folded: their names promise other things."""
    known = [(name, about(name).help) for name in dict.fromkeys(names) if about(name).help]
    if not known:
        return
    page.heading("What the fields mean", folded=True)
    for name, meaning in known:
        page.row([(name, tokens.NAME), f"  {meaning}"])


def add_names(page: Page, names: Sequence[str], what: str) -> None:
    """Names of fields, folded."""
    if not names:
        return
    title = f"{fmt.plural(len(names), 'field')} {what}"
    page.open(title, folded=True)
    page.add("  ", (title, tokens.DIM))
    page.say(", ".join(names), "    ", tokens.DIM)
    page.close()


def _field(page: Page, field: Field, ref: str, width: int, found: CompileMetrics) -> None:
    name = page.clip_middle(sanitize(field.name), width)
    head: list[Piece] = ["    ", (name, tokens.NAME), " " * (width - len(name)), "  "]
    room = page.width - width - 6
    if isinstance(field.value, (dict, list)) and field.value:
        _container(page, head, field, ref, room, found)
        return
    text = sanitize(field.value) if isinstance(field.value, str) else value_text(field.value, field.unit)
    if isinstance(field.value, str) and (len(text) > room or "\n" in field.value):
        _long_text(page, head, field, ref, room)
        return
    if not text:
        page.add(*head, ("(empty)", tokens.DIM, ref))
        return
    raw = raw_text(field.value, field.unit)
    shown = [text.ljust(8), raw] if raw else [text]
    pieces: list[Piece] = [*head, (fmt.clip(text, room), _style(field.value), ref)]
    if raw and len("  ".join(shown)) <= room:
        pieces += [" " * (len(shown[0]) - len(text) + 2), (raw, tokens.DIM)]
    used = max(len("  ".join(shown)), 18)
    if field.help and used + 2 + len(field.help) <= room:
        pieces += [" " * (used - len("  ".join(shown)) + 2), (field.help, tokens.DIM)]
    page.add(*pieces)


def _style(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return tokens.CONSTANT
    return tokens.NUMBER if isinstance(value, (int, float)) else tokens.STRING


def value_text(value: Any, unit: str) -> str:
    """A value as people read it: `8.99 s`, `58 µs`, `25.6 KB`, `true`."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, (int, float)):
        return number_text(value, unit)
    return as_json(value)


def number_text(value: float, unit: str) -> str:
    """A number in its unit."""
    if number(value) is None:  # NaN, 1e308, 10**400: nothing can be reckoned with them
        return str(value)
    if unit in TO_SECONDS:
        seconds = value * TO_SECONDS[unit]
        return f"{seconds * 1e6:.0f} µs" if 0 < seconds < 0.0005 else fmt.seconds(seconds)
    if unit == EPOCH_S:
        return fmt.when(value * 1e6)
    if unit == EPOCH_US:
        return fmt.when(value)
    if unit == BYTES:
        return fmt.size_of(value)
    if unit in (COUNT, RUNNING) and float(value).is_integer():
        return fmt.count(int(value))
    return str(value)


def raw_text(value: Any, unit: str) -> str:
    """The number as torch wrote it, where that looks different."""
    if not number(value):
        return ""
    return str(value) if unit in TO_SECONDS or unit in (EPOCH_S, EPOCH_US, BYTES) else ""


def as_json(value: Any) -> str:
    """Any value as one line of JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "(nested too deeply)"


def _long_text(page: Page, head: list[Piece], field: Field, ref: str, room: int) -> None:
    """The first line beside the name, all of it folded below."""
    lines = [line for part in field.value.split("\n") for line in fmt.wrap(part, page.width - 6)]
    first = sanitize(fmt.one_line(field.value))
    page.open(field.name, folded=True)
    page.add(*head, (fmt.clip(first, room), tokens.STRING, ref))
    for line in lines[:ENTRIES_SHOWN]:
        page.add("      ", line)
    page.close()


def _container(page: Page, head: list[Piece], field: Field, ref: str, room: int, found: CompileMetrics) -> None:
    """A list or an object: how many entries, and below it the entries, folded where they are many."""
    value = field.value
    entries = [(str(key), item) for key, item in value.items()] if isinstance(value, dict) else [("", item) for item in value]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and len(value[0]) <= room and "\n" not in value[0]:
        page.add(*head, (sanitize(value[0]), tokens.STRING, ref))
        return
    noun = ("entry", "entries") if isinstance(value, dict) else ("item", "items")
    what = fmt.plural(len(entries), *noun)
    if field.name in found.same_configs:
        what += f", the same as in [{found.first}]"
    elif field.group == CONFIG and found.first and isinstance(value, dict):
        what += f", not the same as in [{found.first}]: see the metrics of the run"
    page.open(field.name, folded=len(entries) > ITEMS_SHOWN or isinstance(value, dict))
    page.add(*head, (fmt.clip(what, room), tokens.STRING, ref))
    add_entries(page, entries, "      ")
    page.close()


def add_entries(page: Page, entries: Sequence[tuple[str, Any]], indent: str) -> None:
    """Keys and values; items of a list as they are, texts of several lines with their lines."""
    width = min(max((len(key) for key, _ in entries), default=0), max(page.width // 2 - len(indent), 16))
    for key, item in entries[:ENTRIES_SHOWN]:
        if _has_lines(item):
            _lines(page, key, item, indent)
        elif not key:
            page.say(sanitize(item if isinstance(item, str) else as_json(item)), indent)
        else:
            name = page.clip_middle(sanitize(key), width)
            lines = fmt.wrap(sanitize(as_json(item)), page.width - len(indent) - width - 2) or [""]
            for n, line in enumerate(lines):
                page.add(indent, (name.ljust(width) if n == 0 else " " * width, tokens.KEY if n == 0 else ""), "  ", line)
    if len(entries) > ENTRIES_SHOWN:
        page.add(indent, (f"and {fmt.count(len(entries) - ENTRIES_SHOWN)} more", tokens.DIM))


def _has_lines(item: Any) -> bool:
    """Whether it is a text of several lines, or a list or an object of such texts."""
    if isinstance(item, str):
        return "\n" in item
    return isinstance(item, (list, dict)) and any(
        _has_lines(part) for part in (item.values() if isinstance(item, dict) else item) if isinstance(part, (str, list))
    )


def _lines(page: Page, key: str, item: Any, indent: str) -> None:
    if isinstance(item, dict):
        for name, part in item.items():
            _lines(page, str(name), part, indent)
        return
    if key:
        page.add(indent, (key, tokens.KEY))
        indent += "  "
    for text in item if isinstance(item, list) else [item]:
        for line in (text if isinstance(text, str) else as_json(text)).strip("\n").split("\n"):
            page.add(indent, line)
