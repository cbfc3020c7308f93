"""transformers, examples/pytorch/image-classification/run_image_classification_no_trainer.py: ViT, batches, other image sizes."""
import torch
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)
config = ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=8,
                   num_labels=5, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = ViTForImageClassification(config)
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step, batch in enumerate((4, 4, 3)):
    pixels = torch.linspace(-1, 1, batch * 3 * 32 * 32).reshape(batch, 3, 32, 32)
    loss = compiled(pixel_values=pixels, labels=torch.arange(batch) % 5).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.5f}")
model.eval()
with torch.no_grad():
    for size in (32, 48, 64):
        pixels = torch.ones(2, 3, size, size)
        logits = compiled(pixel_values=pixels, interpolate_pos_encoding=size != 32, output_hidden_states=size == 64).logits
        print(f"size {size} logits {logits.mean().item():.5f}")
