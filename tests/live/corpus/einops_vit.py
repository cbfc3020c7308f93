"""einops, docs "pytorch-examples": patches and attention of a vision transformer with rearrange, Rearrange and einsum."""
import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.to_qkv, self.to_out = nn.Linear(dim, dim * 3, bias=False), nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        q, k, v = rearrange(self.to_qkv(x), "b n (qkv h d) -> qkv b h n d", qkv=3, h=self.heads)
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        if mask is not None:
            dots = dots.masked_fill(~rearrange(mask, "b j -> b 1 1 j"), float("-inf"))
        return self.to_out(rearrange(torch.einsum("bhij,bhjd->bhid", dots.softmax(-1), v), "b h n d -> b n (h d)"))


class ViT(nn.Module):
    def __init__(self, dim=16, patch=4):
        super().__init__()
        patches = Rearrange("b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=patch, p2=patch)
        self.embed = nn.Sequential(patches, nn.Linear(patch**2 * 3, dim))
        self.cls, self.layers = nn.Parameter(torch.zeros(1, 1, dim)), nn.ModuleList(Attention(dim, 2) for _ in range(2))

    def forward(self, image, keep=None):
        x = self.embed(image)
        x = torch.cat([repeat(self.cls, "1 1 d -> b 1 d", b=len(x)), x], 1)
        for layer in self.layers:
            x = x + layer(x, keep)
        return reduce(x, "b n d -> b d", "mean")


model = torch.compile(ViT().eval(), backend="aot_eager")
with torch.no_grad():
    for batch, size, masked in ((2, 16, False), (2, 16, True), (3, 16, False), (2, 24, False), (2, 32, True)):
        keep = torch.ones(batch, (size // 4) ** 2 + 1, dtype=torch.bool) if masked else None
        print(f"{batch} x {size} {masked}: {model(torch.ones(batch, 3, size, size), keep).sum().item():.4f}")
