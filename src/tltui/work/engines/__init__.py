"""Who does many like things at once: processes of this machine, the workers of a dask cluster, the ranks of an MPI job.

All of them are one seam, a `concurrent.futures.Executor`, and `gather` has them do a function of each part (`gather.py`).
"""
