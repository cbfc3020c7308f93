"""PyTorch examples, word_language_model: an LSTM over pieces of text, the last one shorter, with its hidden state passed on."""
import torch
from torch import nn

torch.manual_seed(0)


class RNNModel(nn.Module):
    def __init__(self, words, size, hidden, layers):
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(words, size), nn.LSTM(size, hidden, layers), nn.Linear(hidden, words)

    def forward(self, text, hidden):
        output, hidden = self.rnn(self.encoder(text), hidden)
        return self.decoder(output).view(-1, self.decoder.out_features).log_softmax(1), hidden

    def init_hidden(self, batch):
        return torch.zeros(2, batch, 16), torch.zeros(2, batch, 16)


class Positional(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer, self.src_mask = nn.TransformerEncoderLayer(size, 2, 32, 0.0), None

    def forward(self, x):
        if self.src_mask is None or self.src_mask.size(0) != len(x):
            self.src_mask = nn.Transformer.generate_square_subsequent_mask(len(x))
        return self.layer(x, self.src_mask)


text = (torch.arange(130) * 7 % 50).view(5, -1).t().contiguous()
model = torch.compile(RNNModel(50, 16, 16, 2), backend="aot_eager")
other = torch.compile(Positional(16), backend="aot_eager")
hidden = model.init_hidden(5)
for start in range(0, len(text) - 1, 10):
    length = min(10, len(text) - 1 - start)
    data, target = text[start : start + length], text[start + 1 : start + 1 + length].reshape(-1)
    output, hidden = model(data, tuple(h.detach() for h in hidden))
    loss = nn.functional.nll_loss(output, target)
    loss.backward()
    encoded = other(torch.ones(length, 5, 16))
    print(f"start {start} loss {loss.item():.5f} encoded {encoded.abs().mean().item():.5f}")
