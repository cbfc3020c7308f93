"""Torch's rules for `TORCH_COMPILE_DYNAMIC_SOURCES`: those of `is_dynamic_source` in torch/_dynamo/variables/builder.py (2.13)."""

from __future__ import annotations

import re

_DIM = re.compile(r"^(.+):(\d+)$")


def matches(value: str, source: str) -> bool:
    """Return whether torch makes a source dynamic for a value of the variable."""
    for entry in value.replace(" ", "").split(","):
        if not entry:
            continue
        dim = _DIM.match(entry)
        pattern = dim[1] if dim else entry
        if pattern == source or re.match(pattern, source):
            return True
    return False


HOSTILE = (
    "L['x']", "L['x1']", "L['xx']", "L['X']", "L['d']['use-cache']", "L['d']['use_cache']", "L['d']['a b']", "L['d']['a,b']",
    "L['d']['ab']", "L['d']['a']", "L['d']['a.b']", "L['d']['a*b']", "L['d']['[a]']",
    "L['d']['(a']", "L['d']['a)']", "L['d']['a|b']",
    "L['d']['^a$']", "L['d']['a$']", "L['d']['\\\\']", "L['d']['\\n']", 'L[\'d\']["it\'s"]', "L['d']['a:0']", "L['d']['a:']",
    "L['d']['é']", "L['d']['日本']", "L['d']['{3}']", "L['d']['a+']", "L['d']['?']", "L['d'][0]", "L['d'][10]", "L['d'][1]",
    "L['d'][(1, 2)]", "L['args'][0]", "L['args'][0]._base", "L['args'][1]", "L['self'].i", "L['self'].ii", "L['self'].layers[0].i",
    "L['self']._modules['0'].i", "G['N']", "L['d']['']", "L['d']['#']", "L['d']['~ ! @']", "L['kwargs']['input_ids']",
)  # fmt: skip
"""Sources with every sign that means something to a regular expression, a shell or torch's list."""
