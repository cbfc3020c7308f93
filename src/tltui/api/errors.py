"""Errors of the API: one tree, with the sentences that the command line prints.

    TltuiError
    ├── NothingFound      a path is not there, or nothing below it can be opened
    ├── BadAddress        no address, or one that leads nowhere or to several places; it names the near ones    (a LookupError)
    ├── BadArgument       a pattern, a limit, an order, a kind of argument that there is not                     (a ValueError)
    ├── ProfileError      a profile cannot be read, or none matches the trace
    ├── Unavailable       bytes are not in their file any more, are on another host, or cannot be read
    └── Closed            the run was closed

A log that is damaged raises nothing: what is whole of it is there, and `tltui.damage(run)` lists the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tltui.model import ref as model
from tltui.questions.check.limits import BadLimit
from tltui.sources import discover
from tltui.sources.discover import NoProfileThere
from tltui.text.sanitize import sanitize


class TltuiError(Exception):
    """An error of the API. Its text is a sentence that can be shown as it is."""


class NothingFound(TltuiError):
    """A path does not exist, or has nothing to open below it. The text lists the examined files, and why each was rejected."""


class BadAddress(TltuiError, LookupError):
    """An invalid, unknown or ambiguous address. The text lists candidates."""


class BadArgument(TltuiError, ValueError):
    """An invalid pattern, limit, order or other argument. The text explains the valid ones."""


class ProfileError(TltuiError):
    """A profile of `torch.profiler` that cannot be read or does not match the trace."""


class Unavailable(TltuiError):
    """Bytes that are no longer in their file, are on another host, or cannot be read."""


class Closed(TltuiError):
    """The run was closed: reopen it with `tltui.open`."""


class TltuiWarning(UserWarning):
    """A result that may not be the intended one. The command line prints it on stderr."""


def safe(text: str) -> str:
    """Escape terminal control characters in a message, which may contain names from files and the trace."""
    return "\n".join(map(sanitize, text.split("\n")))


@contextmanager
def translated() -> Iterator[None]:
    """Translate exceptions of the packages below into those of the API."""
    from tltui.questions.records.grep_page import BadPattern

    try:
        yield
    except model.BadAddress as bad:
        raise BadAddress(safe(str(bad))) from None
    except (BadPattern, BadLimit) as bad:
        raise BadArgument(safe(str(bad))) from None
    except discover.NothingFound as nothing:
        raise NothingFound(safe(str(nothing))) from None
    except NoProfileThere as none:
        raise ProfileError(safe(f"profile: {none}")) from None
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        raise Unavailable(safe(message)) from error
