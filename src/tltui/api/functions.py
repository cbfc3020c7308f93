"""Functions of the API by name, for the methods that are shorthands of them.

The modules that define them import nodes and runs, which therefore cannot import these modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Name → function. Filled by `commands.py` and `views.py`, which `tltui.api` imports first."""
