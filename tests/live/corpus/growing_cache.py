"""A prompt, then one token at a time: keys and values grow by torch.cat, as in small chat programs."""
import torch

torch.manual_seed(0)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)

    def forward(self, x, cache=None):
        q, k, v = self.qkv(x).chunk(3, -1)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril(k.shape[1] - q.shape[1])
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y), (k, v)


model = torch.compile(Attention(), backend="aot_eager")
with torch.no_grad():
    for prompt in (5, 9):
        x, cache = torch.linspace(-1, 1, prompt * 16).reshape(1, prompt, 16), None
        for step in range(4):
            y, cache = model(x, cache)
            x = y[:, -1:]
            print(f"prompt {prompt} step {step}: {x.sum().item():.5f}")
