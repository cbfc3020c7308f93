"""Records, log lines, search, damage and the list of pages."""
