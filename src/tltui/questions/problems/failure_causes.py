"""Failures with one cause: the same type, message and raising line, in any number of functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Generic, TypeVar

from tltui.model.status import SOFT
from tltui.questions.problems.compile_problems import Failure, message_of
from tltui.questions.problems.problem_list import EagerGroup, FailedGroup

Group = TypeVar("Group", FailedGroup, EagerGroup)


@dataclass(frozen=True)
class Cause(Generic[Group]):
    """Failures with one cause."""

    group: Group
    """The first group with the occurrences of all, without the code of one function."""
    functions: int
    """The number of code objects."""


def causes_of(groups: Sequence[Group]) -> list[Cause[Group]]:
    """Join groups of failures with one cause, in the order of their first occurrence."""
    by_cause: dict[tuple[Any, ...], list[Group]] = defaultdict(list)
    for group in groups:
        by_cause[_cause_key(group)].append(group)
    return [_cause(members) for members in by_cause.values()]


def _cause_key(group: FailedGroup | EagerGroup) -> tuple[Any, ...]:
    failure = group.failure
    if failure is None or failure.raised_in is None:
        return (id(group),)
    place = (failure.raised_in.file, failure.raised_in.line)
    if failure.type in SOFT and failure.file is not None and not failure.is_raise_location:  # a graph break: your line is the cause
        place = (failure.file, failure.line)
    outcome = group.eager_reason if isinstance(group, EagerGroup) else (group.break_not_allowed, group.reached_caller)
    return (failure.is_backward, failure.type, message_of(failure.reason), place, outcome)


def _cause(members: list[Group]) -> Cause[Group]:
    first = members[0]
    occurrences = tuple(chain.from_iterable(member.occurrences for member in members))
    failure, functions = first.failure, len({member.code for member in members})
    if failure is not None and functions > 1:
        failure = replace(failure, reason=message_of(failure.reason))
    if failure is not None and len({_place(member.failure) for member in members}) > 1:
        failure = replace(failure, file=None, line=None, code=None, stack=(), innermost_frame=None)
    return Cause(replace(first, occurrences=occurrences, failure=failure), functions)


def _place(failure: Failure | None) -> tuple[str | None, int | None]:
    return (failure.file, failure.line) if failure is not None else (None, None)
