"""diffusers: a UNet with a ControlNet; its strength is a float that ends after some steps, guidance doubles the batch."""
import torch
from diffusers import ControlNetModel, DDIMScheduler, UNet2DConditionModel

torch.manual_seed(0)
shape = {"block_out_channels": (32, 64), "layers_per_block": 1, "cross_attention_dim": 16, "attention_head_dim": 4,
         "norm_num_groups": 8, "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D")}
unet = UNet2DConditionModel(sample_size=16, up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **shape).eval()
control = ControlNetModel(conditioning_embedding_out_channels=(8, 16), **shape).eval()
scheduler = DDIMScheduler(num_train_timesteps=100)


@torch.compile(backend="aot_eager")
def denoise(sample, time, words, image=None, strength=1.0):
    down = middle = None
    if image is not None:
        down, middle = control(sample, time, words, image, conditioning_scale=strength, return_dict=False)
    return unet(sample, time, words, down_block_additional_residuals=down, mid_block_additional_residual=middle).sample


def draw(batch, size, guidance, steps=4):
    copies = 2 if guidance > 1 else 1
    sample, words = torch.randn(batch, 4, size, size), torch.ones(batch * copies, 5, 16) * 0.1
    image = torch.ones(batch * copies, 3, size * 2, size * 2)
    scheduler.set_timesteps(steps)
    for number, time in enumerate(scheduler.timesteps):
        both = torch.cat([sample] * copies)
        strength = 1.0 - number / steps
        noise = denoise(both, time, words, image if number < 3 else None, strength)
        if copies == 2:
            without, given = noise.chunk(2)
            noise = without + guidance * (given - without)
        sample = scheduler.step(noise, time, sample).prev_sample
    return sample


with torch.no_grad():
    for batch, size, guidance in ((1, 16, 5.0), (2, 16, 5.0), (1, 24, 1.0)):
        print(f"batch {batch} size {size}: {draw(batch, size, guidance).abs().mean().item():.4f}")
