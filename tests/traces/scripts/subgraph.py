"""A region that is compiled once and called three times, and a torch.cond: functions of their own in the generated code; not recorded.  subgraph.py TRUTH"""
import sys
import truth_recorder
import torch
torch.manual_seed(0); torch.set_num_threads(1)

@torch.compiler.nested_compile_region
def block(x, w):
    y = torch.softmax(x @ w, -1)
    return x + torch.tanh(y)

def big(x):
    return (x * 2).sin()

def small(x):
    return torch.relu(x).cumsum(-1)

@torch.compile
def run(x, w, flag):
    for _ in range(3):
        x = block(x, w)
    x = torch.cond(flag, big, small, (x,))
    return (x @ w).sum()

with torch.no_grad():
    run(torch.randn(32, 32), torch.randn(32, 32), torch.tensor(True))
truth_recorder.save(sys.argv[1])
