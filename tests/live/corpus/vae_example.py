"""PyTorch examples, vae/main.py: a variational autoencoder, and samples from its decoder."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.fc3, self.fc4 = nn.Linear(4, 32), nn.Linear(32, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar, noise):
        return mu + noise * torch.exp(0.5 * logvar)

    @torch.compile(backend="aot_eager")
    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x, noise):
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar, noise)), mu, logvar


@torch.compile(backend="aot_eager")
def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


model = VAE()
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images = torch.arange(22 * 64.0).reshape(22, 1, 8, 8).cos().abs()
for epoch in range(2):
    for data in images.split(8):
        optimizer.zero_grad()
        recon, mu, logvar = compiled(data, torch.ones(len(data), 4))
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    with torch.no_grad():
        print(f"epoch {epoch} sample {model.decode(torch.ones(16, 4)).mean().item():.5f}")
