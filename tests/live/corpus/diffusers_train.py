"""diffusers, examples/unconditional_image_generation/train_unconditional.py: training steps and a sampling loop of DDPM."""
import torch
from diffusers import DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 16),
                    down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D"), norm_num_groups=4)
compiled = torch.compile(model, backend="eager")
scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step, batch in enumerate((4, 4, 3)):
    images = torch.linspace(-1, 1, batch * 64).reshape(batch, 1, 8, 8)
    noise = torch.ones_like(images) * 0.5
    timesteps = torch.arange(batch) * 10
    prediction = compiled(scheduler.add_noise(images, noise, timesteps), timesteps).sample
    loss = torch.nn.functional.mse_loss(prediction, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.5f}")
model.eval()
scheduler.set_timesteps(4)
image = torch.ones(2, 1, 8, 8)
with torch.no_grad():
    for t in scheduler.timesteps:
        output = compiled(image, t).sample
        image = scheduler.step(output, t, image, generator=torch.Generator().manual_seed(0)).prev_sample
print(f"image {image.abs().mean().item():.5f}")
