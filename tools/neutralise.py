#!/usr/bin/env python3
"""Make a TORCH_TRACE log fit to be committed: machine paths, user and host become neutral ones.

    neutralise.py IN OUT [--map OLD=NEW]... [--user NAME] [--host NAME]

What is replaced, everywhere (envelopes, payloads, interned strings, also where JSON escapes them):

* each OLD directory of ``--map`` by NEW, longest first; without a map of their own the current directory and
  the home directory become ``/home/user``;
* whatever is before ``lib/pythonX.Y/site-packages`` by ``/opt/venv``, and whatever is before the standard
  library by ``/usr``;
* ``torchinductor_NAME``, ``export_NAME``, ``minifier_NAME`` in a temporary directory by ``/tmp/..._user``;
* any other home or work directory (``HOMES``) by ``/home/user``;
* the user name and the host name: where they can only be that (``name@``, ``//host``, ``host:port``), and as
  whole words if they are distinctive (a host called ``vm`` is not);
* the shortened paths that torch writes into guards (``# train/model.py:12 in forward``), which may have lost
  their beginning.

Nothing else changes: a record that none of this touches comes out byte for byte, and an md5 that was wrong
before stays as it is. The md5 of a changed payload is computed anew. Running it twice gives the same file
(checked before writing). Stdlib only.
"""

from __future__ import annotations

import argparse
import getpass
import hashlib
import itertools
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

HOME = "/home/user"
HOMES = r"(?:root|work|workspace|farm|scratch|(?:home|Users|data/users)/[^/\s\"'\\]+)"
"""Directories at the root that hold somebody's files."""
ORDINARY = {
    *("root", "user", "users", "admin", "ubuntu", "runner", "worker", "build", "test"),
    *("torch", "python", "main", "local", "localhost", "node", "host"),
}
"""Names that are also words of a trace: never replaced as bare words."""

# A path starts at a slash that neither continues another path nor is part of `://`. In JSON a line break
# before it reads `\n`, compilers glue it to an option, and file URLs have two more slashes.
START = r"(?:(?<![\w.~/\-])|(?<=\\[ntr])|(?<=\s-[IL])|(?<=file://))(?=/(?!/))"
PART = r"[^/\s\"'\\:,;()\[\]{}<>|=*?]+"
END = r"(?![\w\-])"
RECORD = re.compile(rb"^(?!\t|\n+\t)", re.MULTILINE)
DIGEST = re.compile(rb'"has_payload": "([0-9a-fA-F]{32})"\}\r?$')


class Rule(NamedTuple):
    """One replacement; `replacement` may refer to groups of `pattern`."""

    pattern: re.Pattern[bytes]
    replacement: bytes


def rule(pattern: str, replacement: str) -> Rule:
    """Make a rule from text; traces are UTF-8."""
    return Rule(re.compile(pattern.encode()), replacement.encode())


def literal(text: str) -> str:
    """`text` as the replacement of a rule, where a backslash would be special."""
    return text.replace("\\", "\\\\")


def shortened(directory: str, base: str) -> str:
    """`directory` as torch shortens it against the directory that holds torch.

    This is `torch.utils._traceback.shorten_filename`, with its fault: where only `/` is common, a letter is
    lost too.
    """
    return directory[len(os.path.commonpath([directory, base])) + 1 :]


def mapped_rules(mapping: tuple[str, str], bases: Iterable[str]) -> Iterator[Rule]:
    """Return the rules for OLD=NEW: plain, as JSON escapes it, and as torch shortens it."""
    old, new = (directory.rstrip("/") for directory in mapping)
    for text in dict.fromkeys((old, json.dumps(old)[1:-1])):
        yield rule(START + re.escape(text) + END, literal(new))
    for base in bases:
        short = shortened(old, base)
        if short:
            yield rule(r"(?<=# )" + re.escape(short) + r"(?=/\S*:\d+ in )", literal(os.path.basename(new)))


def general_rules() -> Iterator[Rule]:
    """Yield the rules that hold on any machine."""
    before = rf"{START}(?:/{PART})*?/"
    library = rf"{before}lib(?:64)?/(python3\.\d+)/"
    yield rule(rf"{library}(?:site|dist)-packages{END}", r"/opt/venv/lib/\1/site-packages")
    yield rule(rf"{library}(?!(?:site|dist)-packages)", r"/usr/lib/\1/")
    yield rule(rf"{before}\.pyenv[/]versions/{PART}", "/usr")
    yield rule(r"(?<=# )(?:[^\s:/]+/)+lib/(python3\.\d+/\S*:\d+ in )", r"lib/\1")
    yield rule(rf"{before}(torchinductor|export|minifier)_(?!cache\b)[\w.\-]+", r"/tmp/\1_user")
    yield rule(rf"{START}/{HOMES}{END}", HOME)


def name_rules(name: str, neutral: str) -> Iterator[Rule]:
    """Yield the rules for a user or host name."""
    if not name or name == neutral:
        return
    word = re.escape(name)
    yield rule(rf"(?<![\w.\-]){word}(?=@[\w.\-])", neutral)
    yield rule(rf"(?<=://){word}(?=[:/\"'\s])", neutral)
    yield rule(rf"(?<=@){word}(?![\w\-])", neutral)
    yield rule(rf"(?<![\w.\-/]){word}(?=:\d{{4,5}}\b)", neutral)
    if len(name) > 3 and name not in ORDINARY:
        yield rule(rf"(?<!\w){word}(?!\w)", neutral)


def torch_bases(data: bytes) -> list[str]:
    """Return the directories that hold torch, by the paths in the trace itself."""
    paths = re.findall(rf"{START}((?:/{PART})+)/torch/_dynamo/".encode(), data)
    return sorted({path.decode(errors="replace") for path in paths})


def make_rules(data: bytes, maps: Iterable[tuple[str, str]], user: str, host: str) -> list[Rule]:
    """Return all rules for one trace, in the order in which they apply."""
    bases = torch_bases(data)
    longest_first = sorted(maps, key=lambda mapping: -len(mapping[0]))
    mapped = [each for mapping in longest_first for each in mapped_rules(mapping, bases)]
    return [*mapped, *general_rules(), *name_rules(user, "user"), *name_rules(host, "localhost")]


def records(data: bytes) -> Iterator[bytes]:
    """Cut a trace before every line that does not start with a tab; yield records with their payloads.

    Editors trim the lone tabs of blank payload lines: an empty line with a tab line after it belongs to them.
    """
    starts = [0, *(match.start() for match in RECORD.finditer(data)), len(data)]
    for start, end in itertools.pairwise(starts):
        yield data[start:end]


def payload_of(body: bytes) -> bytes:
    """Return the payload of a record's tab lines, without the tabs and the last newline."""
    return re.sub(rb"^\t", b"", body.removesuffix(b"\n"), flags=re.MULTILINE)


def payload_of_crlf(body: bytes) -> bytes:
    """Return the payload of a record whose line ends were converted to CRLF."""
    return payload_of(body).replace(b"\r\n", b"\n").removesuffix(b"\r")


def reading_of(body: bytes, digest: bytes) -> Callable[[bytes], bytes] | None:
    """Return the function that reads the payload with this md5; None if the md5 is wrong."""
    for read in (payload_of, payload_of_crlf):
        if hashlib.md5(read(body)).hexdigest().encode() == digest.lower():
            return read
    return None


def neutral_record(record: bytes, rules: Iterable[Rule]) -> bytes:
    """Apply the rules to a record and correct the md5 of its payload."""
    head, newline, body = record.partition(b"\n")
    new_head, new_body = head, body
    for pattern, replacement in rules:
        new_head = pattern.sub(replacement, new_head)
        new_body = pattern.sub(replacement, new_body)
    match = DIGEST.search(new_head)
    read = reading_of(body, match[1]) if match and new_body != body else None
    if match and read:
        digest = hashlib.md5(read(new_body)).hexdigest().encode()
        new_head = new_head[: match.start(1)] + digest + new_head[match.end(1) :]
    return new_head + newline + new_body


def neutralise(data: bytes, maps: Iterable[tuple[str, str]] = (), user: str = "", host: str = "") -> bytes:
    """Replace paths and names in a trace by neutral ones."""
    rules = make_rules(data, maps, user, host)
    return b"".join(neutral_record(record, rules) for record in records(data))


def machine_maps() -> list[tuple[str, str]]:
    """Return the working directory and the home of this machine, with their neutral path."""
    places = dict.fromkeys((os.getcwd(), os.path.realpath(os.getcwd()), os.path.expanduser("~")))
    neutral = re.compile(r"(?:/|/(?:usr|opt|tmp|home)(?:/venv.*)?|/home/user(?:/.*)?)")
    return [(place, HOME) for place in places if place.startswith("/") and not neutral.fullmatch(place)]


def parse_map(text: str) -> tuple[str, str]:
    """Parse OLD=NEW of the command line. NEW may not contain OLD: a second run would replace it again."""
    old, equals, new = text.partition("=")
    if not (equals and old.startswith("/") and new.startswith("/")):
        raise argparse.ArgumentTypeError(f"{text!r} is not OLD=NEW with absolute directories")
    if (new + "/").startswith(old.rstrip("/") + "/") and new.rstrip("/") != old.rstrip("/"):
        raise argparse.ArgumentTypeError(f"{text!r}: NEW lies inside OLD")
    return old, new


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    description, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("input", metavar="IN", type=Path, help="a TORCH_TRACE log")
    parser.add_argument("output", metavar="OUT", type=Path, help="where to write it (may be IN)")
    add = parser.add_argument
    add("--map", metavar="OLD=NEW", type=parse_map, action="append", default=[], dest="maps")
    add("--user", default=getpass.getuser(), help="the user name to replace (default: %(default)s)")
    add("--host", default=socket.gethostname(), help="the host name to replace (default: %(default)s)")
    options = parser.parse_args(arguments)
    maps = [*options.maps, *machine_maps()]
    result = neutralise(options.input.read_bytes(), maps, options.user, options.host)
    if neutralise(result, maps, options.user, options.host) != result:
        print(f"{options.input}: a second run would change it again; check the maps", file=sys.stderr)
        return 1
    options.output.write_bytes(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
