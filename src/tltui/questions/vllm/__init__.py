"""Compile calls of vLLM."""
