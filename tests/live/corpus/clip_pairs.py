"""transformers: CLIPModel trained on pairs; captions are padded per batch, the last batch is smaller."""

import torch
from transformers import CLIPConfig, CLIPModel, CLIPTextConfig, CLIPVisionConfig

torch.manual_seed(0)
text = CLIPTextConfig(
    vocab_size=99, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
    max_position_embeddings=32, bos_token_id=0, eos_token_id=2, pad_token_id=1,
)  # fmt: skip
vision = CLIPVisionConfig(
    hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=16, patch_size=8,
)  # fmt: skip
model = CLIPModel(CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=8))
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step, (batch, length) in enumerate([(4, 7), (4, 11), (4, 9), (2, 5)]):
    ids = torch.randint(3, 99, (batch, length))
    ids[:, -1] = 2
    out = compiled(input_ids=ids, pixel_values=torch.randn(batch, 3, 16, 16), attention_mask=torch.ones_like(ids), return_loss=True)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {out.loss.item():.4f}")
model.eval()
with torch.no_grad():
    print(f"eval {compiled(input_ids=ids, pixel_values=torch.randn(2, 3, 16, 16)).logits_per_text.sum().item():.4f}")
