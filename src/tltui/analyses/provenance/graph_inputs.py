"""How the inputs of a lowered graph were called before: `primals_3` → `L_self_modules_fc_parameters_weight_`."""

from __future__ import annotations

import re

from tltui.analyses.parts import reader_of
from tltui.analyses.provenance.parts import DYNAMO_GRAPH, PRE_GRAPHS
from tltui.model.artifacts import Artifact, artifacts_of, units_of

HEAD = 1 << 20
"""Bytes of a graph in which its inputs stand."""
_FORWARD = re.compile(r"def forward\(self, ([^\n]*)\):")
_INPUT = re.compile(r"(\w+)\s*(?::\s*(?:\"[^\"]*\"|[^,\"]*))?(?:, |$)")


def named_inputs(artifact: Artifact) -> dict[str, str]:
    """The inputs of a graph that AOTAutograd named anew, by their order. Nothing where a compile has several graphs that could be
    the one before."""
    before = (*PRE_GRAPHS, DYNAMO_GRAPH)
    if artifact.name in before:
        return {}
    artifacts = [other for other in artifacts_of(artifact.owner) if other.attempt == artifact.attempt]
    if sum(unit.direction in ("forward", "inference") for unit in units_of(artifacts)) != 1:
        return {}
    graphs = [other for other in artifacts if other.name in before and other.record < artifact.record]
    if not graphs:
        return {}
    head = _FORWARD.search(reader_of(artifact.owner).payload(graphs[-1].record, HEAD).decode("utf-8", "replace"))
    names = _INPUT.findall(head[1]) if head else []
    return {called: name for n, name in enumerate(names) for called in (f"primals_{n + 1}", f"arg{n}_1")}
