#!/usr/bin/env python3
"""Make saved indexes of very many ranks by varying those of a few real ones.

    make_indexes.py INDEX OUT --ranks 16384 [--per-node 8] [--seed 1]

INDEX is a lean one of some ranks that did the same (`make_ranks.py DIR --ranks 8 --compiles 200 --detail tiny`, then `tltui index
--lean`). OUT gets a file for each node of 8 ranks. Each rank has the records of one of INDEX, with its own number in them, and a
course and times of its own: times with 4 % noise; all ranks begin a compile within 40 ms. Planted, and told at the end: one rank
with another graph, one that lacks a compile, one that is slow in one, one that stops in the middle, a node with other settings, a
node whose clock is 90 s ahead.
"""

from __future__ import annotations

import argparse
import random
from array import array
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from tltui.inputs.index.format import dump_json, load_json
from tltui.inputs.index.indexed_log import RECORDS, IndexFile
from tltui.inputs.index.writer import Writer
from tltui.questions.ranks.lanes import Courses, pack_course, pack_phases, pack_times, times_of_saved
from tltui.questions.ranks.rank_course import FACETS, Course, Step, Times

NOISE = 0.04
TOGETHER_US = 40_000


class Maker:
    """Ranks, made of those of an index."""

    def __init__(self, index: IndexFile, ranks: int, per_node: int, seed: int) -> None:
        self.index, self.ranks, self.per_node = index, ranks, per_node
        self.rng = random.Random(seed)
        courses = Courses()
        self.models = [process for process in index.saved if process.compiles]
        course = courses.of(self.models[0])
        self.steps, self.sentences = course.steps, course.said
        self.times = times_of_saved(self.models[0])
        self.begins = [1.7e15 + 1e6 * at for at in accumulate(map(self.took, range(len(self.steps) - 1)), initial=0.0)]
        self.drawn = self.rng.sample(range(ranks), 4)
        self.nodes = self.rng.sample(range(ranks // per_node), 2)
        self.packed: dict[bytes, bytes] = {}
        self.columns: dict[int, tuple[Any, bytes]] = {}

    def took(self, place: int) -> float:
        seconds = self.times.took[place % len(self.times.took)]
        return seconds if seconds == seconds else 1.0

    @property
    def planted(self) -> Iterator[str]:
        """Yield the planted differences."""
        graph, missing, slow, stops = self.drawn
        yield f"rank {graph}: another graph in {self.steps[3].id}"
        yield f"rank {missing}: lacks {self.steps[5].code[0]}"
        yield f"rank {slow}: 60 s slower in {self.steps[7].id}"
        yield f"rank {stops}: stops in {self.steps[len(self.steps) // 2].id}"
        yield f"ranks {self.nodes[0] * self.per_node}-{(self.nodes[0] + 1) * self.per_node - 1}: other settings"
        yield f"ranks {self.nodes[1] * self.per_node}-{(self.nodes[1] + 1) * self.per_node - 1}: clock 90 s ahead"

    def course(self, rank: int) -> Course:
        """Return the compiles of a rank."""
        steps = list(self.steps)
        if rank == self.drawn[0]:
            steps[3] = other(steps[3], "graph")
        if rank == self.drawn[1]:
            steps = [replace(step, id=f"{n}/0") for n, step in enumerate([*steps[:5], *steps[6:]])]
        if rank == self.drawn[3]:
            middle = len(steps) // 2
            steps = [*steps[:middle], replace(steps[middle], status="missing")]
        if rank // self.per_node == self.nodes[0]:
            steps = [other(step, "settings") for step in steps]
        return Course(tuple(steps), self.sentences)

    def times_of(self, rank: int, count: int) -> Times:
        """Return the times of a rank, with noise."""
        ahead = 90e6 if rank // self.per_node == self.nodes[1] else 0.0
        begin = array("d", (round(at + ahead + self.rng.uniform(0, TOGETHER_US)) for at in self.begins[:count]))
        took = array("f", (self.took(n) * self.rng.uniform(1 - NOISE, 1 + NOISE) for n in range(count)))
        if rank == self.drawn[2]:
            took[7] += 60
        if rank == self.drawn[3]:
            took[-1] = float("nan")
        phases = {}
        for name, durations in self.times.phases.items():
            values = (durations[n % len(durations)] * self.rng.uniform(1 - NOISE, 1 + NOISE) for n in range(count))
            phases[name] = array("f", values)
        return Times(begin, took, phases)

    def records(self, log: int, rank: int) -> bytes:
        """Return the records of a log with another rank in them."""
        if log not in self.columns:
            data = self.index.section(log, RECORDS)
            size = int.from_bytes(data[:4], "little")
            self.columns[log] = load_json(data[4 : 4 + size]), data[4 + size :]
        facts, columns = self.columns[log]
        for batch in (facts["batch"], facts["last"]):
            for context in batch["contexts"]:
                context[1] = rank if context[1] is not None else None
        head = dump_json(facts)
        return len(head).to_bytes(4, "little") + head + columns

    def node(self, number: int) -> Iterator[bytes]:
        """Yield the index of a node."""
        writer = Writer()
        yield writer.begin()
        for rank in range(number * self.per_node, min((number + 1) * self.per_node, self.ranks)):
            model = self.models[rank % len(self.models)]
            course = self.course(rank)
            if course.digest not in self.packed:
                self.packed[course.digest] = pack_course(course)
            times = self.times_of(rank, len(course.steps))
            old = self.index.facts[model.log]
            row: dict[str, Any] = dict(old["processes"][model.place])
            row |= {
                "rank": rank, "compiles": len(course.steps), "course": (course.digest, self.packed[course.digest]),
                "started": 1.7e9, "times": pack_times(times), "phases": pack_phases(times), "last": times.begin[-1] + 1e6,
            }  # fmt: skip
            facts = {name: value for name, value in old.items() if name not in ("sections", "processes")}
            facts |= {"path": f"/tmp/trace/dedicated_log_torch_trace_rank_{rank}_x.log", "host": f"node{number:05}", "rank": rank,
                      "started": 1.7e9, "clock": 1.7e9}  # fmt: skip
            yield from writer.log(facts, {RECORDS: self.records(model.log, rank)}, (), {}, [row])
        yield from writer.end()


def other(step: Step, facet: str) -> Step:
    """Return a step with another digest of a facet."""
    facets = list(step.facets)
    facets[FACETS.index(facet)] = b"otherone"
    return replace(step, facets=tuple(facets))


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index")
    parser.add_argument("out", type=Path)
    parser.add_argument("--ranks", type=int, default=16_384)
    parser.add_argument("--per-node", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    maker = Maker(IndexFile(options.index), options.ranks, options.per_node, options.seed)
    total = 0
    for number in range((options.ranks + options.per_node - 1) // options.per_node):
        data = b"".join(maker.node(number))
        (options.out / f"node{number:05}.tlx").write_bytes(data)
        total += len(data)
    print(f"{options.ranks:,} ranks x {len(maker.steps)} compiles: {total:,} bytes, {total / options.ranks:,.0f} a rank")
    print(*maker.planted, sep="\n")


if __name__ == "__main__":
    main()
