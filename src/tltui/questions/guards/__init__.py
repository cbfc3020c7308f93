"""Guards of compiled code."""
