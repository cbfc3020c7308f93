"""Dynamic shapes: symbols, size guards, specializations."""
