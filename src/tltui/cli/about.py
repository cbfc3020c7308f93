"""Commands about tltui itself: guide, glossary and completions."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

from tltui.cli.exits import Failure
from tltui.cli.options import add_output, add_text
from tltui.cli.parser import Command, argument
from tltui.cli.printing import as_text, layout

SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "DIR", "OLD", "NEW")
"""Metavars of options whose value is a path. Any positional argument may be one."""
BASH = """\
# the first word is a command or a path
_tltui_first_file() {
  [ "$COMP_CWORD" != 1 ] || compgen -W "${_shtab_tltui_subparsers[*]}" -- "$1"
  _shtab_compgen_files "$1"
}
"""
ZSH = """\
# the first word is a command or a path
_tltui_first() {
  _alternative 'commands:command:_shtab_tltui_commands' 'paths:path:_files'
}
"""
ZSH_CHANGES = (
    ("': :_shtab_tltui_commands' '*::: :->tltui'", "': :_tltui_first' '*::: :->tltui'"),
    ("\n      esac\n  esac\n", "\n        *) _arguments -C -s $_shtab_tltui_options '*:path:_files' ;;\n      esac\n  esac\n"),
)
"""In what shtab writes for zsh a parser has either commands or arguments of its own. What is not found is left as it is."""


def guide(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield a chapter of the guide, or the list of them."""
    from tltui.documents.manual import guide_document

    yield from as_text(guide_document(options.wanted.removesuffix(".md"), layout(options)), options)


def glossary(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the explanation of a word, or of all words."""
    from tltui.documents.manual import glossary_document

    yield from as_text(glossary_document(" ".join(options.wanted), layout(options)), options)


def completions(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the completion script of a shell, made by shtab (Apache-2.0)."""
    if options.shell is None:
        raise Failure("missing SHELL", f"use one of {', '.join(SHELLS)}")
    import shtab

    parser = _parser_with_commands(shtab.FILE)
    paths = next(action for action in parser._actions if action.dest == "paths")
    if options.shell == "zsh":
        parser._remove_action(paths)
    else:
        paths.complete = {**shtab.FILE, "bash": "_tltui_first_file"}  # type: ignore[attr-defined]
    script = shtab.complete(parser, options.shell, preamble={"bash": BASH, "zsh": ZSH}.get(options.shell, ""))
    for old, new in ZSH_CHANGES if options.shell == "zsh" else ():
        script = script.replace(old, new)
    yield script.encode() + b"\n"


def _parser_with_commands(file: object) -> argparse.ArgumentParser:
    """Return the parser of the UI with all commands as subparsers, for shtab. `file` marks an argument that is a path."""
    from tltui.cli.registry import COMMANDS, parser_of
    from tltui.cli.ui import ui_parser

    root = argparse.ArgumentParser("tltui", parents=[_marked(ui_parser(), file)], add_help=False)
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    for name, entry in COMMANDS.items():
        commands.add_parser(name, help=entry.help, parents=[_marked(parser_of(name), file)], add_help=False)
    return root


def _marked(parser: argparse.ArgumentParser, file: object) -> argparse.ArgumentParser:
    for action in parser._actions:
        if action.choices is None and (not action.option_strings or action.metavar in FILES):
            action.complete = file  # type: ignore[attr-defined]
    return parser


MANUAL = (partial(add_text, folds=False), add_output)
COMMANDS = {
    "guide": Command(guide, (
        argument("wanted", nargs="?", default="", metavar="CHAPTER", help="a chapter (default: list all chapters)"), *MANUAL,
    ), """\
examples:
  tltui guide recompiles
  tltui guide hangs -o hangs.md
"""),
    "glossary": Command(glossary, (
        argument("wanted", nargs="*", default=[], metavar="WORD", help="a word or a phrase (default: all)"), *MANUAL,
    ), """\
examples:
  tltui glossary guard
  tltui glossary graph break
"""),
    "completions": Command(completions, (
        argument("shell", nargs="?", choices=SHELLS, metavar="SHELL", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}"),
    ), """\
examples (new shells then complete tltui):
  tltui completions bash > ~/.local/share/bash-completion/completions/tltui     with the package bash-completion
  tltui completions bash >> ~/.bashrc                                           without it
  tltui completions zsh > ~/.zfunc/_tltui       with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc
  tltui completions fish > ~/.config/fish/completions/tltui.fish
"""),
}  # fmt: skip
