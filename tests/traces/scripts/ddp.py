import torch, torch.nn as nn, torch.distributed as dist, os
import torch.distributed._functional_collectives as fc
dist.init_process_group("gloo")
r=dist.get_rank()
m=nn.Sequential(*[nn.Linear(64,64) for _ in range(2)])
d=nn.parallel.DistributedDataParallel(m)
c=torch.compile(d)
for bs in ((4,4,8) if r==1 else (4,4)):
    with d.no_sync(): c(torch.randn(bs,64)).sum().backward()
dist.barrier()
@torch.compile
def ar(x, y):
    a = fc.all_reduce(x*2, "sum", dist.group.WORLD)
    b = fc.all_gather_tensor(y+1, 0, dist.group.WORLD)
    return a + 1, b * 2
ar(torch.randn(8), torch.randn(4,4))
@torch.compile
def only(x): return x.relu()+r
if r==1: only(torch.randn(3))
dist.barrier(); dist.destroy_process_group()
