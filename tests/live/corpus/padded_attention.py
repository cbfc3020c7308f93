"""Self-attention with a padding mask that is absent if all sequences have one length; batches of several lengths."""
import torch
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.qkv = torch.nn.Linear(16, 48)

    def forward(self, ids, mask=None):
        x = self.embed(ids)
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        bias = None if mask is None else mask[:, None, None, :]
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return y.transpose(1, 2).flatten(2).mean(1)


model = torch.compile(Encoder(), backend="aot_eager")
for lengths in ([5, 5, 5], [3, 7, 4], [6, 2], [4, 4], [9, 8, 3, 1]):
    ids = pad_sequence([torch.randint(1, 50, (n,)) for n in lengths], batch_first=True)
    mask = None if len(set(lengths)) == 1 else ids != 0
    print(f"{lengths}: {model(ids, mask).sum().item():.5f}")
