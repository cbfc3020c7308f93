"""Random numbers of dropout in the flow of data: Inductor has them in memory at once."""

from __future__ import annotations

from tltui.questions.provenance.dataflow.value_graph import lowering, values_of
from tltui.questions.provenance.graph_names import parse_graph

GRAPH = """\
class <lambda>(torch.nn.Module):
    def forward(self, seeds: "i64[1][1]cpu", x: "f32[4, 8][8, 1]cpu"):
        seed: "i64[][]cpu" = torch.ops.prims.inductor_lookup_seed.default(seeds, 0)
        random: "f32[4, 8][8, 1]cpu" = torch.ops.prims.inductor_random.default([4, 8], seed, 'rand')
        gt: "b8[4, 8][8, 1]cpu" = torch.ops.aten.gt.Scalar(random, 0.1)
        mul: "f32[4, 8][8, 1]cpu" = torch.ops.aten.mul.Tensor(gt, x)
        return (mul,)
"""


def test_what_reads_random_numbers_does_not_compute_them() -> None:
    [values] = values_of(parse_graph(GRAPH.split("\n"))).values()
    memory = lowering(values, set(), set())
    assert "random" in memory.realized
    assert memory.carried["random"] == {"random", "seed"} and memory.carried["mul"] == {"mul", "gt"}
