"""accelerate and PEFT: LoRA on Qwen2, each decoder layer compiled."""
import torch
from accelerate.utils import compile_regions
from peft import LoraConfig, get_peft_model
from transformers import Qwen2Config, Qwen2ForCausalLM

torch.manual_seed(0)
config = Qwen2Config(hidden_size=32, intermediate_size=64, num_hidden_layers=4, num_attention_heads=2, num_key_value_heads=2,
                     vocab_size=100)
model = get_peft_model(Qwen2ForCausalLM(config), LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
model = compile_regions(model, backend="aot_eager")
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)
for step in range(4):
    ids = torch.arange(2 * 6).reshape(2, 6) % 100
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.5f}")
