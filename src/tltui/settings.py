"""The table of settings: the keys of the config file, and the variables `TLTUI_*`.

Readers of settings, `tltui config`, its messages and the table in docs/settings.md are derived from it. Each setting of the file
has a variable, too; a setting without a name in the file has a variable only. An option precedes a variable, a variable the file,
the file the default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

THEMES = ("auto", "dark", "light", "high-contrast", "ansi-dark", "ansi-light", "mono")
PREFIX = "TLTUI_"
UNPACKED = (1, 1 << 30)
MOST_TEXT = 60
"""Maximum characters of a quoted wrong value."""
_CALLED = {str: "a text", bool: "true or false", int: "a whole number", dict: "a table, [keys]"}
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table."""

    name: str
    """Name in the config file, '' for a variable only."""
    variable: str
    kind: type
    """`str`, `bool`, `int`, or `dict`: the keys of commands."""
    default: str | bool | int | None
    """None: determined at run time (as the help describes)."""
    help: str
    option: str = ""
    """The option for one call."""
    choices: tuple[str, ...] = ()
    of: tuple[int, int] = (0, 0)
    """Minimum and maximum of a number."""
    is_internal: bool = False
    """Whether tltui sets it for its own child processes; users should not."""


SETTINGS: tuple[Setting, ...] = (
    Setting("theme", "TLTUI_THEME", str, "auto", f"colors: {', '.join(THEMES)}", "--theme", THEMES),
    Setting("mouse", "TLTUI_MOUSE", bool, True, "false gives the mouse to the terminal", "--no-mouse"),
    Setting("ascii", "TLTUI_ASCII", bool, None, "draw with ASCII only; default: if the output is not UTF-8", "--ascii"),
    Setting("unpack_member_mib", "TLTUI_UNPACK_MEMBER_MIB", int, 4096, "maximum MiB of one unpacked file", of=UNPACKED),
    Setting("unpack_total_mib", "TLTUI_UNPACK_TOTAL_MIB", int, 8192, "maximum MiB of all unpacked files", of=UNPACKED),
    Setting("unpack_members", "TLTUI_UNPACK_MEMBERS", int, 20_000, "maximum number of archive members to read", of=UNPACKED),
    Setting("keys", "TLTUI_KEYS", dict, None, "keys of commands; in the variable: app.leave=Q app.next_error=e,f8"),
    Setting("", "TLTUI_CONFIG", str, None, "path of the config file"),
    Setting("", "TLTUI_BASELINES", str, None, "directory of the baselines that tltui run --keep-baseline writes"),
    Setting("", "TLTUI_WORKERS", int, None, "processes that read large logs; default: one per CPU, up to 8", of=(0, 1 << 20)),
    Setting("", "TLTUI_HOST", str, None, "name of this host in saved indexes; default: its hostname"),
    Setting("", "TLTUI_DEBUG", bool, False, "1 prints the traceback of an internal error"),
    Setting("", "TLTUI_RECORD_STEPS", str, None, "steps to record; tltui run --record-steps sets it", is_internal=True),
    Setting("", "TLTUI_RECORD_DIRECTORY", str, None, "directory of the recording; tltui run sets it", is_internal=True),
    Setting("", "TLTUI_TRIAL_CHANGES", str, None, "changes of a trial, as JSON; tltui try sets it", is_internal=True),
    Setting("", "TLTUI_TRIAL_DIRECTORY", str, None, "directory of a trial; tltui try sets it", is_internal=True),
    Setting("", "TLTUI_TRIAL_UNTIL_STEP", int, None, "last step of a trial; tltui try sets it", is_internal=True),
)  # fmt: skip
OF_FILE = {setting.name: setting for setting in SETTINGS if setting.name}
BY_VARIABLE = {setting.variable: setting for setting in SETTINGS}


class BadValueError(ValueError):
    """A value that a setting cannot have. The text has the reason."""


def checked(setting: Setting, value: object) -> object:
    """Return a valid value of the file. Raises `BadValueError`."""
    if not isinstance(value, setting.kind) or (setting.kind is int and isinstance(value, bool)):
        raise BadValueError(f"must be {_CALLED[setting.kind]}, not {short(value)}")
    if setting.choices and value not in setting.choices:
        raise BadValueError(f"must be one of {', '.join(setting.choices)}, not {short(value)}")
    if isinstance(value, int) and not isinstance(value, bool) and not setting.of[0] <= value <= setting.of[1]:
        raise BadValueError(f"must be a whole number from {setting.of[0]} to {setting.of[1]}, not {short(value)}")
    return value


def parsed(setting: Setting, text: str) -> object:
    """Parse the text of a variable. Raises `BadValueError`."""
    if setting.kind is bool:
        if text.lower() in _YES + _NO:
            return text.lower() in _YES
        raise BadValueError(f"must be 1 or 0, not {short(text)}")
    if setting.kind is int:
        if not re.fullmatch(r"\d{1,10}", text, re.ASCII):
            raise BadValueError(f"must be a whole number from {setting.of[0]} to {setting.of[1]}, not {short(text)}")
        return checked(setting, int(text))
    if setting.kind is dict:
        return _keys(text)
    return checked(setting, text)


def _keys(text: str) -> dict[str, list[str] | None]:
    """Parse `app.leave=Q app.next_error=e,f8`; a comma as a key is written `comma`. None: the entry has no keys."""
    bindings: dict[str, list[str] | None] = {}
    for word in text.split():
        name, equals, keys = word.partition("=")
        bindings[name or word] = keys.split(",") if keys else [] if equals else None
    return bindings


def said_by(environment: Mapping[str, str], name: str) -> object:
    """Return the value of the variable `name`; None if unset, empty or wrong (see `problems_of`)."""
    text = environment.get(name, "")
    try:
        return parsed(BY_VARIABLE[name], text) if text else None
    except BadValueError:
        return None


def problems_of(environment: Mapping[str, str]) -> list[str]:
    """Return the errors in the set variables, one sentence each."""
    problems = []
    for name, setting in BY_VARIABLE.items():
        try:
            if text := environment.get(name, ""):
                parsed(setting, text)
        except BadValueError as bad:
            problems.append(f"{name}: {bad}; ignored")
    return problems


def short(value: object) -> str:
    """Return a value for an error message."""
    try:
        return repr(value)[:MOST_TEXT]
    except (RecursionError, ValueError):  # an integer of thousands of digits has no text
        return "too deeply nested"


def settings_table() -> str:
    """Return the table of docs/settings.md as markdown."""
    lines = ["| in the file | variable | option | default | |", "| --- | --- | --- | --- | --- |"]
    for setting in SETTINGS:
        default = "" if setting.default is None else f"`{str(setting.default).lower()}`"
        name, option = (f"`{text}`" if text else "" for text in (setting.name, setting.option))
        internal = " (internal: tltui sets it for child processes; it may change without notice)" if setting.is_internal else ""
        lines.append(f"| {name} | `{setting.variable}` | {option} | {default} | {setting.help}{internal} |")
    return "\n".join(lines) + "\n"
