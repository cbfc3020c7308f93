"""Lightning: a compiled VAE module whose loss uses the epoch and the step of the trainer; a callback changes a rate."""
import logging
import warnings

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class AnnealedVAE(L.LightningModule):
    def __init__(self, warmup=4):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
        self.decoder = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 12))
        self.warmup = warmup
        self.noise = 1.0
        self.losses = []

    def forward(self, x, beta=1.0):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + self.noise * torch.exp(0.5 * log_variance) * torch.linspace(-1, 1, 4) if self.training else mean
        reconstruction = (self.decoder(z) - x).square().mean()
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).mean()
        return reconstruction + beta * divergence

    def training_step(self, batch, _):
        beta = min(1.0, self.global_step / self.warmup)
        loss = self(batch[0], beta)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, _):
        self.log("val", self(batch[0]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


class NoiseDecay(L.Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        pl_module.noise *= 0.5


L.seed_everything(0, verbose=False)
module = AnnealedVAE()
module.forward = torch.compile(module.forward, backend="aot_eager")
data = TensorDataset(torch.linspace(-1, 1, 12 * 20).reshape(20, 12))
trainer = L.Trainer(max_epochs=3, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False, num_sanity_val_steps=1, callbacks=[NoiseDecay()])
trainer.fit(module, DataLoader(data, batch_size=8), DataLoader(data, batch_size=10))
print(" ".join(f"{loss:.4f}" for loss in module.losses))
