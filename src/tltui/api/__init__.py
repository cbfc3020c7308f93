"""The Python API: the contents of `import tltui` (docs/api.md).

A thin layer over the model, the analyses and the documents. It knows neither the terminal UI nor the command line.
`tltui/__init__.py` loads it when something of it is used for the first time.
"""

from tltui.api.commands import breaks, check, damage, diff, extract, grep, log, ls, records, source
from tltui.api.errors import (
    BadAddress,
    BadArgument,
    Closed,
    NothingFound,
    ProfileError,
    TltuiError,
    TltuiWarning,
    Unavailable,
)
from tltui.api.nodes import Artifact, Compile, Frame, Node, Nodes, Process, Rank
from tltui.api.results import CheckResult, Result
from tltui.api.runs import Run, demo, open  # noqa: A004 - as gzip.open
from tltui.questions.index import BY_NAME

__all__ = [
    "Artifact", "BadAddress", "BadArgument", "CheckResult", "Closed", "Compile", "Frame", "Node", "Nodes", "NothingFound",
    "Process", "ProfileError", "Rank", "Result", "Run", "TltuiError", "TltuiWarning", "Unavailable", "breaks", "check", "damage",
    "demo",
    "diff", "extract", "grep", "log", "ls", "open", "records", "source",
]  # fmt: skip
__all__ += list(BY_NAME)

def __getattr__(name: str) -> object:
    """Make the function of a question when it is asked for (PEP 562)."""
    if name not in BY_NAME:
        raise AttributeError(f"module 'tltui.api' has no attribute {name!r}")
    from tltui.api.views import function_of

    globals()[name] = function_of(name)
    return globals()[name]
