"""diffusers: sampling with a Flux transformer, compile_repeated_blocks(); images of several shapes, prompts of several lengths."""
import torch
from diffusers import FlowMatchEulerDiscreteScheduler, FluxTransformer2DModel

torch.manual_seed(0)
transformer = FluxTransformer2DModel(
    patch_size=1, in_channels=8, num_layers=2, num_single_layers=3, attention_head_dim=16, num_attention_heads=2,
    joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=[4, 4, 8], guidance_embeds=True).eval()
transformer.compile_repeated_blocks(backend="aot_eager")
scheduler = FlowMatchEulerDiscreteScheduler()


def position_ids(height, width):
    ids = torch.zeros(height, width, 3)
    ids[..., 1] += torch.arange(height)[:, None]
    ids[..., 2] += torch.arange(width)[None, :]
    return ids.reshape(height * width, 3)


@torch.inference_mode()
def draw(batch, height, width, words, steps=2, guidance=3.5):
    latents = torch.randn(batch, height * width, 8)
    prompt, pooled = torch.randn(batch, words, 32), torch.randn(batch, 32)
    scheduler.set_timesteps(steps)
    for t in scheduler.timesteps:
        noise = transformer(
            hidden_states=latents, timestep=t.expand(batch) / 1000, guidance=torch.full([batch], guidance),
            pooled_projections=pooled, encoder_hidden_states=prompt, txt_ids=torch.zeros(words, 3),
            img_ids=position_ids(height, width), joint_attention_kwargs={}, return_dict=False)[0]
        latents = scheduler.step(noise, t, latents, return_dict=False)[0]
    return latents


for batch, height, width, words in ((1, 4, 4, 6), (1, 4, 6, 6), (2, 4, 4, 9)):
    print(f"{batch} {height}x{width} {words}: {draw(batch, height, width, words).abs().mean().item():.4f}")
