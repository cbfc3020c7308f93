"""What went wrong, what is absent, and the bars of `check`."""
