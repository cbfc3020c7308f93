"""Calls that compile the functions of a run in advance."""
