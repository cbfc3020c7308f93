"""Two ranks; the second compiles one function more."""
import os
import socket
import subprocess
import sys

import torch
import torch.distributed as dist


def worker():
    dist.init_process_group("gloo")
    rank = dist.get_rank()

    @torch.compile(backend="eager")
    def both(x):
        return x + 1

    @torch.compile(backend="eager")
    def only(x):
        return x * 2

    both(torch.randn(4))
    if rank == 1:
        only(torch.randn(4))
    dist.barrier()
    dist.destroy_process_group()


def launcher():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    jobs = [subprocess.Popen([sys.executable, __file__], env={**common, "RANK": str(rank)}) for rank in (0, 1)]
    statuses = [job.wait() for job in jobs]
    sys.exit(max(map(abs, statuses)))


worker() if "RANK" in os.environ else launcher()
