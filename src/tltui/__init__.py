"""tltui: the terminal workbench for torch.compile.

>>> import tltui
>>> run = tltui.open("tests/traces/torch-2.13/recompiles")   # a trace directory, a log, an archive; several; profiles=…
>>> run
<tltui run recompiles: 1 process, 5 compiles>
>>> run["0/1"].status
'ok'
>>> tltui.recompiles(run)                                    # print() shows the page, .to_records() is for polars or pandas
<tltui recompiles: 10 rows; print() shows the page>

`tltui.open` opens traces, `Run` says what is in one, and each question that the program answers is a function: `tltui.summary`,
`tltui.problems` and so on, by the names of the commands; `dir(tltui)` has them all. docs/api.md shows them at work. Nothing of it
is loaded before it is used.
"""

__version__ = "0.2.0"



def __getattr__(name: str) -> object:
    """Import `tltui.api` with the first of its names (PEP 562): the command line starts without it."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'tltui' has no attribute {name!r}")
    from importlib import import_module

    api = import_module("tltui.api")
    if name == "__all__":
        return sorted(("__version__", *api.__all__))
    if name not in api.__all__:
        raise AttributeError(f"module 'tltui' has no attribute {name!r}")
    globals()[name] = getattr(api, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})  # type: ignore[misc]
