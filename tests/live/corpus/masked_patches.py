"""A masked autoencoder: a share of the patches is kept, and their number is computed from a float; images of two sizes."""
import torch

torch.manual_seed(0)


class Masked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Linear(12, 8), torch.nn.Linear(8, 12)

    def forward(self, patches, noise, ratio):
        keep = int(patches.shape[1] * (1 - ratio))
        order = noise.argsort(1)
        kept = torch.gather(patches, 1, order[:, :keep, None].expand(-1, -1, 12))
        return (self.head(self.embed(kept).tanh()) - kept).pow(2).mean()


model = torch.compile(Masked(), backend="aot_eager")
for rows, count, ratio in ((2, 16, 0.75), (2, 16, 0.5), (3, 16, 0.5), (3, 36, 0.5), (3, 36, 0.75)):
    print(f"{rows} x {count} {ratio}: {model(torch.randn(rows, count, 12), torch.rand(rows, count), ratio).item():.5f}")
