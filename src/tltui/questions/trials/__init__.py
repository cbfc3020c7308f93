"""Trials of remedies: which changes need no edit, and what they did."""
