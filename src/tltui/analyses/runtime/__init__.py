"""Where the time of a run goes: what a profile says of compiles, graphs, kernels, lines and of what ran eagerly."""
