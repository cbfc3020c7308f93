"""What changed between two texts."""
