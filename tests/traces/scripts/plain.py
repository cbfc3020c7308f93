"""Two layers of attention, forward and backward; provenance not recorded, caches off.  plain.py TRUTH"""
import sys
import truth_recorder
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)

class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.out, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def attend(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        w = (q @ k.transpose(-1, -2)) / (d // 4) ** 0.5
        w = torch.softmax(w, -1)
        return self.out((w @ v).transpose(1, 2).reshape(b, s, d))

    def forward(self, x):
        x = x + self.attend(self.n1(x))
        h = F.gelu(self.up(self.n2(x)))
        return x + self.down(h)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(64), Layer(64)])
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.head(x)).mean()

torch.compile(Model())(torch.randn(8, 32, 64)).backward()
truth_recorder.save(sys.argv[1])
