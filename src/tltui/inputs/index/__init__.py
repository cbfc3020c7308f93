"""Saved indexes (`.tlx`): the scan results of the logs of a job, usable without a new scan or without the logs."""
