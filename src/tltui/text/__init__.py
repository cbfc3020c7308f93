"""Large text, knowing nothing of torch's logs: documents, line index, highlighting, search, sanitising."""
