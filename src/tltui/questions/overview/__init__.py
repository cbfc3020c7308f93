"""Overview pages of run, rank, process, frame, compile, attempt and phase."""
