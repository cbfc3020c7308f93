"""The config file, tltui's own directories, and the shares of panes stored there."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_config_path, user_state_path

from tltui.settings import MOST_TEXT, OF_FILE, THEMES, BadValueError, checked, problems_of, said_by, short
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_small_file, read_small_json, replacing
from tltui.text.sanitize import sanitize

__all__ = ["THEMES", "Config", "cache_path", "config_path", "is_key", "read_config", "state_path"]

LARGEST = 1 << 20
"""Maximum bytes of a config file."""
MOST_PROBLEMS = 20
"""Maximum problems listed one by one."""
_KEY = re.compile(r"""\s*["']?([^"'=\s]+)""")
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}
_NAMED = {
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete", "backspace", "enter", "tab", "escape",
    "space", "slash", "backslash", "at", "minus", "plus", "underscore",
}  # fmt: skip
"""Names of keys without a character, and Textual's names of characters that differ from Unicode's."""
_OTHERWISE = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus", "plus_sign": "plus",
    "low_line": "underscore",
}  # fmt: skip


@frozen
class Config:
    """The user's settings."""

    theme: str = "auto"
    mouse: bool = True
    ascii: bool | None = None
    """None: determined by the terminal's encoding."""
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Command id → keys, instead of the defaults."""
    problems: tuple[str, ...] = ()
    """Errors in the file, one sentence each."""
    unpack_member_mib: int = 4096
    """Maximum MiB of one unpacked file (`tltui.inputs.archives`)."""
    unpack_total_mib: int = 8192
    """Maximum MiB of all of them."""
    unpack_members: int = 20_000
    """Maximum members of an archive that are read."""
    places: dict[str, str] = field(default_factory=dict, compare=False)
    """Setting, or command with user keys → its origin: `config.toml:3`, `$TLTUI_THEME`. Others have their default."""


def config_path() -> Path:
    """Return the path of the config file."""
    override = os.environ.get("TLTUI_CONFIG")
    return Path(override).expanduser() if override else user_config_path("tltui") / "config.toml"


def cache_path() -> Path:
    """Return the directory of yanked copies and `crash.log`."""
    return user_cache_path("tltui")


def state_path() -> Path:
    """Return the directory of persistent state."""
    return user_state_path("tltui")


def baselines_path() -> Path:
    """Return the directory of kept baselines."""
    override = os.environ.get("TLTUI_BASELINES")
    return Path(override).expanduser() if override else state_path() / "baselines"


def read_config(commands: Collection[str], path: Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """Return the settings from variables, the config file and defaults; errors go to `problems`.

    `commands`: the existing ids; without any, keys are not checked.
    """
    reading = _Reading(commands)
    reading.file(path or config_path())
    reading.variables(os.environ if environment is None else environment)
    return reading.config()


def _text(path: Path) -> str:
    """Read the file. Raises OSError, also for a file that would block or is too large, and UnicodeDecodeError."""
    try:
        return read_small_file(path, LARGEST).decode("utf-8")
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise OSError(errno.EFBIG, f"is larger than {LARGEST >> 20} MB: not a config file", str(path)) from None


class _Reading:
    """Collector of settings, the strongest source last."""

    def __init__(self, commands: Collection[str]) -> None:
        self._commands = commands
        self._good: dict[str, Any] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, str] = {}
        self._problems: list[str] = []
        self._unknown = 0  # commands that there are not

    def config(self) -> Config:
        """Return the resulting settings."""
        return Config(**self._good, keys=self._keys, problems=tuple(self._problems), places=self._places)

    def file(self, path: Path) -> None:
        """Read the config file, if there is one."""
        try:
            text = _text(path)
            values = _loads(text)
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
                wrong(key, f"unknown setting (settings: {', '.join(OF_FILE)})")
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
        """Read the variables that are set and not empty."""

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

    def _take_keys(self, bindings: dict[str, Any], place: Callable[[str], str], wrong: Callable[[str, str], None]) -> None:
        for name, keys in bindings.items() if self._commands else ():
            listed = (keys,) if isinstance(keys, str) else keys
            if name not in self._commands:
                near = get_close_matches(name[:MOST_TEXT], self._commands, 1, 0.8) if self._unknown < MOST_PROBLEMS else []
                self._unknown += 1
                wrong(name, f"unknown command ({f'perhaps {near[0]}; ' if near else ''}tltui config --keys lists all)")
            elif not isinstance(listed, (list, tuple)) or not all(isinstance(key, str) and key for key in listed):
                wrong(name, "must be a key or a list of keys")
            elif strange := [key for key in listed if not is_key(key)]:
                wrong(name, f"{short(strange[0])} is not a key (examples: j, J, f8, ctrl+t, pagedown, question_mark)")
            else:
                self._keys[name] = tuple(map(normal_key, listed))
                self._places[name] = place(name)


def _lines(text: str) -> dict[str, int]:
    """Return key → its line, the first for a repeated name."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _KEY.match(line):
            lines.setdefault(match[1], number)
    return lines


def _place(path: Path, lines: dict[str, int], key: str) -> str:
    return f"{path}:{lines[key]}" if key in lines else str(path)


def is_key(name: str) -> bool:
    """Return whether a terminal could send a key of this name: `j`, `ctrl+t`, `f8`, `pagedown`, `question_mark`."""
    *modifiers, key = name.split("+") if name != "+" else [name]
    if not set(modifiers) <= _MODIFIERS or len(modifiers) > 3:
        return False
    if len(key) == 1:
        return key.isprintable() and not key.isspace()
    return key in _NAMED or re.fullmatch(r"f([1-9]|1\d|2[0-4])", key) is not None or _is_character(key)


def normal_key(key: str) -> str:
    """Normalise a key for comparison: `?` → `question_mark`, `ctrl+]` likewise."""
    before, plus, base = ("", "", key) if len(key) == 1 else key.rpartition("+")
    if len(base) != 1 or base.isalnum():
        return key
    name = unicodedata.name(base, base).lower().replace(" ", "_").replace("-", "_")
    return before + plus + _OTHERWISE.get(name, name)


def _is_character(name: str) -> bool:
    """Return whether it is Textual's name of a keyboard character: `full_stop`."""
    names = (unicodedata.name(chr(code), "") for code in range(0x21, 0x180))
    return any(name == character.lower().replace(" ", "_").replace("-", "_") for character in names if character)


def _loads(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError. Most people have no config file, and do not wait for the import."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    values: dict[str, Any] = tomllib.loads(text)
    return values


LAYOUT_FILE = "layout.json"
TREE_PANE = "tree"
"""Name of the tree pane on the main screen."""
MAX_LAYOUT_BYTES = 4096
"""Maximum bytes of the layout file; a larger one is not ours."""
SHARE_DIGITS = 4
"""Decimal places of a stored share: cells of a screen with up to 5,000 columns."""


def layout_path() -> Path:
    """Return the path of the layout file."""
    return state_path() / LAYOUT_FILE


def read_share(pane: str) -> float | None:
    """Return the stored share of a pane in the width of the screen, between 0 and 1.

    None without one, or if the file is unreadable, broken or has widths in cells, as it once did.
    """
    return _read_layout().get(pane)


def write_share(pane: str, share: float) -> None:
    """Store a share; shares of other panes in the file stay. Raises OSError."""
    path = layout_path()
    shares = {**_read_layout(), pane: round(share, SHARE_DIGITS)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, private=True) as file:
        file.write(json.dumps(shares).encode())


def _read_layout() -> dict[str, float]:
    try:
        layout = read_small_json(layout_path(), MAX_LAYOUT_BYTES)
    except (OSError, ValueError):
        return {}
    if not isinstance(layout, dict):
        return {}
    return {name: share for name, share in layout.items() if type(share) is float and 0 < share < 1}
