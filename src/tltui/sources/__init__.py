"""Readers of input sources, one module for each kind of source."""
