"""einops: pack and unpack image, audio and text tokens into one sequence; EinMix layers; some samples lack a modality."""
import torch
from einops import pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Reduce

torch.manual_seed(0)
DIM = 24


class Fusion(torch.nn.Module):
    def __init__(self, heads=3):
        super().__init__()
        self.heads = heads
        self.image = EinMix("b c (h p1) (w p2) -> b h w d", weight_shape="c p1 p2 d", bias_shape="d", c=3, p1=4, p2=4, d=DIM)
        self.audio = EinMix("b (t k) -> b t d", weight_shape="k d", bias_shape="d", k=10, d=DIM)
        self.text = torch.nn.Embedding(50, DIM)
        self.qkv = torch.nn.Linear(DIM, DIM * 3, bias=False)
        self.head = torch.nn.Sequential(Reduce("b t d -> b d", "mean"), torch.nn.Linear(DIM, 5))
        self.latent = torch.nn.Parameter(torch.randn(2, DIM))

    def forward(self, image=None, audio=None, text=None):
        parts = []
        if image is not None:
            parts.append(self.image(image))
        if audio is not None:
            parts.append(self.audio(audio))
        if text is not None:
            parts.append(self.text(text))
        parts.append(repeat(self.latent, "n d -> b n d", b=parts[0].shape[0]))
        tokens, shapes = pack(parts, "b * d")
        q, k, v = rearrange(self.qkv(tokens), "b t (three h d) -> three b h t d", three=3, h=self.heads)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        tokens = tokens + rearrange(mixed, "b h t d -> b t (h d)")
        *_, latent = unpack(tokens, shapes, "b * d")
        return self.head(latent), reduce(tokens, "b t d -> ", "mean")


model = Fusion()
compiled = torch.compile(model, backend="aot_eager")
batches = [
    {"image": torch.ones(2, 3, 16, 16), "text": torch.arange(12).reshape(2, 6)},
    {"image": torch.ones(2, 3, 16, 24), "text": torch.arange(18).reshape(2, 9)},
    {"audio": torch.linspace(0, 1, 160).reshape(2, 80), "text": torch.arange(8).reshape(2, 4)},
    {"image": torch.ones(3, 3, 16, 16), "audio": torch.linspace(0, 1, 180).reshape(3, 60), "text": torch.arange(15).reshape(3, 5)},
    {"image": torch.ones(4, 3, 8, 16)},
]
for batch in batches:
    logits, mean = compiled(**batch)
    (logits.square().mean() + mean).backward()
    print(f"{'+'.join(batch)}: {logits.sum().item():.4f} {mean.item():.4f}")
