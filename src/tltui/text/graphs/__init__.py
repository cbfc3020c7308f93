"""FX graphs and guard trees, parsed."""
