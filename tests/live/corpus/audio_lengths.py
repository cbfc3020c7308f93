"""Strided convolutions over audio of several lengths; the loss crops both to the shorter one."""
import torch

torch.manual_seed(0)
encoder = torch.nn.Sequential(torch.nn.Conv1d(1, 4, 8, 4), torch.nn.ReLU(), torch.nn.Conv1d(4, 4, 4, 2))
decoder = torch.nn.Sequential(torch.nn.ConvTranspose1d(4, 4, 4, 2), torch.nn.ReLU(), torch.nn.ConvTranspose1d(4, 1, 8, 4))


@torch.compile(backend="aot_eager")
def loss_of(wave):
    output = decoder(encoder(wave))
    length = min(output.shape[-1], wave.shape[-1])
    return (output[..., :length] - wave[..., :length]).square().mean()


for length in (400, 404, 512, 500, 640):
    wave = torch.sin(torch.arange(2 * length) / 7).reshape(2, 1, length)
    loss = loss_of(wave)
    loss.backward()
    print(f"{length}: {loss.item():.5f}")
