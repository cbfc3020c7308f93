"""The page `metrics`: the fields of one record, and differences, sums and values over a run."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table, to_page
from tltui.documents.rank_groups import alike_on_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.ref import parse_ref, ranges
from tltui.model.run import Run
from tltui.questions.index import BY_NAME
from tltui.questions.metrics.metric_sums import (
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
    VERSIONS,
    CompileMetrics,
    Field,
    MetricsRecord,
    RunMetrics,
    Setting,
    Total,
    Variant,
    about,
    metrics_of,
    run_metrics,
)
from tltui.questions.question import Question
from tltui.questions.stacks.tracebacks import display_code
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short
from tltui.trace.grammar import number

EVENTS = {
    "compilation_metrics": "Forward",
    "bwd_compilation_metrics": "Backward, compiled later",
    "aot_autograd_backward_compilation_metrics": "Backward, compiled later",
    "compilation_metrics_runtime": "At run time",
    "bwd_compilation_metrics_runtime": "Backward at run time",
}
UNKNOWN = "unknown to this version of tltui"
ITEMS_SHOWN = 3
ENTRIES_SHOWN = 2000


def add_record(page: Page, compile_metrics: CompileMetrics, record: MetricsRecord) -> None:
    """Add a record as a section; fields without a value are folded at its end."""
    page.heading(EVENTS.get(record.event, record.event))
    page.add("  ", (fmt.clip_middle(record.ref, page.width - 2), tokens.LINK, record.ref))
    if not record.fields:
        page.say("The record is damaged: its fields cannot be read.", "  ", tokens.WARN)
        return
    fields = [field for field in record.fields if field.value is not None]
    width = min(max((len(field.name) for field in fields), default=0), max(page.width // 2 - 4, 20))
    for group in GROUPS:
        members = [field for field in fields if field.group == group and field.name not in COPIES]
        if members:
            title = UNKNOWN if group == OTHER else group
            page.open(title)
            page.add("  ", (title, tokens.LABEL))
            for field in members:
                _field(page, field, record.ref, width, compile_metrics)
            page.close()
    copies = [field for field in fields if field.name in COPIES]
    if copies:
        title = f"{fmt.plural(len(copies), 'copy', 'copies')} of these fields in other units"
        with page.fold(title):
            for field in copies:
                _field(page, field, record.ref, width, compile_metrics)
    add_names(page, [field.name for field in record.fields if field.value is None], "without a value")


def add_meanings(page: Page, names: Sequence[str]) -> None:
    """Add folded explanations of fields with misleading names."""
    meanings = [(name, about(name).help) for name in dict.fromkeys(names) if about(name).help]
    if not meanings:
        return
    page.heading("What the fields mean", folded=True)
    for name, meaning in meanings:
        page.row([(name, tokens.NAME), f"  {meaning}"])


def add_names(page: Page, names: Sequence[str], suffix: str) -> None:
    """Add names of fields, folded."""
    if not names:
        return
    with page.fold(f"{fmt.plural(len(names), 'field')} {suffix}"):
        page.say(", ".join(names), "    ", tokens.DIM)


def _field(page: Page, field: Field, ref: str, width: int, compile_metrics: CompileMetrics) -> None:
    name = page.clip_middle(sanitize(field.name), width)
    head: list[Piece] = ["    ", (name, tokens.NAME), " " * (width - len(name)), "  "]
    room = page.width - width - 6
    if isinstance(field.value, (dict, list)) and field.value:
        _container(page, head, field, ref, room, compile_metrics)
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
    """Format a value: `8.99 s`, `58 µs`, `25.6 KB`, `true`."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, (int, float)):
        return number_text(value, unit)
    return as_json(value)


def number_text(value: float, unit: str) -> str:
    """Format a number in its unit."""
    if number(value) is None:  # NaN, 1e308, 10**400: no arithmetic with them
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
    """Return the number in torch's notation if it differs; else ''."""
    if not number(value):
        return ""
    return str(value) if unit in TO_SECONDS or unit in (EPOCH_S, EPOCH_US, BYTES) else ""


def as_json(value: Any) -> str:
    """Format any value as one line of JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "(nested too deeply)"


def _long_text(page: Page, head: list[Piece], field: Field, ref: str, room: int) -> None:
    """Add the first line next to the name, and the complete text folded below."""
    lines = [line for part in field.value.split("\n") for line in fmt.wrap(part, page.width - 6)]
    first = sanitize(fmt.one_line(field.value))
    page.open(field.name, folded=True)
    page.add(*head, (fmt.clip(first, room), tokens.STRING, ref))
    for line in lines[:ENTRIES_SHOWN]:
        page.add("      ", line)
    page.close()


def _container(page: Page, head: list[Piece], field: Field, ref: str, room: int, compile_metrics: CompileMetrics) -> None:
    """Add a list or an object: the number of entries, then the entries, folded if there are many."""
    value = field.value
    entries = [(str(key), item) for key, item in value.items()] if isinstance(value, dict) else [("", item) for item in value]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and len(value[0]) <= room and "\n" not in value[0]:
        page.add(*head, (sanitize(value[0]), tokens.STRING, ref))
        return
    noun = ("entry", "entries") if isinstance(value, dict) else ("item", "items")
    text = fmt.plural(len(entries), *noun)
    if field.name in compile_metrics.same_configs:
        text += f", the same as in [{compile_metrics.first_ref}]"
    elif field.group == CONFIG and compile_metrics.first_ref and isinstance(value, dict):
        text += f", different from [{compile_metrics.first_ref}]: see the metrics of the run"
    page.open(field.name, folded=len(entries) > ITEMS_SHOWN or isinstance(value, dict))
    page.add(*head, (fmt.clip(text, room), tokens.STRING, ref))
    add_entries(page, entries, "      ")
    page.close()


def add_entries(page: Page, entries: Sequence[tuple[str, Any]], indent: str) -> None:
    """Add keys and values; items of a list without keys, multi-line texts with their lines."""
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
    """Return whether a value is a multi-line text, or a list or an object of such texts."""
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


COMPILES_SHOWN = 8
COMPILES_FOLDED = 500
SETTINGS_SHOWN = 30


def _metrics(ref: str) -> str:
    return str(parse_ref(ref).at("metrics"))


def add_list(page: Page, measured: Sequence[Compile]) -> None:
    """Add the compiles with links to their metrics, slowest first; of several ranks the slowest one."""
    page.heading("Every field, by compile")
    slow = sorted(measured, key=lambda c: -c.compile_s)
    groups = alike_on_ranks(slow, lambda c: str(c.ref), page.newest, lambda c: c.frame.code)
    page.table(COMPILES, groups)


def _place(group: Sequence[Compile]) -> Piece:
    _, file, line = display_code(group[0].frame)
    return (fmt.place(file, line), tokens.LINK, fmt.place_target(file, line)) if file else ""


COMPILES: Table[Sequence[Compile]] = Table((
    Column("compile", lambda group: (f"[{group[0].ref}]", tokens.LINK, _metrics(str(group[0].ref)))),
    Column("function", lambda group: (fmt.clip_middle(sanitize(display_code(group[0].frame)[0] or ""), 40), tokens.FUNCTION),
           sort="name", key=lambda group: short(display_code(group[0].frame)[0] or "")),
    Column("line", _place),
    Column("time", lambda group: (fmt.from_to([compile_.compile_s for compile_ in group]), tokens.NUMBER, str(group[0].ref)),
           right=True, sort="time"),
    Column("ranks", lambda group: (fmt.count(len(group)), tokens.DIM), right=True,
           when=lambda groups: any(len(group) > 1 for group in groups)),
), "compiles", COMPILES_SHOWN, COMPILES_FOLDED, order="time")  # fmt: skip


def add_differences(page: Page, metrics: RunMetrics) -> None:
    """Add settings and versions that differ between records."""
    versions = [text for text in metrics.texts if text.name in VERSIONS and len(text.values) > 1]
    settings = [*versions, *metrics.settings]
    page.heading(f"Settings that differ ({fmt.count(len(settings))})" if settings else "Settings")
    if settings:
        for setting in settings[:SETTINGS_SHOWN]:
            _setting(page, setting)
        if len(settings) > SETTINGS_SHOWN:
            with page.fold(f"{fmt.count(len(settings) - SETTINGS_SHOWN)} more"):
                for setting in settings[SETTINGS_SHOWN:]:
                    _setting(page, setting)
    elif metrics.configs:
        page.say(page.so_far("The recorded versions and settings never differ."), "  ")
    else:
        page.say("The metrics of this torch version have no configurations.", "  ")
    if metrics.configs:
        page.say("It is unknown which settings the job changed: the log does not have torch's defaults.", "  ", tokens.DIM)


def _setting(page: Page, setting: Setting) -> None:
    name = f"{setting.config}.{setting.name}" if setting.config else setting.name
    page.add("  ", (fmt.clip_middle(sanitize(name), page.width - 2), tokens.STRONG))
    for value in setting.values:
        _variant(page, value, "    ")


def _variant(page: Page, value: Variant, indent: str) -> None:
    """Add a value: `value  12 records · ranks 0, 1 · first in [0:0/0]`."""
    where = fmt.plural(value.count, "record")
    if len(value.ranks) > 1 or value.ranks not in ((), (None,)):
        names = ranges(rank for rank in value.ranks if rank is not None)
        on_ranks = f"rank{'s' * (len(value.ranks) > 1)} {names}" if names else ""
        where += "".join(f", {who}" for who in (on_ranks, "no rank" if None in value.ranks else "") if who)
    text = _text(value)
    tail: list[Piece] = ["  ", (where, tokens.DIM), "  first in ", (f"[{value.first_ref}]", tokens.LINK, _metrics(value.first_ref))]
    room = page.width - len(indent) - len(where) - len(value.first_ref) - 15
    if len(text) <= room and "\n" not in text:
        page.add(indent, (sanitize(text), tokens.STRING), *tail)
        return
    page.open(fmt.clip(sanitize(fmt.one_line(text)), 60), folded=True)
    room -= len(fmt.ALL) + 2
    page.add(indent, (fmt.clip(sanitize(fmt.one_line(text)), max(room, 12)), tokens.STRING), *tail)
    for line in text.split("\n"):
        page.say(sanitize(line), indent + "  ", tokens.DIM)
    page.close()


def _text(value: Variant) -> str:
    return (value.value or "(empty)") if isinstance(value.value, str) else as_json(value.value)


def add_texts(page: Page, metrics: RunMetrics) -> None:
    """Add the values of fields that are no numbers."""
    texts = [text for text in metrics.texts if not (text.name in VERSIONS and len(text.values) > 1)]
    if not texts:
        return
    page.heading("Values")
    for text in texts:
        if len(text.values) == 1 and not _is_long(text.values[0], page.width):
            value = text.values[0]
            page.row([
                (text.name, tokens.NAME), "  ", (sanitize(_text(value)), tokens.STRING, _metrics(value.first_ref)),
                (f"  {fmt.plural(value.count, 'record')}", tokens.DIM),
            ])  # fmt: skip
            continue
        page.add("  ", (fmt.clip_middle(sanitize(text.name), page.width - 2), tokens.NAME))
        for value in text.values:
            _variant(page, value, "    ")


def _is_long(value: Variant, width: int) -> bool:
    text = _text(value)
    return len(text) > width // 2 or "\n" in text


def add_totals(page: Page, metrics: RunMetrics) -> None:
    """Add sums and extremes by group."""
    shown = [total for total in metrics.totals if total.unit not in (EPOCH_S, EPOCH_US)]
    if not shown:
        return
    page.heading("Numbers")
    page.say("Times are nested (duration > dynamo > aot_autograd > inductor > code_gen > triton): do not add them up.", "  ",
             tokens.DIM)  # fmt: skip
    for group in GROUPS:
        members = [total for total in shown if total.group == group and total.name not in COPIES and (total.max or total.min)]
        if not members:
            continue
        title = UNKNOWN if group == OTHER else group
        page.open(title)
        page.add("  ", (title, tokens.LABEL))
        page.table(TOTALS, members)
        page.close()
    zero = [total.name for total in shown if not total.max and not total.min]
    add_names(page, zero, "that are always 0")


def _amount(total: Total, amount: float | None) -> Piece:
    return (number_text(amount, total.unit) if amount is not None else "", tokens.NUMBER, _metrics(total.max_ref))


def _descending(total: Total, amount: float) -> tuple[int, float]:
    """Return what numbers are sorted by: times first, then bytes, then counts, the largest first."""
    kind = 0 if total.unit in TO_SECONDS else 1 if total.unit == BYTES else 2
    return kind, -amount * TO_SECONDS.get(total.unit, 1.0)


TOTALS: Table[Total] = Table((
    Column("field", lambda total: (total.name, tokens.NAME), sort="name", key=lambda total: total.name),
    Column("sum", lambda total: _amount(total, total.sum), right=True, sort="sum",
           key=lambda total: _descending(total, total.sum or 0.0)),
    Column("records", lambda total: (fmt.count(total.count), tokens.DIM), right=True, sort="records",
           key=lambda total: -total.count),
    Column("max", lambda total: _amount(total, total.max), right=True, sort="max",
           key=lambda total: _descending(total, total.max)),
    Column("max in", lambda total: (f"[{total.max_ref}]", tokens.LINK, _metrics(total.max_ref))),
), indent="    ", order="group")  # fmt: skip


def add_configs(page: Page, metrics: RunMetrics) -> None:
    """Add the complete configurations, folded."""
    if not metrics.configs:
        return
    page.heading("Configurations")
    for config in metrics.configs:
        entries = list(config.values.items()) if isinstance(config.values, dict) else [("", config.values)]
        text = f"{config.name}: {fmt.plural(len(entries), 'entry', 'entries')}"
        text += "" if config.variants == 1 else f", one of {config.variants} variants"
        page.open(text, folded=True)
        page.add("  ", (text, tokens.STRONG), ", from ", (f"[{config.ref}]", tokens.LINK, _metrics(config.ref)))
        add_entries(page, [(str(key), value) for key, value in entries], "    ")
        page.close()


def add_empty(page: Page, names: Sequence[str], suffix: str) -> None:
    """Add fields without a value in any record."""
    if names:
        page.blank()
    add_names(page, names, suffix)


SYMBOLS_SHOWN = 100


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `metrics` for the scope."""

    def fill(page: Page) -> Generator[None, None, CompileMetrics | RunMetrics]:
        if scope.ref.id is not None and not scope.ref.is_frame and scope.compiles:
            return _compile(page, run, scope.compiles[0])
        return (yield from _fill(page, scope))

    return GrowingDocument(scope.page("metrics"), f"metrics{scope.title}", options, fill, Page)


def _compile(page: Page, run: Run, compile_: Compile) -> CompileMetrics:
    first = next((c for c in run.compiles() if c.metrics), None)
    metrics = metrics_of(compile_, first)
    page.add(("Metrics", tokens.TITLE), " of ", (f"[{metrics.ref}]", tokens.LINK, metrics.ref))
    name, file, line = display_code(compile_.frame)
    words: list[Piece] = []
    if name:
        words += [(fmt.clip_middle(sanitize(name), 40), tokens.FUNCTION), page.place(file, line)]
    words.append(fmt.plural(len(metrics.records), "record"))
    page.joined(words)
    if not metrics.records:
        page.blank()
        page.say(_no_metrics(compile_, page.goes_on))
    for record in metrics.records:
        add_record(page, metrics, record)
    _symbols(page, metrics)
    add_meanings(page, [field.name for record in metrics.records for field in record.fields if field.value is not None])
    return metrics


def _no_metrics(compile_: Compile, goes_on: str) -> str:
    if not compile_.is_compile:
        return "Records without a frame id have no metrics. Torch writes metrics when the compile of a frame ends."
    if goes_on:
        return f"No metrics yet: torch writes them when a compile ends, and {goes_on}."
    return (
        "No metrics. Torch writes metrics as the last record of a compile. This compile is still running, was killed, or the log "
        "was cut off."
    )


def _symbols(page: Page, compile_metrics: CompileMetrics) -> None:
    """Add specializations and guards on symbols, which tlparse shows with the metrics."""
    if not compile_metrics.specializations and not compile_metrics.guards_added:
        return
    page.heading("Symbols")
    for item in compile_metrics.specializations[:SYMBOLS_SHOWN]:
        text = f"{item.symbol} = {item.value}"
        page.row([
            (text, tokens.WARN, item.record), "  ", (", ".join(item.sources), tokens.NAME),
            (f"  specialized: {item.reason}" if item.reason else "  specialized", tokens.DIM),
        ])  # fmt: skip
    for guard in compile_metrics.guards_added[:SYMBOLS_SHOWN]:
        page.row([(guard.expression, tokens.NAME, guard.record), ("  guard added", tokens.DIM)])
    left = sum(max(len(items) - SYMBOLS_SHOWN, 0) for items in (compile_metrics.specializations, compile_metrics.guards_added))
    if left:
        page.add("  ", (f"and {fmt.count(left)} more", tokens.DIM))
    if "shapes" in BY_NAME:
        page.add("  details: ", to_page("shapes", f"@shapes:{compile_metrics.ref}"))


def _fill(page: Page, scope: Scope) -> Generator[None, None, RunMetrics]:
    ref = str(scope.ref)
    part: list[Piece] = [" of ", (f"[{ref}]", tokens.LINK, ref)] if ref else []
    page.add(("Metrics", tokens.TITLE), *part)
    measured = [compile_ for compile_ in scope.compiles if compile_.metrics]
    real = sum(compile_.is_compile for compile_ in scope.compiles)
    words: list[Piece] = [f"{fmt.count(len(measured))} of {fmt.plural(real, 'compile')} with metrics"]
    page.joined([*words, fmt.plural(sum(len(c.metrics) for c in measured), "record")])
    page.more("everything below is preliminary")
    if not measured:
        page.blank()
        page.say("Torch writes metrics when the compile of a frame ends. " + page.so_far(
                 "No compile has ended, or the run compiles no frames, like torch.export and AOTInductor."))  # fmt: skip
    else:
        add_list(page, measured)
    yield
    results = yield from run_metrics(ref, scope.compiles)
    if measured:
        add_differences(page, results)
        add_texts(page, results)
        add_totals(page, results)
        add_configs(page, results)
        if not page.goes_on:
            add_empty(page, results.empty, "without a value in any record")
        add_meanings(page, [total.name for total in results.totals])
    return results


@frozen
class MetricRow:
    """A field of a metrics record, for one compile; for several: a number over all records that have it."""

    ref: str
    """The address of the record; of several that of the one with the most."""
    name: str
    """The field, as torch calls it."""
    group: str
    """The group of the field."""
    unit: str
    """Its unit: `s`, `us`, `ns`, `bytes` …; empty for a count or a word."""
    count: int
    """Records that have it."""
    sum: float | None
    """The sum; None if not numeric, or if a sum has no meaning."""
    min: float | None
    """The lowest value; None if not numeric."""
    max: float | None
    """The highest value; None if not numeric."""
    text: str | None
    """A value that is not numeric, as JSON; None for several records."""


def metric_rows(data: RunMetrics | CompileMetrics) -> Iterator[MetricRow]:
    """Yield one row per field or total."""
    if isinstance(data, RunMetrics):
        for total_ in data.totals:
            yield MetricRow(total_.max_ref, total_.name, total_.group, total_.unit, total_.count, total_.sum, total_.min,
                            total_.max, None)  # fmt: skip
        return
    for record in data.records:
        for field in record.fields:
            value = field.value
            number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
            text = None if number is not None else value if isinstance(value, str) else json.dumps(value)
            yield MetricRow(record.ref, field.name, field.group, field.unit, 1, number, number, number, text)


QUESTION = Question(
    name="metrics",
    help="every field of the compilation metrics; settings that differ between compiles or ranks",
    group="look at a run",
    order=690,
    sorts=("group", "sum", "records", "max", "time", "name"),
    needs=Needs("does not have compilation metrics"),
    document=document,
    answer=RunMetrics | CompileMetrics,
    rows=MetricRow,
    records=metric_rows,
    doc="""
    All fields of the metrics. For one compile a row per field; for several a row per number, with sum, minimum and maximum.
    """,
)
