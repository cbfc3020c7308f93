"""`tltui config`: each setting, its value, and its origin."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal

from tltui.cli.exits import Failure
from tltui.cli.options import add_json, add_output, add_text
from tltui.cli.parser import Command, argument
from tltui.cli.printing import as_json, as_text, layout
from tltui.documents.envelope import envelope
from tltui.settings import BY_VARIABLE, OF_FILE, PREFIX, SETTINGS, Setting, checked, said_by
from tltui.text import tokens
from tltui.text.frozen import frozen

if TYPE_CHECKING:
    from tltui.config import Config
    from tltui.documents.page import Page
    from tltui.text.document import Document, Options

EXAMPLES = """\
Precedence: option, environment variable, config file, default. KEY is a setting (theme), a variable (TLTUI_WORKERS) or a command
of the key map (app.leave). With --theme, --no-mouse or --ascii, the output shows the effect of the option.

examples:
  tltui config
  tltui config theme
  tltui config --keys
  tltui config --json
"""
Source = Literal["default", "file", "variable", "option"]


@frozen
class SettingRow:
    """A setting, and its effective value."""

    name: str
    """In the config file; `""` if only a variable sets it."""
    variable: str
    option: str
    """`""` where there is none."""
    value: str | bool | int | dict[str, tuple[str, ...]] | None
    """null: determined when needed. Of `keys`: command → keys that differ from the defaults."""
    default: str | bool | int | None
    source: Source
    place: str
    """FILE:LINE, `$VARIABLE` or the option; `""` for a default."""
    help: str
    internal: bool
    """Whether tltui sets it itself, for processes that it starts."""


@frozen
class KeyRow:
    """A command of the terminal UI, and its keys."""

    command: str
    where: str
    """Where it works."""
    keys: tuple[str, ...]
    default: tuple[str, ...]
    source: Source
    place: str
    title: str


@frozen
class Paths:
    """The paths of tltui's files, which may not exist."""

    config: str
    has_config: bool
    cache: str
    state: str


@frozen
class ConfigReport:
    """The effective settings and keys."""

    paths: Paths
    settings: tuple[SettingRow, ...]
    keys: tuple[KeyRow, ...]
    problems: tuple[str, ...]
    """Errors in the file, in variables and in the key map, one sentence each."""


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    overrides = {"theme": options.theme, "mouse": False if options.no_mouse else None, "ascii": options.ascii}
    current = report({name: value for name, value in overrides.items() if value is not None}, os.environ)
    options.ascii = next(row.value for row in current.settings if row.name == "ascii")
    if options.key:
        current = _only(current, options.key)
    if options.json:
        yield from as_json(envelope("config", "", "", current))
    else:
        yield from as_text(_document(current, layout(options), options.keys, options.key or ""), options)


def report(overrides: Mapping[str, object], environment: Mapping[str, str]) -> ConfigReport:
    """Return the settings with these options (setting → value) in this environment. Raises `Failure`."""
    from tltui.commands import BY_ID, keymap_problems
    from tltui.config import cache_path, config_path, read_config, state_path

    for name, value in overrides.items():
        try:
            checked(OF_FILE[name], value)
        except ValueError as bad:
            choices = OF_FILE[name].choices
            advice = f"use one of {', '.join(choices)}" if choices else str(bad)
            raise Failure(f"invalid value of {OF_FILE[name].option}: '{value}'", advice) from None
    path = config_path()
    config = read_config(BY_ID, path)
    rows = tuple(_row(setting, config, overrides, environment) for setting in SETTINGS)
    problems = (*config.problems, *keymap_problems(config.keys), *_unknown(environment))
    paths = Paths(str(path), path.is_file(), str(cache_path()), str(state_path()))
    return ConfigReport(paths, rows, tuple(_keys(config)), problems)


def _row(setting: Setting, config: Config, overrides: Mapping[str, object], environment: Mapping[str, str]) -> SettingRow:
    place, value = "", setting.default
    if setting.name in overrides:
        value, place = overrides[setting.name], setting.option  # type: ignore[assignment]
    elif setting.name == "keys":
        value, place = config.keys, ", ".join(dict.fromkeys(config.places[name] for name in config.keys))  # type: ignore[assignment]
    elif setting.name:
        value, place = getattr(config, setting.name), config.places.get(setting.name, "")
    elif (set_value := said_by(environment, setting.variable)) is not None:
        value, place = set_value, f"${setting.variable}"  # type: ignore[assignment]
    return SettingRow(
        setting.name, setting.variable, setting.option, value, setting.default, _source(place), place, setting.help,
        setting.is_internal,
    )  # fmt: skip


def _source(place: str) -> Source:
    if not place:
        return "default"
    return "option" if place.startswith("--") else "variable" if place.startswith("$") else "file"


def _keys(config: Config) -> Iterator[KeyRow]:
    from tltui.commands import COMMANDS

    for command in COMMANDS:
        place = config.places.get(command.id, "")
        keys = config.keys.get(command.id, command.keys)
        yield KeyRow(command.id, command.where.value, keys, command.keys, _source(place), place, command.title)


def _unknown(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield unknown variables with our prefix, probably misspelt."""
    from difflib import get_close_matches

    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in BY_VARIABLE:
            near = get_close_matches(name, BY_VARIABLE, 1)
            yield f"{name}: unknown variable{f'; did you mean {near[0]}?' if near else ''}"


def _only(current: ConfigReport, key: str) -> ConfigReport:
    """Restrict a report to one setting, variable or command. Raises `Failure`."""
    from dataclasses import replace
    from difflib import get_close_matches

    settings = tuple(row for row in current.settings if key in (row.name, row.variable))
    keys = tuple(row for row in current.keys if row.command == key)
    if not (settings or keys):
        names = [*OF_FILE, *BY_VARIABLE, *(row.command for row in current.keys)]
        near = get_close_matches(key, names, 1)
        lists = "tltui config lists the settings, tltui config --keys the commands"
        raise Failure(f"unknown setting, variable or command: '{key}'", f"did you mean {near[0]}?" if near else lists)
    called = {key, *(name for row in settings for name in (row.name, row.variable) if name)}
    of_file = f"{current.paths.config}: "  # none of its settings holds then
    problems = tuple(line for line in current.problems if line.startswith(of_file) or any(f"{name}:" in line for name in called))
    return replace(current, settings=settings, keys=keys, problems=problems)


def _document(current: ConfigReport, options: Options, all_keys: bool, key: str) -> Document:
    from tltui.documents.page import Page

    page = Page("@config", "settings", options)
    if not key and not all_keys:
        page.heading("Files")
        page.labelled("config", current.paths.config + ("" if current.paths.has_config else "  (does not exist: defaults apply)"))
        page.labelled("cache", current.paths.cache)
        page.labelled("state", current.paths.state)
    if current.settings and not all_keys:
        _add_settings(page, "Settings", [row for row in current.settings if row.name])
        _add_settings(page, "Only as variables", [row for row in current.settings if not row.name and (key or not row.internal)])
        if os.environ.get("NO_COLOR") and any(row.name == "theme" and row.source != "option" for row in current.settings):
            page.say("NO_COLOR is set, so the theme is mono unless --theme is given.", "  ", tokens.WARN)
    keys = [row for row in current.keys if key or all_keys or row.source != "default"]
    if keys:
        page.heading("Keys" if key or all_keys else "Keys that you set")
        _add_keys(page, keys)
    if current.problems:
        page.heading("Problems")
        for problem in current.problems:
            page.say(problem, "  ", tokens.WARN, "    ")
    return page.document()


def _add_settings(page: Page, heading: str, rows: list[SettingRow]) -> None:
    """Add value and origin of each setting, and its help below."""
    if not rows:
        return
    page.heading(heading)
    for row in rows:
        place = (row.place or "default") + ("; set by tltui itself" if row.internal else "")
        names = f"${row.variable}" + (f", {row.option}" if row.option else "")
        page.row([(f"{row.name or row.variable} = ", tokens.LABEL), _shown(row), f"   ({place})"])
        page.say(row.help + (f"; {names}" if row.name else ""), "      ", tokens.DIM)


def _shown(row: SettingRow) -> str:
    """Return the value in the file's notation."""
    if row.name == "keys":
        return f"{len(row.value)} commands" if isinstance(row.value, dict) and row.value else "the defaults"
    if row.value is None:
        return "not set"
    return str(row.value).lower() if isinstance(row.value, bool) else str(row.value)


def _add_keys(page: Page, rows: list[KeyRow]) -> None:
    where = ""
    for row in rows:
        if row.where != where:
            where = row.where
            page.add("  ", (where, tokens.LABEL))
        keys = " ".join(row.keys) or "(no key)"
        before = f"   ({row.place}; by default {' '.join(row.default) or 'none'})" if row.source != "default" else ""
        page.row([(f"{row.command:<28}", ""), (keys, tokens.KEYWORD), f"  {row.title}", (before, tokens.DIM)], "    ")


COMMANDS = {
    "config": Command(run, (
        argument("key", nargs="?", metavar="KEY", help="only this setting, variable or command of the key map"),
        argument("--keys", action="store_true", help="print the whole key map"),
        argument("--theme", metavar="NAME", help="show the settings with --theme NAME applied"),
        argument("--no-mouse", action="store_true", default=None, help="show the settings with --no-mouse applied"),
        partial(add_text, folds=False), add_json, add_output,
    ), EXAMPLES),
}  # fmt: skip
