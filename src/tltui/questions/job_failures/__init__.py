"""Failures of a job, from its output."""
