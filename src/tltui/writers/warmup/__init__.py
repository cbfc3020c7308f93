"""The script of `tltui warmup`."""
