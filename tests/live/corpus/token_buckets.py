"""Token ids in buckets of several lengths and batch sizes, with a mask and positions made in the program."""
import torch

torch.manual_seed(0)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(50, 16), torch.nn.Embedding(64, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, ids, mask):
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.layer(self.words(ids) + self.places(places), src_key_padding_mask=~mask)
        return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


model = Encoder()
compiled = torch.compile(model, backend="aot_eager")
for batch, length in ((4, 8), (4, 12), (8, 8), (2, 16), (16, 16), (1, 12)):
    ids = torch.arange(batch * length).reshape(batch, length) % 50
    mask = torch.arange(length)[None] < torch.arange(batch)[:, None] % length + 1
    print(f"{batch} x {length}: {compiled(ids, mask).mean().item():.5f}")
