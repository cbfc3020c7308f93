"""A down block of diffusers with cross attention, in an own module; not recorded, with guards.

Its models read their modules from `__dict__`.  diffusion_block.py TRUTH
"""

import sys

import truth_recorder
import torch
from torch import nn
from diffusers.models.unets.unet_2d_blocks import CrossAttnDownBlock2D
from diffusers.models.embeddings import TimestepEmbedding, Timesteps


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = Timesteps(32, True, 0)
        self.embed = TimestepEmbedding(32, 64)
        self.inp = nn.Conv2d(4, 32, 3, padding=1)
        self.down = CrossAttnDownBlock2D(
            in_channels=32,
            out_channels=32,
            temb_channels=64,
            num_layers=1,
            resnet_groups=8,
            cross_attention_dim=16,
            num_attention_heads=2,
            add_downsample=True,
        )

    def forward(self, x, t, context):
        temb = self.embed(self.time(t))
        h, skips = self.down(self.inp(x), temb, encoder_hidden_states=context)
        return h.float().mean() + sum(s.pow(2).mean() for s in skips)


truth_recorder.with_guards()
model = torch.compile(Net())
model(torch.randn(2, 4, 16, 16), torch.tensor([3, 7]), torch.randn(2, 5, 16)).backward()
truth_recorder.save(sys.argv[1])
