"""The tree on the left, and the lists of what is in a run."""
