import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29544", RANK="0", WORLD_SIZE="1")
dist.init_process_group("gloo")
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(64, 640)
        self.b = torch.nn.Linear(640, 640)
        self.c = torch.nn.Linear(640, 8)

    def forward(self, x):
        x = torch.relu(self.a(x))
        x = torch.nn.functional.gelu(self.b(x)) * 2
        return self.c(x).sigmoid()


model = torch.compile(DistributedDataParallel(Net(), bucket_cap_mb=1))
for _ in range(2):
    model(torch.randn(4, 64)).sum().backward()
dist.destroy_process_group()
