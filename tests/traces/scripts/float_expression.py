"""A float argument in an expression that torch cannot compute like one of a tensor: it specializes each value.  float_expression.py"""
import torch


@torch.compile(backend="aot_eager")
def blend(old, new, momentum):
    return old.mul_(momentum).add_(new, alpha=1 - momentum)


for momentum in (0.9, 0.91, 0.93, 0.97):
    print(blend(torch.ones(3), torch.zeros(3), momentum).sum().item())
