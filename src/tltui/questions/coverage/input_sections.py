"""Sections about incomplete inputs: inputs of a case, ranks without a log, unreadable files, texts outside an index."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.ref import Ranks, and_more, ranges, with_noun
from tltui.model.run import Run
from tltui.questions.coverage.job_inputs import Conflict, Holding, Missing, NotRead
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize


def holding_words(holding: Holding) -> str:
    """`TORCH_LOGS text of rank 0`, `trace of 2 ranks`, `torch_compile_debug of 1 process`"""
    if len(holding.ranks) == 1:
        return f"{holding.title} of rank {holding.ranks[0]}"
    if holding.ranks:
        return f"{holding.title} of {fmt.plural(len(holding.ranks), 'rank')}"
    if holding.processes:
        return f"{holding.title} of {fmt.plural(holding.processes, 'process', 'processes')}"
    return f"{holding.title} ({fmt.plural(holding.files, 'file')})"


def add_conflicts(page: Page, conflicts: Sequence[Conflict]) -> None:
    """Add contradictions between inputs of one job."""
    if not conflicts:
        return
    page.heading("Where the inputs disagree")
    for conflict in conflicts:
        files = f"{_name(conflict.first_input)} and {_name(conflict.second_input)}"
        if conflict.ref:
            page.row([(conflict.ref, tokens.LINK, conflict.ref), "  in ", files, (f": {conflict.reason}", tokens.WARN)])
        else:
            why = f"both have a process {conflict.name}, but the two differ: {sanitize(conflict.reason)}"
            page.row([files, "  ", (why, tokens.WARN)])


def _name(path: str) -> str:
    return sanitize(os.path.basename(path))


FILES_LISTED = 4


def add_missing(page: Page, missing: Missing | None) -> None:
    """Add `Ranks 40–47 are missing, although there is a log of rank 63.`"""
    if missing is None:
        return
    alone = missing.count == 1
    ranks = and_more(missing.ranks, missing.count)
    text = f"Rank {ranks} is missing" if alone else f"Ranks {ranks} are missing"
    if missing.world_size is None:
        page.say(page.so_far(f"{text}, although there is a log of rank {missing.highest_rank}.") + _nodes(missing), "", tokens.WARN)
        return
    pieces: list[Piece] = [(word, tokens.WARN) for word in page.so_far(f"{text}: the job has").split()]
    pieces.append((f"{fmt.count(missing.world_size)} ranks, as", tokens.WARN))
    pieces += [(f"[{missing.ref}]", tokens.LINK, missing.ref), ("states." + _nodes(missing), tokens.WARN)]
    page.row([part for piece in pieces for part in (piece, " ")][:-1], "")


def _nodes(missing: Missing) -> str:
    if not missing.ranks_per_node:
        return ""
    lacking = missing.count // missing.ranks_per_node
    return (
        f" Each of the {fmt.count(missing.node_count)} nodes here has {missing.ranks_per_node} ranks: "
        f"{'one more node' if lacking == 1 else f'{fmt.count(lacking)} more nodes'} of that size would contain the missing ranks."
    )


def add_not_read(page: Page, files: Sequence[NotRead]) -> None:
    """Add `Not read: node6.tlx: it is damaged: a checksum is wrong (ranks 48–55)`, a line each file."""
    for file in files[:FILES_LISTED]:
        page.say(f"Not read: {sanitize(fmt.home(file.path))}: {file.reason}{of_ranks(file.ranks)}", "", tokens.WARN, hang="  ")
    if len(files) > FILES_LISTED:
        more = fmt.plural(len(files) - FILES_LISTED, "more file")
        page.row([(f"Not read: {more}: ", tokens.WARN), ("[damage]", tokens.LINK, "@damage")], "")


def of_ranks(ranks: Ranks) -> str:
    """Write ` (ranks 48–55)`; '' for none."""
    return f" ({with_noun(ranks)})" if ranks else ""


def why_not(run: Run) -> str:
    """Return why the ranks of a run cannot be compared, in a sentence or two."""
    numbered = [rank for rank in run.ranks if rank.number is not None]
    if len(numbered) > 1:
        return "The ranks cannot be compared because the logs do not record which functions were compiled."
    if numbered:
        names = {process.rank_by_name for process in numbered[0].processes} - {None}
        if len(names) > 1:
            count = fmt.plural(len(numbered[0].processes), "process", "processes")
            file_ranks = ranges(name for name in names if name is not None)
            return (
                f"The records of {count} here state rank {numbered[0].number}, although their files are named after ranks "
                f"{file_ranks}. The records take precedence, so these are processes of one restarted rank. tltui diff compares "
                "two of them."
            )
    return "Nothing to compare. This page needs logs from at least two ranks."


LOGS, COMPILES_LISTED = 4, 6
Away = tuple[str, Elsewhere]
"""Compile that cannot be shown, and the location of its texts."""


def add_not_indexed(page: Page, away: Sequence[Away], view: str) -> None:
    """Add compiles that a page cannot show, by the log that has their texts. `view`: the page."""
    if not away:
        return
    page.heading(f"Not in the index ({fmt.plural(len(away), 'compile')})")
    page.say("The data for this page is in their logs:", "  ", tokens.WARN)
    logs: dict[tuple[str, str], list[Away]] = {}
    for ref, error in away:
        logs.setdefault((error.host, error.path), []).append((ref, error))
    for (host, path), members in list(logs.items())[:LOGS]:
        pieces: list[Piece] = []
        for ref, _ in members[:COMPILES_LISTED]:
            pieces += [(f"[{ref}]", tokens.LINK, ref), " "]
        more = f"and {fmt.count(len(members) - COMPILES_LISTED)} more " if members[COMPILES_LISTED:] else ""
        page.row([*pieces, more, f"on {sanitize(f'{host}:{path}')}"])
        if command := members[0][1].command(view=view):
            page.add("    ", (command, tokens.STRONG))  # on one line, so that it can be copied
    if len(logs) > LOGS:
        page.say(f"and {fmt.plural(len(logs) - LOGS, 'more log')}", "  ", tokens.DIM)
