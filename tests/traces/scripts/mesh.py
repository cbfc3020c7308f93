"""Tensor and data parallel on a 2 x 2 mesh: all ranks compute the same, each in its own groups."""
import torch, torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
torch.manual_seed(rank)


@torch.compile
def block(x, w):
    y = fc.all_reduce(x @ w, "sum", mesh["tp"].get_group())
    return fc.all_reduce(y.relu(), "sum", mesh["dp"].get_group())

@torch.compile(backend="aot_eager")
def gather(x):
    return fc.all_gather_tensor(x, 0, mesh["tp"].get_group()) + 1


block(torch.randn(4, 8), torch.randn(8, 8))
gather(torch.randn(4))
dist.barrier()
dist.destroy_process_group()
