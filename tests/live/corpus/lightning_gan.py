"""Lightning, examples/pytorch/domain_templates/generative_adversarial_net.py: manual optimization, two compiled parts, samples."""
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(8, width), nn.BatchNorm1d(width), nn.LeakyReLU(0.2), nn.Linear(width, 36), nn.Tanh())

    def forward(self, z, temperature=1.0):
        return self.model(z * temperature).view(z.size(0), 1, 6, 6)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(36, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.noise = 0.1

    def forward(self, images):
        if self.training and self.noise > 0:
            images = images + self.noise * torch.ones_like(images)
        return self.model(images.flatten(1))


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.discriminator = Generator(16), Discriminator()
        self.generator.compile(backend="aot_eager")
        self.discriminator.compile(backend="aot_eager")

    def training_step(self, batch):
        first, second = self.optimizers()
        z = torch.ones(batch.size(0), 8) * 0.5
        loss = nn.functional.binary_cross_entropy_with_logits(self.discriminator(self.generator(z)), torch.ones(batch.size(0), 1))
        first.zero_grad()
        self.manual_backward(loss)
        first.step()
        real = self.discriminator(batch)
        fake = self.discriminator(self.generator(z).detach())
        loss = (nn.functional.softplus(-real) + nn.functional.softplus(fake)).mean()
        second.zero_grad()
        self.manual_backward(loss)
        second.step()
        print(f"epoch {self.current_epoch} loss {loss.item():.4f}")

    def on_train_epoch_end(self):
        self.discriminator.noise /= 2
        self.generator.eval()
        with torch.no_grad():
            print(f"sample {self.generator(torch.ones(3, 8), 0.8 + 0.1 * self.current_epoch).mean().item():.4f}")
        self.generator.train()

    def configure_optimizers(self):
        return [torch.optim.SGD(part.parameters(), lr=0.01) for part in (self.generator, self.discriminator)]


data = DataLoader(torch.linspace(-1, 1, 10 * 36).reshape(10, 1, 6, 6), batch_size=4)
trainer = L.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False)
trainer.fit(GAN(), data)
