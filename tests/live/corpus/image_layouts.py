"""A convolution block with images as they come: contiguous, channels_last, cropped views and flipped ones, in two sizes."""
import torch

torch.manual_seed(0)
block = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).eval()
run = torch.compile(block, backend="aot_eager")
image = torch.randn(2, 3, 18, 18)
with torch.no_grad():
    print(f"whole: {run(image).sum().item():.4f}")
    print(f"last: {run(image.to(memory_format=torch.channels_last)).sum().item():.4f}")
    print(f"crop: {run(image[:, :, 2:14, 2:14]).sum().item():.4f}")
    print(f"flip: {run(image.transpose(2, 3)).sum().item():.4f}")
    print(f"smaller: {run(image[:, :, :12, :12].contiguous()).sum().item():.4f}")
    print(f"one: {run(image[:1]).sum().item():.4f}")
