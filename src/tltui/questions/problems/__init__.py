"""Errors, graph breaks, restarts and absent artifacts."""
