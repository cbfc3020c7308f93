"""Several inputs of one job as one run: which of their processes are the same one, and what each of them adds."""
