"""The Python API: what `import tltui` gives (docs/api.md).

A thin layer over the model, the analyses and the documents. It knows neither the terminal UI nor the command line.
`tltui/__init__.py` loads it when something of it is used for the first time.
"""

from tltui.api.commands import check, damage, diff, extract, grep, log, ls, records, source
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
from tltui.api.views import (
    absent,
    caches,
    exports,
    fusion,
    guards,
    layers,
    matrix,
    metrics,
    passes,
    problems,
    provenance,
    ranks,
    recompiles,
    runtime,
    shapes,
    stacks,
    stragglers,
    summary,
    timing,
    vllm,
    where,
)

__all__ = [
    "Artifact", "BadAddress", "BadArgument", "CheckResult", "Closed", "Compile", "Frame", "Node", "Nodes", "NothingFound",
    "Process", "ProfileError", "Rank", "Result", "Run", "TltuiError", "TltuiWarning", "Unavailable", "absent", "caches",
    "check", "damage", "demo", "diff", "exports", "extract", "fusion", "grep", "guards", "layers", "log", "ls", "matrix",
    "metrics", "open", "passes", "problems", "provenance", "ranks", "recompiles", "records", "runtime", "shapes", "source",
    "stacks", "stragglers", "summary", "timing", "vllm", "where",
]  # fmt: skip
