"""Run time by `torch.profiler`: graphs, kernels, eager code."""
