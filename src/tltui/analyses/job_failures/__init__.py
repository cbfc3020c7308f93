"""How a job ended: tracebacks in its output, reports of launchers, launches, and the order of causes and consequences."""
