"""A case: several inputs of one job as one run. What each kind of input is there of, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tltui.inputs.table import FORMS
from tltui.model.artifacts import artifact_name
from tltui.model.joining.same import EXACT
from tltui.model.run import Run
from tltui.model.writers_of_text import is_of_job


@dataclass(frozen=True, slots=True)
class Holding:
    """What there is of one form of input."""

    form: str
    """As `tltui.inputs.table` names it."""
    title: str
    ranks: tuple[int, ...]
    """Of the processes that state one."""
    processes: int
    files: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """One fact that two inputs tell differently, or two processes with one number that are not the same."""

    ref: str
    """The artifact as the first input has it; '' for processes."""
    name: str
    """Of the artifact; for processes their pid."""
    first: str
    """Names of the two inputs."""
    second: str
    why: str


def holdings(run: Run) -> list[Holding]:
    """What there is, the form that tells most first."""
    found = []
    for name, form in FORMS.items():
        models = [model for model in run.models if model.form == name]
        processes = [process for model in models for process in model.processes if is_of_job(name, process)]
        if processes:
            ranks = sorted({process.rank for process in processes if process.rank is not None})
            found.append(Holding(name, form.title, tuple(ranks), len(processes), len(models)))
    return found


def is_plain(run: Run) -> bool:
    """Whether traces alone tell of its processes: then nothing needs to be said of it."""
    models = [model for model in run.models if any(is_of_job(model.form, process) for process in model.processes)]
    return run.joining.is_plain(models)


def conflicts(run: Run) -> Iterator[Conflict | None]:
    """What inputs tell differently, of what they should tell alike byte for byte; None in between. Reads those texts.

    Of inputs that are still written nothing is said: what another one tells already may come yet.
    """
    for apart in run.joining.apart:
        yield Conflict("", str(apart.other.pid), apart.base.log.path, apart.other.log.path, apart.why)
    for merged in run.joining.merged:
        if not all(process.log.ended for process in merged.members):
            continue
        for twins in merged.twins:
            (member, record), (other, again) = twins.kept, twins.left
            kept, left = merged.members[member].log, merged.members[other].log
            name = artifact_name(kept.kind(record))
            if name not in EXACT:
                continue
            try:
                same = (kept.md5(record) or "").lower() == (left.md5(again) or "").lower()
            except OSError:
                same = True  # what cannot be read is said elsewhere
            if same:
                yield None
                continue
            owner = merged.model.owner(merged.places[member][record])
            yield Conflict(f"{owner.ref}:{name}", name, kept.path, left.path, "they differ")
