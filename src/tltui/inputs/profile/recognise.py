"""Whether a file is what `torch.profiler` exports: decided by its content.

Format: torch/csrc/autograd/profiler_kineto.cpp and libkineto's output_json.cpp: one object with `traceEvents` and, before them,
`schemaVersion`, `deviceProperties` (and from torch 2.3 on `baseTimeNanoseconds`).
"""

from __future__ import annotations

import re

OTHER_JSON = "JSON, but not what torch.profiler exports: it has no traceEvents with schemaVersion or deviceProperties"
NO_JSON = "not what torch.profiler exports: no JSON object"
_OWN = re.compile(rb'"(?:schemaVersion|deviceProperties|baseTimeNanoseconds)"\s*:')
_EVENTS = re.compile(rb'"traceEvents"\s*:')
_OBJECT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"|\}|$)')


def is_profile(head: bytes, tail: bytes = b"") -> bool:
    """Whether a file that begins (and ends) like this is a profile. The keys may be in either end: nobody promised an order."""
    return _OBJECT.match(head) is not None and _EVENTS.search(head) is not None and any(map(_OWN.search, (head, tail)))


def why_not(head: bytes, tail: bytes = b"") -> str:
    """Why a file is no profile; '' where it is one."""
    if is_profile(head, tail):
        return ""
    return OTHER_JSON if _OBJECT.match(head) or head.lstrip()[:1] == b"[" else NO_JSON
