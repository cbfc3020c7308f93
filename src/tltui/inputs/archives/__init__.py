"""Compressed files, archives and standard input: what is ours in them is written once to a private cache, and read from there."""
