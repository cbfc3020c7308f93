"""Differences between two artifacts, compiles, ranks or runs."""
