"""attention-gym examples: flex_attention with a document mask, a sliding window and a score_mod per head."""
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

torch.manual_seed(0)
attend = torch.compile(flex_attention, backend="aot_eager", dynamic=False)


def document_mask(documents):
    def mask(b, h, q, kv):
        return (q >= kv) & (documents[q] == documents[kv])

    return mask


def sliding_window(window):
    return lambda b, h, q, kv: (q >= kv) & (q - kv <= window)


def alibi(heads):
    def score_mod(score, b, h, q, kv):
        return score + torch.exp2(-((h + 1) * 8.0 / heads)) * (kv - q)

    return score_mod


for length in (128, 256):
    q, k, v = (torch.randn(1, 2, length, 16) for _ in range(3))
    for parts in (2, 4):
        documents = torch.arange(length) // (length // parts)
        mask = create_block_mask(document_mask(documents), None, None, length, length, device="cpu")
        print(f"length {length} parts {parts}: {attend(q, k, v, block_mask=mask).sum().item():.3f}")
    for window in (16, 32):
        mask = create_block_mask(sliding_window(window), None, None, length, length, device="cpu")
        print(f"length {length} window {window}: {attend(q, k, v, block_mask=mask).sum().item():.3f}")
    print(f"length {length} alibi: {attend(q, k, v, score_mod=alibi(2)).sum().item():.3f}")
