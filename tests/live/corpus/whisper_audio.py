"""transformers: Whisper with audio of one length and texts of several."""
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

torch.manual_seed(0)
config = WhisperConfig(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                       encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=100, num_mel_bins=8, max_source_positions=50,
                       pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None,
                       begin_suppress_tokens=None)
model = torch.compile(WhisperForConditionalGeneration(config).eval(), backend="aot_eager")
with torch.no_grad():
    for length in (3, 5, 8):
        out = model(input_features=torch.ones(1, 8, 100), decoder_input_ids=torch.arange(length)[None])
        print(f"length {length}: {out.logits.mean().item():.6f}")
