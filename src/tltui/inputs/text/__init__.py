"""TORCH_LOGS text: what torch's loggers print to stderr, amid whatever else stands there."""
