"""transformers: BART summaries by beam search, encoder and decoder compiled apart; documents of several lengths."""
import torch
from transformers import BartConfig, BartForConditionalGeneration

torch.manual_seed(0)
model = BartForConditionalGeneration(BartConfig(
    vocab_size=120, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
    encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64, pad_token_id=1, eos_token_id=2, bos_token_id=0,
    decoder_start_token_id=2, forced_eos_token_id=None)).eval()
model.model.encoder.forward = torch.compile(model.model.encoder.forward, backend="aot_eager")
model.model.decoder.forward = torch.compile(model.model.decoder.forward, backend="aot_eager")

for documents, length, beams in ((2, 9, 2), (2, 14, 2), (1, 14, 4)):
    ids = torch.arange(documents * length).reshape(documents, length) % 110 + 5
    summary = model.generate(ids, attention_mask=torch.ones_like(ids), num_beams=beams, max_new_tokens=4, min_new_tokens=4)
    print(f"{documents} x {length}, {beams} beams: {summary.sum().item()}")
