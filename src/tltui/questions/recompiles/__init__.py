"""Recompiles: failed guards, causes and remedies."""
