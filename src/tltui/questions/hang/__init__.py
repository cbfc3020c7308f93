"""Position of a running or killed job: open phases, collectives and sampled stacks."""
