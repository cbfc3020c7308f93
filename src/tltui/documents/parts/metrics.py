"""Sections of the metrics of a run: what differs, the sums, the values, the configurations."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.metrics.fields import COPIES, EPOCH_S, EPOCH_US, GROUPS, OTHER, VERSIONS
from tltui.analyses.metrics.metrics import RunMetrics, Setting, Total, Variant
from tltui.analyses.ranks.ranges import ranges
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.metric_record import UNKNOWN, add_entries, add_names, as_json, number_text
from tltui.documents.parts.on_ranks import alike_on_ranks
from tltui.model.nodes import Compile
from tltui.model.ref import parse_ref
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

COMPILES_SHOWN = 8
COMPILES_FOLDED = 500
SETTINGS_SHOWN = 30


def _metrics(ref: str) -> str:
    return str(parse_ref(ref).at("metrics"))


def add_list(page: Page, measured: Sequence[Compile]) -> None:
    """The compiles, each with a link to its own metrics; the slowest first, of several ranks that of the slowest."""
    page.heading("Every field, by compile")
    slow = sorted(measured, key=lambda c: -c.tally.seconds)
    groups = alike_on_ranks(slow, lambda c: str(c.ref), page.newest, lambda c: c.frame.code)
    rows: list[list[Piece]] = []
    for own in groups[: COMPILES_SHOWN + COMPILES_FOLDED]:
        slowest = str(own[0].ref)
        name, file, line = own[0].frame.code
        rows.append([
            (f"[{slowest}]", tokens.LINK, _metrics(slowest)), (fmt.clip_middle(sanitize(name or ""), 40), tokens.FUNCTION),
            (fmt.place(file, line), tokens.LINK, fmt.place_target(file, line)) if file else "",
            (fmt.from_to([compile_.tally.seconds for compile_ in own]), tokens.NUMBER, slowest),
            *([(f"{fmt.count(len(own))} ranks", tokens.DIM)] if len(own) > 1 else []),
        ])  # fmt: skip
    left = sum(map(len, groups[COMPILES_SHOWN:]))
    more = f"{fmt.count(left)} more compiles"
    if len(groups) > len(rows):
        more += f", {fmt.count(sum(map(len, groups[COMPILES_SHOWN : len(rows)])))} of them here"
    page.grid(rows, right=(3,), shown=COMPILES_SHOWN if len(groups) > COMPILES_SHOWN + 2 else -1, more=more)


def add_differences(page: Page, found: RunMetrics) -> None:
    """Settings and versions that are not the same in all records."""
    versions = [text for text in found.texts if text.name in VERSIONS and len(text.values) > 1]
    settings = [*versions, *found.settings]
    page.heading(f"Settings that differ ({fmt.count(len(settings))})" if settings else "Settings")
    if settings:
        for setting in settings[:SETTINGS_SHOWN]:
            _setting(page, setting)
        if len(settings) > SETTINGS_SHOWN:
            what = f"{fmt.count(len(settings) - SETTINGS_SHOWN)} more"
            page.open(what, folded=True)
            page.add("  ", (what, tokens.DIM))
            for setting in settings[SETTINGS_SHOWN:]:
                _setting(page, setting)
            page.close()
    elif found.configs:
        page.say(f"The {fmt.plural(len(found.configs), 'configuration')} and the versions are the same in all records.", "  ")
    else:
        page.say("The metrics of this torch hold no configurations.", "  ")
    if found.configs:
        page.say("Which of them the job changed can't be told: the log does not hold torch's defaults.", "  ", tokens.DIM)


def _setting(page: Page, setting: Setting) -> None:
    name = f"{setting.where}.{setting.name}" if setting.where else setting.name
    page.add("  ", (fmt.clip_middle(sanitize(name), page.width - 2), tokens.STRONG))
    for value in setting.values:
        _variant(page, value, "    ")


def _variant(page: Page, value: Variant, indent: str) -> None:
    """`value  12 records · ranks 0, 1 · first in [0:0/0]`"""
    where = fmt.plural(value.count, "record")
    if len(value.ranks) > 1 or value.ranks not in ((), (None,)):
        names = ranges(rank for rank in value.ranks if rank is not None)
        named = f"rank{'s' * (len(value.ranks) > 1)} {names}" if names else ""
        where += "".join(f", {who}" for who in (named, "no rank" if None in value.ranks else "") if who)
    text = _text(value)
    tail: list[Piece] = ["  ", (where, tokens.DIM), "  ", (f"[{value.first}]", tokens.LINK, _metrics(value.first))]
    room = page.width - len(indent) - len(where) - len(value.first) - 6
    if len(text) <= room and "\n" not in text:
        page.add(indent, (sanitize(text), tokens.STRING), *tail)
        return
    page.open(fmt.clip(sanitize(fmt.one_line(text)), 60), folded=True)
    page.add(indent, (fmt.clip(sanitize(fmt.one_line(text)), max(room, 12)), tokens.STRING), *tail)
    for line in text.split("\n"):
        page.say(sanitize(line), indent + "  ", tokens.DIM)
    page.close()


def _text(value: Variant) -> str:
    return (value.value or "(empty)") if isinstance(value.value, str) else as_json(value.value)


def add_texts(page: Page, found: RunMetrics) -> None:
    """Values of fields that are no numbers."""
    texts = [text for text in found.texts if not (text.name in VERSIONS and len(text.values) > 1)]
    if not texts:
        return
    page.heading("Values")
    for text in texts:
        if len(text.values) == 1 and not _is_long(text.values[0], page.width):
            value = text.values[0]
            page.row([
                (text.name, tokens.NAME), "  ", (sanitize(_text(value)), tokens.STRING, _metrics(value.first)),
                (f"  {fmt.plural(value.count, 'record')}", tokens.DIM),
            ])  # fmt: skip
            continue
        page.add("  ", (fmt.clip_middle(sanitize(text.name), page.width - 2), tokens.NAME))
        for value in text.values:
            _variant(page, value, "    ")


def _is_long(value: Variant, width: int) -> bool:
    text = _text(value)
    return len(text) > width // 2 or "\n" in text


def add_totals(page: Page, found: RunMetrics) -> None:
    """Sums and extremes by group."""
    shown = [total for total in found.totals if total.unit not in (EPOCH_S, EPOCH_US)]
    if not shown:
        return
    page.heading("Numbers")
    page.say("Times hold each other (duration > dynamo > aot_autograd > inductor > code_gen > triton) and can't be added.", "  ",
             tokens.DIM)  # fmt: skip
    for group in GROUPS:
        members = [total for total in shown if total.group == group and total.name not in COPIES and (total.most or total.least)]
        if not members:
            continue
        title = UNKNOWN if group == OTHER else group
        page.open(title)
        page.add("  ", (title, tokens.LABEL))
        page.grid([_labels("field", "sum", "records", "most", ""), *map(_total, members)], "    ", right=(1, 2, 3))
        page.close()
    zero = [total.name for total in shown if not total.most and not total.least]
    add_names(page, zero, "with nothing but 0")


def _labels(*names: str) -> list[Piece]:
    return [(name, tokens.LABEL) for name in names]


def _total(total: Total) -> list[Piece]:
    target = _metrics(total.most_ref)
    return [
        (total.name, tokens.NAME),
        (number_text(total.sum, total.unit) if total.sum is not None else "", tokens.NUMBER, target),
        (fmt.count(total.count), tokens.DIM),
        (number_text(total.most, total.unit), tokens.NUMBER, target),
        (f"[{total.most_ref}]", tokens.LINK, target),
    ]


def add_configs(page: Page, found: RunMetrics) -> None:
    """The whole configurations, folded."""
    if not found.configs:
        return
    page.heading("Configurations")
    for config in found.configs:
        entries = list(config.values.items()) if isinstance(config.values, dict) else [("", config.values)]
        what = f"{config.name}: {fmt.plural(len(entries), 'entry', 'entries')}"
        what += "" if config.variants == 1 else f", {config.variants} variants, this one"
        page.open(what, folded=True)
        page.add("  ", (what, tokens.STRONG), " of ", (f"[{config.ref}]", tokens.LINK, _metrics(config.ref)))
        add_entries(page, [(str(key), value) for key, value in entries], "    ")
        page.close()


def add_empty(page: Page, names: Sequence[str], what: str) -> None:
    """Fields without a value anywhere."""
    if names:
        page.blank()
    add_names(page, names, what)
