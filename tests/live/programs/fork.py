"""A process that forks after its first compile; the child compiles something else."""
import os

import torch

torch.set_num_threads(1)


@torch.compile(backend="eager")
def parent(x):
    return x + 1


@torch.compile(backend="eager")
def child(x):
    return x * 2


parent(torch.randn(4))
pid = os.fork()
if pid == 0:
    status = 1
    try:
        child(torch.randn(4))
        status = 0
    finally:
        os._exit(status)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
