"""JSON payloads laid out: one value per line, so that they can be read, searched and folded.

orjson does nearly all of them. It refuses NaN, lone surrogates and deep nesting, and it rounds integers beyond 64
bits: those go through `json`. What neither can lay out without changing it is shown as it was stored.
"""

from __future__ import annotations

import json
import re

from tltui.text.bytes_document import BytesDocument
from tltui.text.json_codec import JSONDecodeError, JSONEncodeError, dumps, loads
from tltui.text.payload import Payload

UP_TO = 4 << 20
"""A larger payload is shown as stored: laying it out would hold the interpreter for too long."""

NOT_JSON = "not JSON"
_LONG_NUMBER = re.compile(rb"\d{19}")


def lay_out(data: bytes) -> tuple[bytes, str]:
    """JSON text indented, and '' as the remark; text that is not laid out is given back with the reason."""
    if not _LONG_NUMBER.search(data):
        try:
            return dumps(loads(data), indent=True), ""
        except (JSONDecodeError, JSONEncodeError, RecursionError):
            pass
    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"))
        # A lone surrogate has no bytes: backslashreplace writes it as the very escape that JSON has for it.
        return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace"), ""
    except RecursionError:
        return data, "nested too deeply to lay out"
    except UnicodeDecodeError:
        return data, "not UTF-8"
    except JSONDecodeError:
        return data, NOT_JSON
    except ValueError:
        return data, "holds a number that is too long to lay out"


def json_document(
    payload: Payload,
    *,
    ref: str = "",
    title: str = "",
    badge: str = "",
    raw: bool = False,
    result: object | None = None,
) -> BytesDocument:
    """The document of a payload that is said to be JSON. With `raw` as stored."""
    if raw or payload.size > UP_TO:
        note = "" if raw else f"{payload.size / (1 << 20):.1f} MB: as stored"
        return BytesDocument(payload, "json", ref=ref, title=title, badge=_join(badge, note), result=result)
    data, note = lay_out(payload.read())
    shown = payload if note else Payload.of(data)
    language = "text" if note == NOT_JSON else "json"
    return BytesDocument(shown, language, ref=ref, title=title, badge=_join(badge, note), result=result)


def _join(*badges: str) -> str:
    return " · ".join(badge for badge in badges if badge)
