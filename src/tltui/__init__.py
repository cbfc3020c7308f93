"""tltui: the terminal workbench for torch.compile.

>>> import tltui
>>> run = tltui.open("tests/traces/torch-2.13/recompiles")   # a trace directory, a log, an archive; several; profiles=…
>>> run
<tltui run recompiles: 1 process, 5 compiles>
>>> run["0/1"].status
'ok'
>>> tltui.recompiles(run)                                    # print() shows the page, .to_records() is for polars or pandas
<tltui recompiles: 10 rows; print() shows the page>

`tltui.open` opens traces, `Run` says what is in one, and each question that the program answers is a function: `summary`,
`problems`, `recompiles`, `stacks`, `guards`, `shapes`, `caches`, `timing`, `runtime`, `ranks`, `matrix`, `stragglers`, `where`,
`provenance`, `layers`, `fusion`, `passes`, `absent`, `metrics`, `exports`, `vllm`; `ls`, `check`, `diff`, `grep`, `source`,
`records`, `log`, `damage`, `extract`. docs/api.md shows them at work. Nothing of it is loaded before it is used.
"""

__version__ = "0.1.0"

__all__ = [
    "Artifact",
    "BadAddress",
    "BadArgument",
    "CheckResult",
    "Closed",
    "Compile",
    "Frame",
    "Node",
    "Nodes",
    "NothingFound",
    "Process",
    "ProfileError",
    "Rank",
    "Result",
    "Run",
    "TltuiError",
    "TltuiWarning",
    "Unavailable",
    "__version__",
    "absent",
    "caches",
    "check",
    "damage",
    "demo",
    "diff",
    "exports",
    "extract",
    "fusion",
    "grep",
    "guards",
    "layers",
    "log",
    "ls",
    "matrix",
    "metrics",
    "open",
    "passes",
    "problems",
    "provenance",
    "ranks",
    "recompiles",
    "records",
    "runtime",
    "shapes",
    "source",
    "stacks",
    "stragglers",
    "summary",
    "timing",
    "vllm",
    "where",
]  # fmt: skip
"""But for the version they are those of `tltui.api`, which is imported with the first of them (PEP 562): the command line starts
without it."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tltui' has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module("tltui.api"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
