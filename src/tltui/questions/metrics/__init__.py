"""Compilation metrics."""
