"""PyTorch examples, dcgan/main.py: generator and discriminator with real and generated batches."""
import torch
from torch import nn

torch.manual_seed(0)
netG = torch.compile(nn.Sequential(
    nn.ConvTranspose2d(8, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh(),
), backend="aot_eager")
netD = torch.compile(nn.Sequential(
    nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4, 1, 0), nn.Sigmoid(),
), backend="aot_eager")
criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
fixed_noise = torch.ones(16, 8, 1, 1).cumsum(0) / 16
images = torch.arange(20 * 64.0).reshape(20, 1, 8, 8).sin()
for i, real in enumerate(images.split(8)):
    netD.zero_grad()
    label = torch.ones(len(real))
    errD_real = criterion(netD(real).view(-1), label)
    errD_real.backward()
    noise = torch.linspace(0, 1, len(real) * 8).reshape(len(real), 8, 1, 1)
    fake = netG(noise)
    errD_fake = criterion(netD(fake.detach()).view(-1), torch.zeros(len(real)))
    errD_fake.backward()
    optimizerD.step()
    netG.zero_grad()
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optimizerG.step()
    print(f"batch {i} D {(errD_real + errD_fake).item():.4f} G {errG.item():.4f}")
    with torch.no_grad():
        netG.eval()
        print(f"batch {i} image {netG(fixed_noise).mean().item():.4f}")
        netG.train()
