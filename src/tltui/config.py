"""The config file, the directories that tltui keeps its own files in, and the widths of panes kept there."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_config_path, user_state_path

from tltui.settings import MOST_TEXT, OF_FILE, THEMES, BadValueError, checked, problems_of, said_by, short
from tltui.text.safe_files import read_small_file, read_small_json, replacing
from tltui.text.sanitize import sanitize

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["THEMES", "Config", "cache_path", "config_path", "is_key", "read_config", "state_path"]

LARGEST = 1 << 20
"""Bytes of a config file."""
MOST_PROBLEMS = 20
"""Problems that are told one by one."""
_KEY = re.compile(r"""\s*["']?([^"'=\s]+)""")
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}
_NAMED = {
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete", "backspace", "enter", "tab", "escape",
    "space", "slash", "backslash", "at", "minus", "plus", "underscore",
}  # fmt: skip
"""Keys that are no characters, and characters that Textual calls otherwise than Unicode."""
_OTHERWISE = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus", "plus_sign": "plus",
    "low_line": "underscore",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Config:
    """What the user set."""

    theme: str = "auto"
    mouse: bool = True
    ascii: bool | None = None
    """None: as the terminal's encoding demands."""
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Command id → keys, instead of the defaults."""
    problems: tuple[str, ...] = ()
    """What was wrong in the file, one sentence each."""
    unpack_member_mib: int = 4096
    """MiB of one file that is unpacked (`tltui.inputs.archives.packed_files`)."""
    unpack_total_mib: int = 8192
    """MiB of all of them."""
    unpack_members: int = 20_000
    """Members of an archive that are looked at."""
    places: dict[str, str] = field(default_factory=dict, compare=False)
    """Setting, or command with keys of its own → where that was said: `config.toml:3`, `$TLTUI_THEME`. Else it is the default."""


def config_path() -> Path:
    """Where the config file is looked for."""
    given = os.environ.get("TLTUI_CONFIG")
    return Path(given).expanduser() if given else user_config_path("tltui") / "config.toml"


def cache_path() -> Path:
    """Where copies of what was yanked and `crash.log` go."""
    return user_cache_path("tltui")


def state_path() -> Path:
    """Where marks would be kept."""
    return user_state_path("tltui")


def read_config(commands: Collection[str], path: Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """What variables and the config file say, defaults without either. Never fails: what is wrong is in `problems`. `commands`: the
    ids there are; without any, keys are not looked at."""
    reading = _Reading(commands)
    reading.file(path or config_path())
    reading.variables(os.environ if environment is None else environment)
    return reading.config()


def _text(path: Path) -> str:
    """What the file holds. Raises OSError, also for what could be waited for or read for ever, and UnicodeDecodeError."""
    try:
        return read_small_file(path, LARGEST).decode("utf-8")
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise OSError(errno.EFBIG, f"is larger than {LARGEST >> 20} MB: that is no config file", str(path)) from None


class _Reading:
    """Collects what is said, the strongest last."""

    def __init__(self, commands: Collection[str]) -> None:
        self._commands = commands
        self._good: dict[str, Any] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, str] = {}
        self._problems: list[str] = []
        self._unknown = 0  # commands that there are not

    def config(self) -> Config:
        """What holds."""
        return Config(**self._good, keys=self._keys, problems=tuple(self._problems), places=self._places)

    def file(self, path: Path) -> None:
        """The config file, if there is one."""
        try:
            text = _text(path)
            values = tomllib.loads(text)
        except FileNotFoundError:
            return
        except OSError as error:
            self._problems.append(f"{path}: {error.strerror or error}")
        except UnicodeDecodeError:
            self._problems.append(f"{path}: not UTF-8")
        except RecursionError:
            self._problems.append(f"{path}: nested too deeply")
        except ValueError as error:  # no TOML, or an integer of thousands of digits
            self._problems.append(f"{path}: {error}")
        else:
            self._take_file(values, path, _lines(text))

    def _take_file(self, values: dict[str, Any], path: Path, lines: dict[str, int]) -> None:
        problems: list[str] = []

        def wrong(key: str, why: str) -> None:
            place = f", line {lines[key]}" if key in lines else ""
            problems.append(f"{path}{place}: {key[:MOST_TEXT]}: {why}; ignored")

        for key, value in values.items():
            if key not in OF_FILE:
                wrong(key, f"no such setting (there are {', '.join(OF_FILE)})")
                continue
            try:
                checked(OF_FILE[key], value)
            except BadValueError as bad:
                wrong(key, str(bad))
                continue
            if key == "keys":
                self._take_keys(value, lambda name: _place(path, lines, name), wrong)
            else:
                self._good[key], self._places[key] = value, _place(path, lines, key)
        if len(problems) > MOST_PROBLEMS:
            problems[MOST_PROBLEMS:] = [f"{path}: {len(problems) - MOST_PROBLEMS} more problems"]
        self._problems += problems

    def variables(self, environment: Mapping[str, str]) -> None:
        """Those that are set, and not empty."""

        self._problems += problems_of(environment)
        for name, setting in OF_FILE.items():
            value = said_by(environment, variable := setting.variable)
            if isinstance(value, dict):
                self._take_variable(value, variable)
            elif value is not None:
                self._good[name], self._places[name] = value, f"${variable}"

    def _take_variable(self, keys: dict[str, Any], variable: str) -> None:
        problems: list[str] = []

        def wrong(name: str, why: str) -> None:
            problems.append(f"{variable}: {sanitize(name[:MOST_TEXT])}: {why}; ignored")

        self._take_keys(keys, lambda _: f"${variable}", wrong)
        if len(problems) > MOST_PROBLEMS:
            problems[MOST_PROBLEMS:] = [f"{variable}: {len(problems) - MOST_PROBLEMS} more problems"]
        self._problems += problems

    def _take_keys(self, given: dict[str, Any], place: Callable[[str], str], wrong: Callable[[str, str], None]) -> None:
        for name, keys in given.items() if self._commands else ():
            listed = (keys,) if isinstance(keys, str) else keys
            if name not in self._commands:
                near = get_close_matches(name[:MOST_TEXT], self._commands, 1, 0.8) if self._unknown < MOST_PROBLEMS else []
                self._unknown += 1
                wrong(name, f"no such command ({f'perhaps {near[0]}; ' if near else ''}tltui config --keys lists them)")
            elif not isinstance(listed, (list, tuple)) or not all(isinstance(key, str) and key for key in listed):
                wrong(name, "must be a key or a list of keys")
            elif strange := [key for key in listed if not is_key(key)]:
                wrong(name, f"{short(strange[0])} is no key (keys are written like j, J, f8, ctrl+t, pagedown, question_mark)")
            else:
                self._keys[name] = tuple(map(named, listed))
                self._places[name] = place(name)


def _lines(text: str) -> dict[str, int]:
    """Key → its line. Which of two keys of one name TOML means nobody can say by looking at lines: the first."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _KEY.match(line):
            lines.setdefault(match[1], number)
    return lines


def _place(path: Path, lines: dict[str, int], key: str) -> str:
    return f"{path}:{lines[key]}" if key in lines else str(path)


def is_key(name: str) -> bool:
    """Whether a terminal could send a key of this name: `j`, `ctrl+t`, `f8`, `pagedown`, `question_mark`."""
    *modifiers, key = name.split("+") if name != "+" else [name]
    if not set(modifiers) <= _MODIFIERS or len(modifiers) > 3:
        return False
    if len(key) == 1:
        return key.isprintable() and not key.isspace()
    return key in _NAMED or re.fullmatch(r"f([1-9]|1\d|2[0-4])", key) is not None or _is_character(key)


def named(key: str) -> str:
    """A key as the key map has it, so that who takes it from whom is seen: `?` → `question_mark`, `ctrl+]` alike."""
    before, plus, own = ("", "", key) if len(key) == 1 else key.rpartition("+")
    if len(own) != 1 or own.isalnum():
        return key
    name = unicodedata.name(own, own).lower().replace(" ", "_").replace("-", "_")
    return before + plus + _OTHERWISE.get(name, name)


def _is_character(name: str) -> bool:
    """Whether it is the name of a character of a keyboard, as Textual writes those of Unicode: `full_stop`."""
    names = (unicodedata.name(chr(code), "") for code in range(0x21, 0x180))
    return any(name == known.lower().replace(" ", "_").replace("-", "_") for known in names if known)


LAYOUT_FILE = "layout.json"
TREE_PANE = "tree"
"""The pane of the tree on the main screen."""
MAX_LAYOUT_BYTES = 4096
"""Bytes of the file; one that is larger is none of ours."""
MAX_PANE_WIDTH = 10_000


def layout_path() -> Path:
    """Where it is kept."""
    return state_path() / LAYOUT_FILE


def read_width(pane: str) -> int | None:
    """The width of a pane in cells, as it was left; None where none was, or the file is unreadable or broken."""
    return _read_layout().get(pane)


def write_width(pane: str, width: int) -> None:
    """Remember a width. What another tltui wrote of other panes stays. Raises OSError."""
    path = layout_path()
    kept = {**_read_layout(), pane: width}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, private=True) as file:
        file.write(json.dumps(kept).encode())


def _read_layout() -> dict[str, int]:
    try:
        found = read_small_json(layout_path(), MAX_LAYOUT_BYTES)
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: width for name, width in found.items() if type(width) is int and 0 < width <= MAX_PANE_WIDTH}
