"""A function over lists of tensors, as a custom optimizer step: lists of several lengths, tensors of several sizes."""
import torch


@torch.compile(backend="aot_eager")
def step(parameters, gradients, rate):
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = rate / (norm + 1)
    return [parameter - factor * gradient for parameter, gradient in zip(parameters, gradients)]  # noqa: B905


for shapes, rate in ((((4, 4), (4,)), 0.1), (((4, 4), (4,)), 0.05), (((6, 4), (6,)), 0.05), (((6, 4), (6,), (3, 6)), 0.02),
                     (((5, 4), (5,)), 0.01)):
    parameters = [torch.ones(shape) for shape in shapes]
    print(f"{shapes} {rate}: {sum(p.sum() for p in step(parameters, parameters, rate)).item():.4f}")
