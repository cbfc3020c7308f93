"""Two compiled functions called by three threads at once, with `profile_all_threads`."""
import sys
import threading

import counting
import torch
from torch._C._profiler import _ExperimentalConfig

torch._inductor.config.cpp.enable_kernel_profile = True
torch.set_num_threads(1)


@torch.compile
def waves(x):
    return (x.sin() + x.cos()).sum(-1)


@torch.compile
def products(x):
    return (x @ x).relu()


x = torch.rand(160, 160)


def work(number):
    with torch.no_grad():
        for _ in range(number):
            waves(x)
            products(x)


work(2)
experimental = _ExperimentalConfig(profile_all_threads=True)
profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], experimental_config=experimental)
with counting.window(profile) as profiler:
    others = [threading.Thread(target=work, args=(number,)) for number in (3, 5)]
    for other in others:
        other.start()
    work(2)
    for other in others:
        other.join()
profiler.export_chrome_trace(sys.argv[1] + "/profile.json")
counting.save(sys.argv[1] + "/truth.json", calls={"0/0": 10, "1/0": 10}, threads=3)
