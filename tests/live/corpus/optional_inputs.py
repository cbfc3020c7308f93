"""Batches as dicts: labels and masks are there in some, and images come as uint8 or float."""
import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Linear(12, 6), nn.Linear(6, 3)

    def forward(self, batch):
        x = batch["pixels"]
        if x.dtype == torch.uint8:
            x = x.float() / 255
        y = self.head(self.embed(x.flatten(1)).relu())
        if "mask" in batch:
            y = y * batch["mask"][:, None]
        if batch.get("labels") is not None:
            return nn.functional.cross_entropy(y, batch["labels"])
        return y.mean()


model = torch.compile(Model(), backend="aot_eager")
for number in range(6):
    size = 4 if number % 3 else 2
    batch = {"pixels": torch.full((size, 3, 4), 7, dtype=torch.uint8) if number % 2 else torch.ones(size, 3, 4)}
    if number > 2:
        batch["mask"] = torch.ones(size)
    if number in (1, 4):
        batch["labels"] = torch.zeros(size, dtype=torch.long)
    print(f"{number} {model(batch).item():.4f}")
