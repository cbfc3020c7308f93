"""On which node each rank ran, as far as that is known: what an index says, else the directories in which the logs of several nodes
lie, if they do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from tltui.analyses.ranks.course import Lane
from tltui.model.run import Run


def with_hosts(run: Run, lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """The lanes, those without a host with the name of the directory of their log, where there is one for a few ranks each."""
    folders = {process.key: os.path.dirname(process.log.path) for process in run.processes()}
    used = {folders.get(lane.process, "") for lane in lanes}
    if any(lane.host for lane in lanes) or not 1 < len(used) <= len(lanes) // 2 or "" in used:
        return tuple(lanes)
    return tuple(replace(lane, host=os.path.basename(folders[lane.process])) for lane in lanes)
