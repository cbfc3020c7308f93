"""The object around every JSON result: the page, the version of the format, the run and its part."""

from __future__ import annotations

from typing import TypedDict

SCHEMA_VERSION = 3
"""Version of all JSON results. Within a version, fields are only added."""


class Envelope(TypedDict):
    """A result with its origin."""

    view: str
    schema_version: int
    run: str
    ref: str
    result: object


def envelope(view: str, run: str, ref: str, result: object) -> Envelope:
    """Return a result with its origin.

    `view`: the page or command. `run`: the title of the run, '' without a run. `ref`: the part of the run, '' for all of it.
    """
    return {"view": view, "schema_version": SCHEMA_VERSION, "run": run, "ref": ref, "result": result}
