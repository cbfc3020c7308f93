"""Search in large texts."""
