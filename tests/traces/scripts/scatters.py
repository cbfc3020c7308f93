"""Operators that write into a copy: scatter, scatter_add, scatter_reduce, index_put, index_add; not recorded.  scatters.py TRUTH"""

import sys

import truth_recorder
import torch


def spread(x, index, values):
    a = torch.zeros(8, 6).scatter(0, index, values)
    b = (x * 2).scatter_add(0, index, values.sin())
    c = torch.ones(8, 6).scatter_reduce(0, index, values.exp(), "amax")
    d = x.cos().index_put((index[:, 0],), values + 1)
    e = x.index_add(0, index[:, 1], values, alpha=2)
    top, places = (a + b).topk(3, -1)
    ordered, order = (c + d).sort(-1)
    return top * places, ordered - order, e.tanh()


def late(x, weight):
    scores, places = (x @ weight).topk(3, -1)
    a = x.cos().scatter(1, places, scores)
    b = (x * 2).scatter_add(1, places, scores.exp())
    c = x.sin().scatter_reduce(1, places, scores, "amax")
    d = x.tan().index_put((places[:, 0],), scores.mean(-1, keepdim=True))
    e = (x + 1).index_add(0, places[:4, 1], x[:4])
    return a.relu(), b @ weight, c * 2, d, e @ weight


def own_copy(x, index, values):
    table = x.clone()
    table[index[:, 0]] = values
    table[2:4] += 1
    return table.softmax(-1), torch.zeros(3, 6).index_add_(0, index[:, 0] % 3, values)


x, index, values = torch.randn(8, 6, requires_grad=True), torch.randint(0, 8, (4, 6)), torch.randn(4, 6)
sum(part.sum() for part in torch.compile(spread)(x, index, values)).backward()
with torch.no_grad():
    torch.compile(late)(x.detach(), torch.randn(6, 6))
    torch.compile(own_copy)(x.detach(), index, values)
truth_recorder.save(sys.argv[1])
