"""`tltui --version`, and with `--verbose` what a report of a fault should have: what tltui runs on, and where its files are."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tltui import __version__
from tltui.cli.failure import Failure, safe

if TYPE_CHECKING:
    from pathlib import Path

NEEDED = ("textual", "rich", "pygments", "platformdirs", "wcwidth", *(("tomli",) if sys.version_info < (3, 11) else ()))
MORE = (("dask", "distributed", "--engine dask://HOST:PORT"), ("mpi", "mpi4py", "--engine mpi"))
"""Extras, the package of each, and what it is for."""


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """One line, or all."""
    if not options.version:
        raise Failure("--verbose goes with --version")
    lines = [f"tltui {__version__}", *(_verbose() if options.verbose else ())]
    yield ("\n".join(safe(line) for line in lines) + "\n").encode(sys.stdout.encoding or "utf-8", "backslashreplace")


def _verbose() -> Iterator[str]:
    import platform

    from tltui.config import cache_path, config_path, state_path
    from tltui.text.json_codec import BACKEND

    yield f"python    {platform.python_version()} ({platform.python_implementation()})  {sys.executable}"
    yield f"system    {platform.system()} {platform.release()} {platform.machine()}"
    yield f"code      {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}"
    for name in NEEDED:
        yield f"          {name} {_installed(name) or 'is not installed'}"
    yield f"json      {BACKEND}"
    yield f"zstd      {_zstd()}"
    for extra, name, use in MORE:
        yield f"{extra:<9} {name} {found}" if (found := _installed(name)) else f"{extra:<9} {name} is not installed: no {use}"
    config = config_path()
    yield f"config    {config}  {'is read' if config.is_file() else 'is not there: defaults'}"
    yield f"cache     {cache_path()}  {_writable(cache_path(), 'nothing packed can be opened, and there is no crash.log')}"
    yield f"state     {state_path()}  {_writable(state_path(), 'marks and widths of panes are not kept')}"


def _installed(name: str) -> str:
    """The version of a package; '' where it is not there."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _zstd() -> str:
    import shutil

    from tltui.inputs.archives.decompress import zstd_decompressor

    if (make := zstd_decompressor()) is not None:
        return str(make.__module__)
    program = shutil.which("zstd")
    return f"the program {program}" if program else "neither Python nor a program has it: no .zst file can be opened"


def _writable(path: Path, otherwise: str) -> str:
    """Whether a directory can be written to, or made. Nothing is made to find out."""
    there = next(own for own in (path, *path.parents) if own.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return "can be written" if there == path else "is made when it is needed"
    return f"cannot be written: {otherwise}"
