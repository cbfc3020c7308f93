"""Two ranks compile; then rank 1 ends as the argument says: `recorded` (an exception that torchrun is told of), `segfault`."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def settings(rank: int) -> int:
    try:
        return {0: 1}[rank]
    except KeyError as missing:
        raise RuntimeError(f"no settings for rank {rank}") from missing


@torch.compile(backend="eager")
def step(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


@record
def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    step(torch.ones(3))
    dist.barrier()
    if rank == 1 and "segfault" in sys.argv:
        os.kill(os.getpid(), signal.SIGSEGV)
    if rank == 1:
        settings(rank)
    time.sleep(60)


main()
