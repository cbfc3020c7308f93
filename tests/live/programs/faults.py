"""Wrong lowerings and decompositions of Inductor, by name: each function plants its fault in this process."""

import torch
import torch._inductor.decomposition as decomposition
from torch._inductor import lowering

aten = torch.ops.aten
LOWERINGS = lowering.lowerings


def changed(operator, change):
    """Apply a change to what a lowering returns."""
    correct = LOWERINGS[operator]
    LOWERINGS[operator] = lambda *args, **kwargs: change(correct(*args, **kwargs))


def scaled(value):
    return LOWERINGS[aten.mul.Tensor](value, 1.03)


def decomposed(operator, function):
    decomposition.decompositions[operator] = function


def pointwise():
    changed(aten.sin.default, scaled)


def wrong_softmax(x, dim, half_to_float):
    e = torch.exp(x - x.amax(dim, True))
    return e / (e.sum(dim, True) + 0.5)


def reduced():
    changed(aten.var_mean.correction, lambda pair: (scaled(pair[0]), pair[1]))


def not_a_number():
    log = LOWERINGS[aten.log.default]
    LOWERINGS[aten.log.default] = lambda x: log(LOWERINGS[aten.sub.Tensor](x, 1))


def whole_numbers():
    multiply = LOWERINGS[aten.mul.Tensor]

    def overflowing(a, b):
        product = multiply(a, b)
        if product.get_dtype() != torch.int64:
            return product
        return lowering.to_dtype(lowering.to_dtype(product, torch.int32), torch.int64)

    LOWERINGS[aten.mul.Tensor] = overflowing


def type_of_result():
    convert = torch.ops.prims.convert_element_type.default
    LOWERINGS[convert] = lambda x, dtype: x


def two_results():
    changed(aten.max.dim, lambda pair: (pair[0], LOWERINGS[aten.clamp_min.default](LOWERINGS[aten.sub.Tensor](pair[1], 1), 0)))


def together():
    erf = LOWERINGS[aten.erf.default]

    def lowered(x):
        is_computed_before = type(x.data).__name__ == "StorageBox" and type(x.data.data).__name__ == "Pointwise"
        return scaled(erf(x)) if is_computed_before else erf(x)

    LOWERINGS[aten.erf.default] = lowered


def two_faults():
    decomposed(aten.silu.default, lambda x: x * torch.sigmoid(x) * 1.05)
    changed(aten.cos.default, scaled)


PLANT = {
    "pointwise": pointwise,
    "decomposed": lambda: decomposed(aten._softmax.default, wrong_softmax),
    "reduced": reduced,
    "backward_only": lambda: decomposed(aten.tanh_backward.default, lambda grad, y: grad * (1 - y * y) * 1.1),
    "not_a_number": not_a_number,
    "whole_numbers": whole_numbers,
    "type_of_result": type_of_result,
    "shape_of_result": lambda: decomposed(aten.flip.default, lambda x, dims: x[:, 1:].clone()),
    "two_results": two_results,
    "in_place": lambda: decomposed(aten.lerp.Scalar, lambda x, end, weight: x + (end - x) * (weight * 1.1)),
    "random": lambda: decomposed(aten.gelu.default, lambda x, approximate="none": x * torch.sigmoid(1.5 * x)),
    "together": together,
    "two_faults": two_faults,
    "half_precision": lambda: decomposed(aten.softplus.default, lambda x, beta=1, threshold=20: torch.log1p(torch.exp(x)) * 1.5),
    "autocast": lambda: changed(aten.atan.default, scaled),
    "failing": lambda: decomposed(aten.roll.default, lambda x, shifts, dims=(): x[..., 1:]),
}
