"""Inputs besides traces, presented as logs: TORCH_LOGS text, debug directories, archives, tlparse's output."""
