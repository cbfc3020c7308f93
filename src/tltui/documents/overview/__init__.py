"""The page of a node of the tree: run, rank, frame, compile, attempt, phase."""
