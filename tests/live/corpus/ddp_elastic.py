"""PyTorch tutorials, ddp_tutorial.rst (elastic_ddp.py): a toy model in DistributedDataParallel on two ranks, compiled."""
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1, self.relu, self.net2 = nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def demo_basic(rank, file):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.compile(DistributedDataParallel(ToyModel()), backend="aot_eager")
    loss_fn, optimizer = nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.001)
    for step, batch in enumerate((20, 20, 12)):
        optimizer.zero_grad()
        loss = loss_fn(model(torch.ones(batch, 10)), torch.full((batch, 5), float(rank)))
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        mp.spawn(demo_basic, (os.path.join(directory, "store"),), 2)
