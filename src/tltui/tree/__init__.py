"""The tree on the left, and the lists of a run's contents."""
