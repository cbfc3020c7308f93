"""Compiled functions of torch itself: AdamW's step, clip_grad_norm_; and own functions around such code.  optimizer.py TRUTH

`optimizer_recorded` with INDUCTOR_PROVENANCE=1, `optimizer` without; with guards. No graph has an own line in its comments. The
stacks of `adam` and `clip` have none either, those of `clip_own` and `normalize` do. Torch leaves the line that calls `clip` out of
the stack of its compile.
"""

import sys

import truth_recorder
import torch
from torch import nn


class Normalize(nn.Module):
    def forward(self, x):
        return nn.functional.normalize(x)


truth_recorder.with_guards()
weight, bias = nn.Parameter(torch.randn(8, 16)), nn.Parameter(torch.randn(16))
parameters = [weight, bias]
for parameter in parameters:
    parameter.grad = torch.randn_like(parameter)
optimizer = torch.optim.AdamW(parameters, lr=0.01, foreach=False)
adam = torch.compile(optimizer.step)
clip = torch.compile(nn.utils.clip_grad_norm_)
normalize = torch.compile(nn.Sequential(Normalize()))


@torch.compile
def clip_own(tensors):
    return nn.utils.clip_grad_norm_(tensors, 2.0)


def step():
    clip(parameters, 1.0)
    clip_own(parameters)
    adam()


step()
normalize(torch.randn(4, 8))
truth_recorder.save(sys.argv[1])
