"""What the caches answered, and what their keys are made of."""
