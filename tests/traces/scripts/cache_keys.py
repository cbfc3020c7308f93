import string, torch
import torch._inductor.config as inductor
inductor._cache_config_ignore_prefix = [c for c in string.ascii_letters + "_" if c != "e"]  # to keep the trace small
@torch.compile
def f(x): return x.sin() + 1
x = torch.randn(8)
f(x)
torch._dynamo.reset()
inductor.epilogue_fusion = False
f(x)
