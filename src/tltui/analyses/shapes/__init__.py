"""Sizes: which are dynamic, which were fixed, and by which line."""
