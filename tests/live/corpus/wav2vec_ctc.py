"""transformers, examples/pytorch/speech-recognition/run_speech_recognition_ctc.py: Wav2Vec2 with sounds of several lengths."""
import torch
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

torch.manual_seed(0)
config = Wav2Vec2Config(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=20,
                        conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2,
                        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, mask_time_prob=0.0, layerdrop=0.0,
                        hidden_dropout=0.0, attention_dropout=0.0, feat_proj_dropout=0.0, final_dropout=0.0)
model = Wav2Vec2ForCTC(config).eval()
compiled = torch.compile(model, backend="aot_eager")
with torch.no_grad():
    for batch, samples in ((1, 400), (1, 400), (2, 400), (2, 640), (1, 800)):
        sound = torch.linspace(-1, 1, batch * samples).reshape(batch, samples)
        logits = compiled(sound, attention_mask=torch.ones(batch, samples, dtype=torch.long)).logits
        print(f"{batch} x {samples}: {logits.float().mean().item():.5f}")
