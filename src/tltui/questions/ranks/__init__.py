"""Differences between the ranks of a job, and stragglers."""
