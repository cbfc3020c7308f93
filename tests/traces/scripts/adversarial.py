"""A generator and a discriminator with spectral norm, each compiled; not recorded, with guards.  adversarial.py TRUTH"""

import sys

import truth_recorder
import torch
from torch import nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4 * 4 * 16)
        self.up1 = nn.ConvTranspose2d(16, 8, 4, 2, 1)
        self.bn1 = nn.BatchNorm2d(8)
        self.up2 = nn.ConvTranspose2d(8, 1, 4, 2, 1)

    def forward(self, z):
        x = F.relu(self.fc(z)).view(-1, 16, 4, 4)
        x = F.relu(self.bn1(self.up1(x)))
        return torch.tanh(self.up2(x))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.utils.spectral_norm(nn.Conv2d(1, 8, 4, 2, 1))
        self.c2 = nn.Conv2d(8, 16, 4, 2, 1)
        self.fc = nn.Linear(16 * 16, 1)

    def forward(self, x):
        x = F.leaky_relu(self.c1(x), 0.2)
        x = F.leaky_relu(self.c2(x), 0.2)
        return self.fc(x.flatten(1))


truth_recorder.with_guards()
G, D = Generator(), Discriminator()
g, d = torch.compile(G), torch.compile(D)
og = torch.optim.SGD(G.parameters(), 0.1)
od = torch.optim.SGD(D.parameters(), 0.1)
for _ in range(2):
    z = torch.randn(4, 8)
    real = torch.randn(4, 1, 16, 16)
    fake = g(z)
    od.zero_grad()
    (F.softplus(-d(real)) + F.softplus(d(fake.detach()))).mean().backward()
    od.step()
    og.zero_grad()
    F.softplus(-d(fake)).mean().backward()
    og.step()
truth_recorder.save(sys.argv[1])
