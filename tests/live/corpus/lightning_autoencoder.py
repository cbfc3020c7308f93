"""Lightning, examples/pytorch/basics/autoencoder.py: an autoencoder with training, validation and prediction, compiled."""
import logging
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
lightning.seed_everything(0, verbose=False)


class LitAutoEncoder(lightning.LightningModule):
    def __init__(self, hidden_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 3))
        self.decoder = nn.Sequential(nn.Linear(3, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 16))
        self.losses = []

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def _step(self, batch):
        x = batch.view(batch.size(0), -1)
        return nn.functional.mse_loss(self.decoder(self.encoder(x)), x)

    def training_step(self, batch, batch_idx):
        return self._step(batch)

    def validation_step(self, batch, batch_idx):
        self.losses.append(self._step(batch).item())

    def predict_step(self, batch, batch_idx):
        return self(batch.view(batch.size(0), -1))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


images = torch.linspace(0, 1, 18 * 16).reshape(18, 4, 4)
model = LitAutoEncoder()
compiled = torch.compile(model, backend="aot_eager")
trainer = lightning.Trainer(max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu",
                            enable_model_summary=False)
trainer.fit(compiled, DataLoader(list(images[:10]), batch_size=4), DataLoader(list(images[10:]), batch_size=3))
predictions = trainer.predict(compiled, DataLoader(list(images), batch_size=5))
print(f"losses {sum(model.losses):.5f} predictions {sum(p.sum() for p in predictions).item():.5f}")
