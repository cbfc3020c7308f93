"""What of a job is not here, in words: ranks without a log, and files that could not be read."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.ranks.missing import Missing
from tltui.analyses.unread import NotRead
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

FILES_NAMED = 4


def add_missing(page: Page, missing: Missing | None) -> None:
    """Add `Ranks 40–47 are not here, though there is a log of rank 63.`"""
    if missing is None:
        return
    alone = missing.count == 1
    what = f"Rank {missing.ranks} is not here" if alone else f"Ranks {missing.ranks} are not here"
    if missing.world_size is None:
        page.say(page.so_far(f"{what}, though there is a log of rank {missing.highest}.") + _nodes(missing), "", tokens.WARN)
        return
    pieces: list[Piece] = [(word, tokens.WARN) for word in page.so_far(f"{what}: the job has").split()]
    pieces.append((f"{fmt.count(missing.world_size)} ranks, as", tokens.WARN))
    pieces += [(f"[{missing.ref}]", tokens.LINK, missing.ref), ("states." + _nodes(missing), tokens.WARN)]
    page.row([part for piece in pieces for part in (piece, " ")][:-1], "")


def _nodes(missing: Missing) -> str:
    if not missing.ranks_of_node:
        return ""
    lacking = missing.count // missing.ranks_of_node
    return (
        f" Each of the {fmt.count(missing.nodes)} nodes here has {missing.ranks_of_node} ranks: "
        f"{'one more node' if lacking == 1 else f'{fmt.count(lacking)} more nodes'} of that size would have them."
    )


def add_not_read(page: Page, files: Sequence[NotRead]) -> None:
    """Add `Not read: node6.tlx: it is damaged: a checksum is wrong (ranks 48–55)`, a line each file."""
    for file in files[:FILES_NAMED]:
        page.say(f"Not read: {sanitize(fmt.home(file.path))}: {file.reason}{of_ranks(file.ranks)}", "", tokens.WARN, hang="  ")
    if len(files) > FILES_NAMED:
        more = fmt.plural(len(files) - FILES_NAMED, "more file")
        page.row([(f"Not read: {more}: ", tokens.WARN), ("[damage]", tokens.LINK, "@damage")], "")


def of_ranks(ranks: str) -> str:
    """Write ` (ranks 48–55)`; '' for none."""
    return f" ({'ranks' if any(sign in ranks for sign in '–, ') else 'rank'} {ranks})" if ranks else ""
