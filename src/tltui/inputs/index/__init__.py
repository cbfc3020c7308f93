"""Saved indexes (`.tlx`): what the logs of a job were, so that they need not be scanned again, or need not be there at all."""
