"""Why the ranks of a run cannot be compared with one another."""

from __future__ import annotations

from tltui.analyses.ranks.ranges import ranges
from tltui.documents import format as fmt
from tltui.model.run import Run


def why_not(run: Run) -> str:
    """In a sentence or two."""
    numbered = [rank for rank in run.ranks if rank.number is not None]
    if len(numbered) > 1:
        return "The ranks cannot be compared: what was logged leaves out which functions were compiled."
    if numbered:
        names = {process.rank_by_name for process in numbered[0].processes} - {None}
        if len(names) > 1:
            count = fmt.plural(len(numbered[0].processes), "process", "processes")
            said = ranges(name for name in names if name is not None)
            return (
                f"The records of {count} here state rank {numbered[0].number}, though their files are named after ranks {said}: "
                "records count, so they are one rank that was started again. tltui diff compares two of them."
            )
    return "There is nothing to compare: this takes the logs of two ranks or more."
