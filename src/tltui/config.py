"""The config file, and where tltui keeps its own files. Nothing is made before it is first written.

`~/.config/tltui/config.toml` (or `$TLTUI_CONFIG`):

    theme = "auto"          # auto, dark, light, ansi-dark, ansi-light, mono
    mouse = true
    ascii = false

    [keys]
    "app.next_error" = "e"              # a key, or several: ["e", "f8"]

What is wrong in it is reported with line and key, and ignored; the rest counts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path, user_config_path, user_state_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

THEMES = ("auto", "dark", "light", "ansi-dark", "ansi-light", "mono")
_TYPES: dict[str, type] = {"theme": str, "mouse": bool, "ascii": bool, "keys": dict}


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
        text = path.read_bytes()
    except FileNotFoundError:
        return Config()
    except OSError as error:
        return Config(problems=(f"{path}: {error.strerror or error}",))
    try:
        values = tomllib.loads(text.decode("utf-8"))
    except UnicodeDecodeError:
        return Config(problems=(f"{path}: not UTF-8",))
    except tomllib.TOMLDecodeError as error:
        return Config(problems=(f"{path}: {error}",))
    return _checked(values, commands, path, text.decode("utf-8").splitlines())


def _checked(values: dict[str, Any], commands: Collection[str], path: Path, lines: list[str]) -> Config:
    problems: list[str] = []

    def wrong(key: str, why: str) -> None:
        number = next((n for n, line in enumerate(lines, 1) if line.strip().strip("\"'").startswith(key)), 0)
        problems.append(f"{path}{f', line {number}' if number else ''}: {key}: {why}; ignored")

    good: dict[str, Any] = {}
    for key, value in values.items():
        if key not in _TYPES:
            wrong(key, f"no such setting (there are {', '.join(_TYPES)})")
        elif not isinstance(value, _TYPES[key]):
            wrong(key, f"must be a {_TYPES[key].__name__}, not {value!r}")
        elif key == "theme" and value not in THEMES:
            wrong(key, f"must be one of {', '.join(THEMES)}, not {value!r}")
        else:
            good[key] = value
    keys: dict[str, tuple[str, ...]] = {}
    for name, given in good.pop("keys", {}).items():
        listed = (given,) if isinstance(given, str) else given
        if name not in commands:
            wrong(name, "no such command (tltui's help lists them)")
        elif not isinstance(listed, (list, tuple)) or not all(isinstance(key, str) and key for key in listed):
            wrong(name, "must be a key or a list of keys")
        else:
            keys[name] = tuple(listed)
    return Config(**good, keys=keys, problems=tuple(problems))
