"""Repeated blocks of a model, and the effect of compiling each block separately."""
