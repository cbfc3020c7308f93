"""The ranks that saved indexes tell of as lanes: no log is read for them, and no node is made."""

from __future__ import annotations

import math
from collections.abc import Generator
from weakref import WeakKeyDictionary

from tltui.analyses.ranks.course import TOGETHER_US, Course, Lane, Older, Times
from tltui.analyses.ranks.saved import Courses, times_of_saved
from tltui.inputs.index.reader import SavedProcess
from tltui.model.nodes import Process
from tltui.model.ref import Ref
from tltui.sources.crowd import Crowd
from tltui.sources.found import Saved

PIECE = 256
"""Ranks that are read without a pause."""


class Told:
    """What the indexes of a crowd tell of its processes. Each is read once, however often it is asked for."""

    def __init__(self, crowd: Crowd) -> None:
        self._courses = Courses()
        self._by_name = {_name(saved): saved.kept for saved in crowd.saved if saved.kept is not None}
        self._newest = dict(crowd.newest)
        self._others: dict[int, list[SavedProcess]] = {}
        for saved in crowd.saved:
            if saved.rank in self._newest and saved is not self._newest[saved.rank] and saved.kept is not None:
                self._others.setdefault(saved.rank, []).append(saved.kept)
        self._lanes: dict[int, Lane] = {}
        self.damaged: dict[str, str] = {}
        """Index → why what it has of some ranks could not be read."""

    @property
    def ranks(self) -> list[int]:
        """The ranks that are told of, in order."""
        return list(self._newest)

    def of(self, process: Process) -> SavedProcess | None:
        """What is told of a process that was read too; None where its log has more by now than the index knows."""
        kept = self._by_name.get((process.log.path, process.pid, process.twin))
        return kept if kept is not None and kept.records == process.records else None

    def course(self, kept: SavedProcess) -> Course:
        """What a process compiled. Raises `BadIndex`, OSError."""
        return self._courses.of(kept)

    def times(self, kept: SavedProcess) -> Times:
        """When, and how long. Raises `BadIndex`, OSError."""
        return times_of_saved(kept)

    def lane(self, rank: int) -> Lane | None:
        """A rank, as its index tells of it. Raises `BadIndex`, OSError."""
        if rank not in self._lanes:
            newest = self._newest[rank]
            kept = newest.kept
            if kept is None or not kept.is_traced:
                return None
            others = self._others.get(rank, [])
            place = str(Ref(rank, len(others) + 1 if others else None)).removesuffix(":")
            self._lanes[rank] = Lane(
                rank, _key(newest, kept), place if others or len(self._newest) > 1 else "", newest.host, newest.pid, kept.ended,
                True, kept.last, self.course(kept), self.times(kept),
                tuple(_older(own, n, kept) for n, own in enumerate(others, 1)), kept.inside,
            )  # fmt: skip
        return self._lanes[rank]


_told: WeakKeyDictionary[Crowd, Told] = WeakKeyDictionary()


def told(crowd: Crowd) -> Told:
    """What the indexes of a crowd tell."""
    found = _told.get(crowd)
    if found is None:
        found = _told[crowd] = Told(crowd)
    return found


def read_told(crowd: Crowd, without: frozenset[int]) -> Generator[None, None, list[Lane]]:
    """Read the lanes of all ranks but these, with a pause after each piece. What an index has of a rank and cannot be read costs
    that rank, and is in `Told.damaged`."""
    known, lanes = told(crowd), []
    for number, rank in enumerate(rank for rank in known.ranks if rank not in without):
        try:
            lane = known.lane(rank)
        except OSError as error:
            known.damaged[crowd.newest[rank].found.index] = error.strerror or str(error)
            lane = None
        if lane is not None:
            lanes.append(lane)
        if number % PIECE == PIECE - 1:
            yield
    return lanes


def _name(saved: Saved) -> tuple[str, int, int]:
    return saved.found.name, saved.pid, saved.kept.twin if saved.kept is not None else 0


def _key(saved: Saved, kept: SavedProcess) -> str:
    """As `Process.key` of the process when its log is read."""
    return f"{saved.found.name}\0{saved.pid}" + (f"\0{kept.twin}" if kept.twin else "")


def _older(own: SavedProcess, number: int, newest: SavedProcess) -> Older:
    at_once = not math.isnan(own.last) and newest.is_dated and newest.started > 0 and own.last - newest.started * 1e6 > TOGETHER_US
    return Older(own.pid, str(Ref(own.rank, number)), own.doing, at_once)
