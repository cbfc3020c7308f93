"""The question `memory`: tensors saved for backward, and the estimated peak of each compiled graph."""
