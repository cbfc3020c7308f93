"""transformers: SegFormer for semantic segmentation, trained on crops and evaluated on whole images."""

import torch
from transformers import SegformerConfig, SegformerForSemanticSegmentation

torch.manual_seed(0)
config = SegformerConfig(
    num_channels=3, num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16],
    patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2],
    mlp_ratios=[2, 2], decoder_hidden_size=8, num_labels=4,
)  # fmt: skip
model = SegformerForSemanticSegmentation(config)
compiled = torch.compile(model, backend="aot_eager")
for step in range(2):
    out = compiled(pixel_values=torch.randn(2, 3, 32, 32), labels=torch.randint(0, 4, (2, 32, 32)))
    out.loss.backward()
    print(f"step {step} loss {out.loss.item():.4f}")
model.eval()
for height, width in [(48, 32), (64, 48), (40, 72)]:
    with torch.no_grad():
        logits = compiled(pixel_values=torch.randn(1, 3, height, width)).logits
    print(f"image {height}x{width} {logits.abs().sum().item():.3f}")
