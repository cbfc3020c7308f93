"""TORCH_LOGS text: the output of torch's loggers on stderr, mixed with other output."""
