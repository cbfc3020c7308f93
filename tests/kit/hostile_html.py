"""A trace that would like to be markup, and a reader of HTML that tells what became of a file."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from made_logs import Log

from tltui.model.run import Run

NAME = "f\"onmouseover='alert(1)'<script>alert(2)</script>`${x}`"
FILE = "/home/\"><img src=x onerror=alert(3)>/javascript:alert(4)//f.py"
TEXT = (
    "</pre></main></body><script>alert(5)</script><!-- <![CDATA[ &lt;b&gt; &#x3c;i&#x3e;\n"
    "def f(x):  # File: javascript:alert(6):3 in f\n"
    '    </details></summary><style>*{display:none}</style><base href="https://evil.example/">\n'
    "    \x1b[2J\x1b]0;title\x07 \x00 \u202egnp.exe\u2066 \x9b31m \u2028<svg onload=alert(7)>\n"
    "    ````\n</code></details> @everyone #12 www.evil.example\n"
    f'  File "{FILE}", line 3, in <iframe src=//evil.example>\n'
)
VOID = {"meta", "base", "img", "br", "hr", "input", "link"}
"""Tags that need no end."""
TAGS = {"html", "head", "meta", "title", "style", "body", "header", "nav", "main", "footer", "section", "details", "summary", "pre",
        "span", "a", "ul", "li", "p", "div", "h1", "h2", "h3", "h4", "h5", "h6"}  # fmt: skip
ATTRIBUTES = {"lang", "class", "charset", "http-equiv", "content", "name", "id", "href", "rel", "title", "aria-label", "open"}


BAR = re.compile(r'<svg viewBox="0 0 \d+ 8" preserveAspectRatio=none aria-hidden=true><path d="[Mhvz\d -]+"/></svg>')
"""The image over a run of block elements: nothing of it comes from a trace but its lengths."""


class Read(HTMLParser):
    """What a browser makes of a file: tags, attributes, ids, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.comments: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(BAR.sub("", text))
        self.close()
        assert not self._open, f"never closed: {self._open}"
        self.ids = [value for name, value in self.attributes if name == "id"]
        self.links = [value for name, value in self.attributes if name == "href"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> where it is not open"

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def harmless(self) -> None:
        """Nothing that a trace says became markup, and no link leads anywhere else."""
        assert self.tags <= TAGS, self.tags - TAGS
        assert {name for name, _ in self.attributes} <= ATTRIBUTES
        assert not self.comments
        assert len(set(self.ids)) == len(self.ids)
        inside = {f"#{identifier}" for identifier in self.ids}
        assert all(link in inside or link.startswith(("https://", "http://")) for link in self.links)


def hostile(path: Path) -> Run:
    """Return a run whose names and texts are full of markup."""
    log = Log(path)
    log.add("str", [FILE, 0], frame=None)
    log.add("dynamo_start", {"stack": [{"line": 3, "name": NAME, "filename": 0}]})
    log.add("dynamo_output_graph", {"sizes": {}}, TEXT)
    log.add("inductor_output_code", {"filename": FILE}, TEXT)
    log.artifact(f"custom {NAME}", TEXT)
    log.artifact("dynamo_graph_break_reason", "Graph break in user code at " + FILE + ":3\nReason: " + TEXT)
    log.metrics(fail_type=NAME, fail_reason=TEXT, fail_user_frame_filename=FILE, fail_user_frame_lineno=3, co_name=NAME)
    log.add("dynamo_start", {"stack": [{"line": 3, "name": NAME, "filename": 0}]}, compile_=1)
    log.artifact("recompile_reasons", TEXT, compile_=1)
    log.metrics(compile_=1)
    return log.open()
