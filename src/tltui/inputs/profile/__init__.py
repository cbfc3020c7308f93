"""What `torch.profiler` exports (`export_chrome_trace`, `tensorboard_trace_handler`): recognised, streamed, kept as columns.

Knows nothing of compiles: what the events mean for a run is said by `tltui.analyses.runtime`.
"""
