"""Which arguments are paths, which are addresses: several of each, in any order.

What parses as an address is an address, also where a file of that name exists: that one is written `./0/1`. Everything else is a
path, and must be there. A command that takes no address takes all of them for paths. `source` also takes FILE:LINE.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass

from tltui.cli.failure import Failure
from tltui.inputs.archives.magic import STANDARD_INPUT
from tltui.model.ref import BadAddress, parse_ref

LIKE = "0/1, 3:0/1_1, none, 0/1:inductor_output_code or 2/0:aot_joint_graph#2"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a command, told apart."""

    paths: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    place: str = ""
    """FILE:LINE."""

    @property
    def hint(self) -> str:
        """What to do about addresses that were meant as paths, '' where no file is called like one."""
        there = [ref for ref in self.refs if os.path.lexists(ref)]
        return "".join(f"\n{ref} is read as an address; the file of that name is ./{ref}" for ref in there)


def told_apart(
    given: Sequence[str], refs: bool = True, place: bool = False, another: bool = False, waits: bool = False
) -> Arguments:
    """The arguments of a command that takes addresses (`refs`), FILE:LINE (`place`), and paths.

    `another`: there is a trace without any of them. `waits`: for paths that are not there. Else they raise `Failure`,
    and what would be an address elsewhere always does.
    """
    found = tuple(text for text in given if refs and is_address(text))
    rest = [text for text in given if not (refs and is_address(text))]
    if rest.count(STANDARD_INPUT) > 1:
        raise Failure("- is standard input: it can be read once only")
    line = _line_in(rest) if place else ""
    if line:
        rest.remove(line)
    absent = os.strerror(errno.ENOENT) if waits else ""
    lacking = {text: why for text in rest if ((why := _lacks(text)) and (why != absent or is_address(text))) or not text}
    for text, why in lacking.items():
        raise Failure(f"{text}: {why}" + _meant(text, refs, another or len(lacking) < len(rest)))
    return Arguments(tuple(rest), found, line)


def is_address(text: str) -> bool:
    """Whether a text spells an address."""
    try:
        parse_ref(text)
    except BadAddress:
        return False
    return True


def _line_in(texts: Sequence[str]) -> str:
    """The FILE:LINE among arguments: the first that ends like one and is no file, else the first that is no file."""
    strangers = [text for text in texts if _lacks(text)]
    return next((text for text in strangers if text.rpartition(":")[2].isdecimal()), next(iter(strangers), ""))


def _lacks(path: str) -> str:
    """Why there is no such file, '' when there is one or nobody may tell."""
    if path == STANDARD_INPUT:
        return ""
    try:
        os.stat(os.path.expanduser(path))
    except PermissionError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _meant(text: str, refs: bool, has_path: bool) -> str:
    """What else an argument could have been meant as that is no path."""
    if not refs:
        return "; it is an address, and this command takes none" if text and is_address(text) else ""
    return f", and it is not an address: those look like {LIKE}" if has_path and not text.startswith(("/", ".", "~")) else ""
