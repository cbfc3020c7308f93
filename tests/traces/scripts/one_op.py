"""The program of torch-spyre's page on provenance: one operation, not recorded.

TORCHINDUCTOR_FORCE_DISABLE_CACHES=1; `truth_recorder` leaves out what provenance does not read.
"""
import truth_recorder  # noqa: F401
import torch


@torch.compile
def f(x, y):
    return x + y


f(torch.randn(4, 4), torch.randn(4, 4))
