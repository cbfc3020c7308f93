"""Parallel executors: processes of this machine, the workers of a dask cluster, the ranks of an MPI job.

All of them implement `concurrent.futures.Executor`, and `gather` maps a function over parts with them (`gather.py`).
"""
