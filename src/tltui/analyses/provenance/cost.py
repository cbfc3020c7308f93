"""Static cost."""
from tltui.analyses.provenance.layered import StaticCost


def costs_of_unit(*a): return {}
def together(costs, keys): return StaticCost()
