import torch
torch._dynamo.config.compiled_autograd=True
m=torch.nn.Sequential(torch.nn.Linear(4,4), torch.nn.ReLU(), torch.nn.Linear(4,1))
@torch.compile
def train(x):
    l=m(x).sum(); l.backward(); return l
train(torch.randn(3,4))
