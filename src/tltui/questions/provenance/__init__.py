"""Provenance: source line to graph node to kernel, and back."""
