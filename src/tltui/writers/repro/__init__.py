"""Reproduction scripts: the graph of a compile as a standalone program."""
