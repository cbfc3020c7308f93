"""Runs of `torch.export`."""
