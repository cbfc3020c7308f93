"""Torch's prose: a module for each grammar. What a grammar can't read is quoted whole, and nothing is claimed about it."""
