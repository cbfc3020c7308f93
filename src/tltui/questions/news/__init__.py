"""News of a growing run."""
