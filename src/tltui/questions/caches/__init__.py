"""Cache hits, misses and bypasses, and how keys differ."""
