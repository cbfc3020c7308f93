"""Matrix multiplications that Inductor tunes on the CPU, with templates in C++ and frozen parameters.

    TORCHINDUCTOR_MAX_AUTOTUNE=1 TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 TORCH_TRACE=trace python autotune.py 2>output.txt

The trace and the output are of one run.
"""

import torch
import torch._inductor.config as inductor

inductor.max_autotune_gemm_backends = "ATEN,CPP"
inductor.freezing = True
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.second = torch.nn.Linear(128, 512)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        scores = torch.bmm(hidden.view(4, 8, 128), hidden.view(4, 8, 128).transpose(1, 2))
        return self.second(hidden).sum() + scores.sum()


net = torch.compile(Net().eval())
with torch.no_grad():
    print(f"{net(torch.ones(32, 64)).item():.3f}")
