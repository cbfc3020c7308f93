"""The config file, and where tltui keeps its own files. Nothing is made before it is first written.

`~/.config/tltui/config.toml` (or `$TLTUI_CONFIG`):

    theme = "auto"          # auto, dark, light, high-contrast, ansi-dark, ansi-light, mono
    mouse = true
    ascii = false
    unpack_member_mib = 4096        # what is unpacked at most: of one file, and in all
    unpack_total_mib = 8192
    unpack_members = 20000          # members of an archive that are looked at

    [keys]
    "app.next_error" = "e"              # a key, or several: ["e", "f8"]

What is wrong in it is reported with line and key, and ignored; the rest counts.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_config_path, user_state_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

THEMES = ("auto", "dark", "light", "high-contrast", "ansi-dark", "ansi-light", "mono")
_LIMITS = ("unpack_member_mib", "unpack_total_mib", "unpack_members")
_TYPES: dict[str, type] = {"theme": str, "mouse": bool, "ascii": bool, "keys": dict, **dict.fromkeys(_LIMITS, int)}
LARGEST = 1 << 20
"""Bytes of a config file."""
MOST_PROBLEMS = 20
"""Problems that are told one by one."""
MOST_TEXT = 60
"""Characters of what is wrong that are told."""
MOST_UNPACKED = 1 << 30
_KEY = re.compile(r"""\s*["']?([^"'=\s]+)""")
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}
_NAMED = {
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete", "backspace", "enter", "tab", "escape",
    "space", "slash", "backslash", "at", "minus", "plus", "underscore",
}  # fmt: skip
"""Keys that are no characters, and characters that Textual calls otherwise than Unicode."""


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
    """MiB of one file that is unpacked (`tltui.inputs.archives.settings`)."""
    unpack_total_mib: int = 8192
    """MiB of all of them."""
    unpack_members: int = 20_000
    """Members of an archive that are looked at."""


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


def read_config(commands: Collection[str], path: Path | None = None) -> Config:
    """The config file, or the defaults without one. Never fails: what is wrong is in `problems`. `commands`: the ids there are."""
    path = path or config_path()
    try:
        text = _text(path)
        values = tomllib.loads(text)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        return Config(problems=(f"{path}: {error.strerror or error}",))
    except UnicodeDecodeError:
        return Config(problems=(f"{path}: not UTF-8",))
    except RecursionError:
        return Config(problems=(f"{path}: nested too deeply",))
    except ValueError as error:  # no TOML, or an integer of thousands of digits
        return Config(problems=(f"{path}: {error}",))
    return _checked(values, commands, path, text)


def _text(path: Path) -> str:
    """What the file holds. Raises OSError, also for what could be waited for or read for ever, and UnicodeDecodeError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"is larger than {LARGEST >> 20} MB: that is no config file", str(path))
    return data.decode("utf-8")


def _checked(values: dict[str, Any], commands: Collection[str], path: Path, text: str) -> Config:
    problems: list[str] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _KEY.match(line):
            lines.setdefault(match[1], number)

    def wrong(key: str, why: str) -> None:
        place = f", line {lines[key]}" if key in lines else ""
        problems.append(f"{path}{place}: {key[:MOST_TEXT]}: {why}; ignored")

    good: dict[str, Any] = {}
    for key, value in values.items():
        if key not in _TYPES:
            wrong(key, f"no such setting (there are {', '.join(_TYPES)})")
        elif not isinstance(value, _TYPES[key]) or (key in _LIMITS and isinstance(value, bool)):
            wrong(key, f"must be a {_TYPES[key].__name__}, not {_short(value)}")
        elif key == "theme" and value not in THEMES:
            wrong(key, f"must be one of {', '.join(THEMES)}, not {_short(value)}")
        elif key in _LIMITS and isinstance(value, int) and not 0 < value <= MOST_UNPACKED:
            wrong(key, f"must be a whole number from 1 to {MOST_UNPACKED}, not {_short(value)}")
        else:
            good[key] = value
    keys: dict[str, tuple[str, ...]] = {}
    for name, given in good.pop("keys", {}).items():
        listed = (given,) if isinstance(given, str) else given
        if name not in commands:
            wrong(name, "no such command (tltui's help lists them)")
        elif not isinstance(listed, (list, tuple)) or not all(isinstance(key, str) and key for key in listed):
            wrong(name, "must be a key or a list of keys")
        elif strange := [key for key in listed if not is_key(key)]:
            wrong(name, f"{_short(strange[0])} is no key (keys are written like j, J, f8, ctrl+t, pagedown, question_mark)")
        else:
            keys[name] = tuple("comma" if key == "," else key for key in listed)
    if len(problems) > MOST_PROBLEMS:
        problems[MOST_PROBLEMS:] = [f"{path}: {len(problems) - MOST_PROBLEMS} more problems"]
    return Config(**good, keys=keys, problems=tuple(problems))


def _short(value: Any) -> str:
    try:
        return repr(value)[:MOST_TEXT]
    except RecursionError:
        return "what is nested too deeply"


def is_key(name: str) -> bool:
    """Whether a terminal could send a key of this name: `j`, `ctrl+t`, `f8`, `pagedown`, `question_mark`."""
    *modifiers, key = name.split("+") if name != "+" else [name]
    if not set(modifiers) <= _MODIFIERS or len(modifiers) > 3:
        return False
    if len(key) == 1:
        return key.isprintable() and not key.isspace()
    return key in _NAMED or re.fullmatch(r"f([1-9]|1\d|2[0-4])", key) is not None or _is_character(key)


def _is_character(name: str) -> bool:
    """Whether it is the name of a character of a keyboard, as Textual writes those of Unicode: `full_stop`."""
    names = (unicodedata.name(chr(code), "") for code in range(0x21, 0x180))
    return any(name == known.lower().replace(" ", "_").replace("-", "_") for known in names if known)
