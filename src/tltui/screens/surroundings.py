"""What every screen works with."""

from __future__ import annotations

from dataclasses import dataclass, field

from tltui.config import Config
from tltui.model.run import Run
from tltui.running.job import Job
from tltui.work.scheduler import Scheduler, Task


@dataclass(frozen=True)
class Surroundings:
    """What every screen works with."""

    run: Run
    config: Config
    scheduler: Scheduler
    ascii_only: bool
    mouse: bool
    writing: list[Task] = field(default_factory=list)
    """Files that are being written."""
    typed: dict[str, list[str]] = field(default_factory=dict)
    """What was answered to questions of one kind, the latest last."""
    job: Job | None = None
    """What tltui started, where it did."""
