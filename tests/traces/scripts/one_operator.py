"""The smallest program there is to map: `x + y`, caches off; recorded.  one_operator.py TRUTH"""

import sys

import truth_recorder
import torch


@torch.compile
def add(x, y):
    return x + y


add(torch.randn(8, 8), torch.randn(8, 8))
truth_recorder.save(sys.argv[1])
