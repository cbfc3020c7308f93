"""The declaration of a command, and the parser made from it.

Paths and addresses are accepted in any order, and there may be several of each: `loading.py` separates them. argparse collects all
of them in `paths`; the others are declared for the help only.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, NoReturn

from tltui.cli.exits import Failure, print_error
from tltui.text.frozen import frozen

_VALUE = re.compile(r"""invalid .*?: (?P<value>'.*?'|".*?")(?: \(choose from .*\))?""", re.DOTALL)
"""An error of argparse with the value that it rejects."""
DEFAULTS: dict[str, object] = {
    "paths": (), "profile": (), "demo": False, "latest": False, "refs": (), "ascii": None, "color": False, "all": False,
}  # fmt: skip
"""Values of the shared options for commands without them."""


SUGGESTED = 2
"""Maximum number of suggested options for an unknown one."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are two lines, whatever the arguments."""

    def __init__(self, command: str, description: str, epilog: str) -> None:
        super().__init__(prog=f"tltui {command}".rstrip(), description=description, epilog=epilog, exit_on_error=False,
                         allow_abbrev=False,  # otherwise a new option makes abbreviations in scripts ambiguous
                         formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
        self.command = command
        """Its name, '' for the terminal UI."""
        self.starts_another = False
        """Whether it starts another command (`add_command`)."""
        self._common: argparse._ArgumentGroup | None = None
        self.set_defaults(command=command)

    @property
    def common(self) -> argparse._ArgumentGroup:
        """The group of the options that many commands share, listed after the command's own."""
        if self._common is None:
            self._common = self.add_argument_group("common options")
        return self._common

    def read(self, arguments: list[str]) -> argparse.Namespace:
        """Parse options, paths and addresses, in any order. Raises `Failure`.

        For a command that starts another one all words after `--`, or from the first word that is no option, belong to the other.
        All words after an option that takes a command line belong to that; a `--` before them is dropped.
        """
        program = next((a for a in self._actions if a.nargs == argparse.REMAINDER and {*a.option_strings} & {*arguments}), None)
        try:
            if program is not None:
                at = next(place for place, word in enumerate(arguments) if word in program.option_strings)
                options, unknown = self.parse_known_intermixed_args(arguments[:at])
                words = arguments[at + 1 :]
                setattr(options, program.dest, words[words[:1] == ["--"] :])
            elif not self.starts_another:
                options, unknown = self.parse_known_intermixed_args(arguments)
            else:
                at = arguments.index("--") if "--" in arguments else len(arguments)
                options, unknown = self.parse_known_args(arguments[:at])
                options.words = [*options.words, *arguments[at + (not options.words) :]]
        except argparse.ArgumentError as error:
            raise self._failure(error) from None
        if unknown:
            raise self._unknown(unknown[0])
        return argparse.Namespace(**{**DEFAULTS, **vars(options)})

    def has_option(self, option: str) -> bool:
        """Return whether it has an option of this name."""
        return any(option in action.option_strings for action in self._actions)

    def options(self) -> list[str]:
        """Return the names of the options that the help lists."""
        return [name for action in self._actions if action.help != argparse.SUPPRESS for name in action.option_strings]

    def usage_line(self) -> str:
        """Return the usage in one line."""
        if self.usage:
            return self.usage % {"prog": self.prog}
        places = [action for action in self._actions if not action.option_strings]
        words = [f"[{action.metavar}{' ...' if action.nargs == '*' else ''}]" for action in places]
        return " ".join([self.prog, "[options]", *words])

    def format_usage(self) -> str:
        """Return the usage as `--help` begins with it."""
        return f"usage: {self.usage_line()}\n"

    def format_help(self) -> str:
        """Return the help, with the usage in one line."""
        self.usage = self.usage_line().replace("%", "%%")
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raise `Failure` for an error that argparse does not raise as `ArgumentError`."""
        raise Failure(message, self._help())

    def _unknown(self, word: str) -> Failure:
        """Return the error for an argument that the command does not take, with the nearest option."""
        if not word.startswith("-"):
            return Failure(f"unexpected argument: {word!r}", f"usage: {self.usage_line()}")
        name = word.partition("=")[0]
        options = [option for option in self.options() if option not in ("-h", "--help")]
        near = [option for option in options if option.startswith(name)] or get_close_matches(name, options, 1, 0.7)
        advice = f"did you mean {' or '.join(near)}?" if 0 < len(near) <= SUGGESTED else self._help()
        return Failure(f"unknown option of {self.prog}: {name!r}", advice)

    def _failure(self, error: argparse.ArgumentError) -> Failure:
        """Return the error for a bad value of an option."""
        name = (error.argument_name or "").rpartition("/")[2]
        if rejected := _VALUE.fullmatch(error.message):
            action = next((action for action in self._actions if name in (*action.option_strings, action.metavar)), None)
            choices = [] if action is None or action.choices is None else list(map(str, action.choices))
            near = get_close_matches(rejected["value"][1:-1], choices, 1)
            more = f"did you mean {near[0]}?" if near else f"use one of {', '.join(choices)}" if choices else self._help()
            return Failure(f"invalid value of {name}: {rejected['value']}", more)
        if error.message.startswith("ignored explicit argument"):
            return Failure(f"{name} takes no value: {error.message.rpartition(' ')[2]}", f"use {name}")
        if error.message.startswith("expected"):
            return Failure(f"missing value of {name}", self._help())
        return Failure(f"{name}: {error.message}" if name else error.message, self._help())

    def _help(self) -> str:
        return f"see {self.prog} --help"


Argument = Callable[[Parser], object]
"""Adds one argument, or several that belong together, to a parser."""


@frozen
class Command:
    """A command. The help lists its arguments in this order."""

    run: Callable[[argparse.Namespace], Iterator[bytes]]
    """Yield the output piece by piece: `| head` ends it early. A nonzero exit code is stored in `options.exit_code`."""
    arguments: tuple[Argument, ...]
    examples: str
    """The text below the options in the help."""


class RenamedOption(argparse.Action):
    """An option under its old name: accepted with a warning during 0.2, and not in the help."""

    def __init__(self, option_strings: list[str], dest: str, new: str, **settings: Any) -> None:
        super().__init__(option_strings, dest, help=argparse.SUPPRESS, **settings)
        self.new = new

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Print the warning, and set the option of the new name."""
        print_error(f"tltui: {option} was renamed and will be removed in 0.3: use {self.new}")
        parser._option_string_actions[self.new](parser, namespace, values, option)


class UnusedOption(argparse.Action):
    """An option without effect on this command: accepted with a warning during 0.2, and not in the help."""

    def __init__(self, option_strings: list[str], dest: str, nargs: int | None = 0, **settings: Any) -> None:
        super().__init__(option_strings, dest, nargs=nargs, default=argparse.SUPPRESS, help=argparse.SUPPRESS)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Print the warning."""
        print_error(f"tltui: {option} has no effect on {parser.prog} and will be an error in 0.3: leave it out")


def argument(*names: str, **settings: Any) -> Argument:
    """Return an argument of `ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **settings)


def defaults(**values: object) -> Argument:
    """Return options with fixed values, as those that a command lacks."""
    return lambda parser: parser.set_defaults(**values)
