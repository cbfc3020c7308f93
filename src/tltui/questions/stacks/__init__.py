"""Python stacks and tracebacks."""
