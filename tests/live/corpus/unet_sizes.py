"""diffusers: a UNet over timesteps and image sizes."""
import torch
from diffusers import UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 32),
                    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
                    norm_num_groups=8)
model = torch.compile(model.eval(), backend="eager")
with torch.no_grad():
    for size, step in ((16, 10), (16, 500), (16, 900), (24, 900), (32, 10)):
        out = model(torch.ones(1, 3, size, size), step).sample
        print(f"size {size} step {step}: {out.abs().mean().item():.5f}")
