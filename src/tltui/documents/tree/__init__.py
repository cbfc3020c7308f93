"""The tree on the left, and lists of what is in a run."""
