"""A small module trained for one step: forward, and a backward that is compiled when it is first needed."""
import os

import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
torch.compile(model, backend=os.environ["BACKEND"])(torch.randn(2, 4)).sum().backward()
