"""What a page lacks because an index does not have the texts, and the logs are not here."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

LOGS, NAMED = 4, 6
Away = tuple[str, Elsewhere]
"""A compile that cannot be told of, and where its texts are."""


def add_elsewhere(page: Page, away: Sequence[Away], view: str) -> None:
    """Compiles that a page of several cannot tell of, by the log that has their texts. `view`: the page."""
    if not away:
        return
    page.heading(f"Not in the index ({fmt.plural(len(away), 'compile')})")
    page.say("What this page needs of them is in their logs:", "  ", tokens.WARN)
    logs: dict[tuple[str, str], list[Away]] = {}
    for ref, error in away:
        logs.setdefault((error.host, error.path), []).append((ref, error))
    for (host, path), own in list(logs.items())[:LOGS]:
        pieces: list[Piece] = []
        for ref, _ in own[:NAMED]:
            pieces += [(f"[{ref}]", tokens.LINK, ref), " "]
        more = f"and {fmt.count(len(own) - NAMED)} more " if own[NAMED:] else ""
        page.row([*pieces, more, f"on {sanitize(f'{host}:{path}')}"])
        if command := own[0][1].command(view=view):
            page.add("    ", (command, tokens.STRONG))  # in one line: it is there to be copied
    if len(logs) > LOGS:
        page.say(f"and {fmt.plural(len(logs) - LOGS, 'more log')}", "  ", tokens.DIM)
