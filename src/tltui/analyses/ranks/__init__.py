"""What the ranks of a job have in common, and where they part."""
