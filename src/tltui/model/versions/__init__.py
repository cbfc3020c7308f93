"""Which torch wrote a log, and which torch has what."""
