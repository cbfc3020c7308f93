"""lightning: a compiled LightningModule with a smaller last batch."""
import logging
import warnings

import lightning
import torch

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
lightning.seed_everything(0, verbose=False)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

    def training_step(self, batch, index):
        x, y = batch
        return (self.layers(x).squeeze(1) - y).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


data = torch.utils.data.TensorDataset(torch.arange(80.0).reshape(10, 8) / 80, torch.arange(10.0))
model = Model()
model.layers = torch.compile(model.layers, backend="aot_eager")
trainer = lightning.Trainer(max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu",
                            enable_model_summary=False)
trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=4))
print(f"weights {sum(p.sum() for p in model.parameters()).item():.5f}")
