import torch, torch.nn as nn
m=nn.Sequential(nn.Linear(16,16), nn.GELU(), nn.Linear(16,4)); c=torch.compile(m)
for bs in (2,2):
    c(torch.randn(bs,16)).sum().backward(); m.zero_grad()
