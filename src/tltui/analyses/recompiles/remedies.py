"""What torch offers against a recompile. Nothing is said without a fact; each remedy has its proof in docs/recompiles.md."""

from __future__ import annotations

import re
from collections.abc import Callable

from tltui.analyses.recompiles import causes
from tltui.analyses.recompiles.advice import Advice, Seen, Settings, nothing, off
from tltui.analyses.recompiles.size_remedies import condition, size


def advice_for(seen: Seen, settings: Settings) -> Advice | None:
    """What helps against a cause; None where there is nothing to say."""
    find = _ADVICE.get(seen.cause)
    return find(seen, settings) if find else None


def _int(seen: Seen, settings: Settings) -> Advice:
    if seen.held:
        return nothing(seen)
    if ".__defaults__" in seen.source or ".__kwdefaults__" in seen.source:
        return Advice("Torch takes default values of arguments as constants: pass the value as an argument.", "argument")
    if seen.fixed is not None:
        return Advice(_again(seen))
    if settings.automatic_dynamic is False:
        return off("value")
    start = "It did not become dynamic in this log. " if settings.traced else ""
    return Advice(f"{start}A tensor in its place has one compile for all values.", "tensor")


def _again(seen: Seen) -> str:
    """Torch made it dynamic, and something fixed it again."""
    last = seen.reasons[-1]
    start = f"Torch made it dynamic at [{seen.became}] and fixed it again to each value"
    if last.by and "evaluate_expr" not in last.by:
        return f"{start}: torch needs the number itself ({last.by}). Each value needs a compile."
    return f"{start}: {'code of ' + last.whose if last.whose else 'your line'} needs the number itself. Each value needs a compile."


def _float(seen: Seen, settings: Settings) -> Advice:
    if "nan" in seen.values:
        return Advice("NaN is compiled separately, once: it equals no number.")
    if seen.held:
        return nothing(seen)
    if any("remove_tensorify_specialized_graphargs" in reason.by for reason in seen.reasons):
        key = re.search(r"\['(\w+)'\]$", seen.source)
        example = f" ({key[1]}=torch.tensor(…))" if key else ""
        return Advice(
            f"Torch made it dynamic at [{seen.became}] and fixed it again to each value, as it could not compute with it as with "
            f"a tensor. A tensor in its place{example} has one compile for all values.", "tensor",
        )  # fmt: skip
    if seen.fixed is not None:
        return Advice(_again(seen))
    if settings.automatic_dynamic is False:
        return off("value")
    if settings.specialize_float and settings.has("specialize_float"):
        switch = "torch._dynamo.config.specialize_float"
        text = f"{switch} is on: with False, a float that varies becomes dynamic."
        return Advice(text, "specialize_float", (f"{switch} = False",))
    return Advice("A tensor in its place has one compile for all values.", "tensor")


def _text(seen: Seen, settings: Settings) -> Advice:
    what = "A string can't be dynamic: each value needs a compile of its own."
    if len(seen.values) <= 3:
        return Advice(what)
    return Advice(f"{what} Keep it out of the compiled function, or reduce it to few values before the call.", "keep strings out")


def _attribute(seen: Seen, settings: Settings) -> Advice | None:
    switch = "allow_unspec_int_on_nn_module"
    if seen.source.endswith(".training"):
        return Advice("model.train() and model.eval() need a compile each. That is two in all; switch rarely.")
    if seen.value in (causes.BOOL, causes.STR):
        return Advice("It can't be dynamic: each value needs a compile of its own.")
    if seen.value == causes.VALUE:
        return None
    if seen.held:
        return nothing(seen)
    if seen.fixed is not None:
        return Advice(_again(seen))
    if seen.value != causes.INT or not settings.has(switch) or settings.automatic_dynamic is False:
        text = "Torch takes it as a constant. A buffer (a tensor) in its place has one compile for all values."
        return Advice(text, "buffer")
    if settings.unspec_int:
        return None
    code = f"torch._dynamo.config.{switch} = True"
    text = f"Torch takes int attributes of an nn.Module as constants. With {code} they become dynamic once they vary."
    return Advice(text, "dynamic attribute", (code,))


def _outside(what: str) -> Callable[[Seen, Settings], Advice]:
    """Of a global or a variable of an enclosing function."""

    def advice(seen: Seen, settings: Settings) -> Advice:
        if seen.held:
            return nothing(seen)
        if seen.value in (causes.INT, causes.FLOAT) and seen.fixed is None:
            return Advice(f"Torch takes {what} as constants: pass what varies as an argument.", "argument")
        if seen.fixed is not None:
            return Advice(_again(seen))
        return Advice("It can't be dynamic: each value needs a compile of its own.")

    return advice


def _object(seen: Seen, settings: Settings) -> Advice:
    if seen.source.endswith(".__code__"):
        name = seen.source.removesuffix(".__code__")
        return Advice(f"{name} was another function: each needs a compile, as its code is part of the graph.")
    if seen.value == "enum":
        return Advice("Members of an Enum: each needs a compile of its own.")
    if seen.value in ("class", "module", "function", "builtin"):
        return Advice(f"Another {seen.value}: each needs a compile, as its code is part of the graph.")
    return Advice("The compiled code is for one object: each other object needs a compile.")


_CALLS = {
    "num_threads": "torch.set_num_threads", "default_dtype": "torch.set_default_dtype",
    "deterministic_algorithms": "torch.use_deterministic_algorithms",
    "deterministic_algorithms_warn_only": "torch.use_deterministic_algorithms",
    "allow_tf32": "torch.backends.cuda.matmul.allow_tf32", "default device": "torch.set_default_device",
    "allow_fp16_reduce": "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "allow_bf16_reduce": "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
}  # fmt: skip
_MODES = {
    "grad_mode": "Calls with and without gradients (torch.no_grad, torch.inference_mode) need a compile each: "
                 "call it under the same mode, if the difference is not meant.",
    "torch_function": "__torch_function__ was switched off in some of the calls only (DisableTorchFunctionSubclass).",
    "torch function modes": "A torch function mode (torch.set_default_device and `with torch.device` are such) was active in some "
                            "of the calls only: use it in all of them, from the first call on.",
}  # fmt: skip


def _state(seen: Seen, settings: Settings) -> Advice | None:
    """One setting."""
    name = seen.source
    if name in _CALLS:
        what = "Set" if "backends" in _CALLS[name] else "Call"
        return Advice(f"{what} {_CALLS[name]} once, before the first call: each value needs a compile.", "set first")
    if name.startswith("autocast"):
        text = "Calls inside and outside of torch.autocast (or of another dtype) need a compile each: call it under the same one."
        return Advice(text, "same mode")
    if name in _MODES:
        return Advice(_MODES[name], "same mode")
    return Advice("It is set for all of torch, and each value of it needs a compile.") if name else None


def _tensor(seen: Seen, settings: Settings) -> Advice:
    said = " ".join(f"{reason.expected} {reason.actual}" for reason in seen.reasons)
    if "inference tensor" in said:
        text = (
            "Tensors made under torch.inference_mode, and calls inside of it, need a compile of their own: make and use them "
            "under the same mode (.clone() outside of it makes an ordinary tensor)."
        )
        return Advice(text, "no inference tensor")
    if "conjugate view" in said or "negative view" in said:
        name = "resolve_conj()" if "conjugate view" in said else "resolve_neg()"
        text = f"A view that is computed only when it is used: .{name} before the call makes it an ordinary tensor."
        return Advice(text, "resolve")
    if "sparse" in said:
        return Advice("Each layout needs a compile of its own: .to_dense() before the call, if the mixture is not meant.", "dense")
    return Advice("Each kind needs a compile of its own.")


def _length(seen: Seen, settings: Settings) -> Advice:
    if seen.source.endswith("_hooks"):
        return Advice("Hooks are part of the graph: register them before the first call.", "hooks first")
    if "._modules" in seen.source:
        return Advice("Which submodules there are is part of the graph: each structure needs a compile.")
    if any(reason.value == "dict" for reason in seen.reasons):
        text = "Which keys a dict has is part of the graph: each set of keys needs a compile. Give it the same keys in every call."
        return Advice(text, "same keys")
    text = "The length of a container is part of the graph. Tensors stacked into one have a size in its place: it can be dynamic."
    return Advice(text, "stack")


def _key(seen: Seen, settings: Settings) -> Advice:
    if seen.source.startswith("list("):
        return Advice("The keys and their order are part of the graph: the same keys in the same order in each call.", "same keys")
    return Advice("Which keys and attributes there are is part of the graph: each combination needs a compile.")


def _aliasing(seen: Seen, settings: Settings) -> Advice:
    if any(reason.actual in ("one tensor", "shared otherwise") for reason in seen.reasons):
        return Advice("Calls in which arguments share memory need another compile: pass a clone(), if it is not meant.", "clone")
    return Advice("The code is for calls in which these are one object: calls in which they are not need a compile of their own.")


def _mark(seen: Seen, settings: Settings) -> Advice:
    name = next((reason.actual for reason in seen.reasons if reason.actual.startswith(("mark_", "maybe_"))), "Marks")
    return Advice(f"{name} belongs before the first call: a mark that comes later is a reason to compile again.", "mark first")


def _fixed(what: str, remedy: str = "") -> Callable[[Seen, Settings], Advice]:
    def advice(seen: Seen, settings: Settings) -> Advice:
        return Advice(what, remedy)

    return advice


_NUMBERS = ("Tensor", "Parameter", "torch.Tensor", "torch.nn.parameter.Parameter", "int", "float", "bool", "complex", "numpy.")


def _type(seen: Seen, settings: Settings) -> Advice:
    if all(value.startswith(_NUMBERS) for value in seen.values):
        return Advice(_EACH, "one type")
    return Advice("Each type needs a compile of its own.")


_EACH = "Each needs a compile of its own. Convert before the call, if the mixture is not meant."

_ADVICE: dict[str, Callable[[Seen, Settings], Advice | None]] = {
    causes.SIZE: size,
    causes.STRIDE: _fixed("Call .contiguous() on it before the call, if the layout need not vary.", "contiguous"),
    causes.RANK: _fixed(
        "The number of dimensions can't be dynamic: reshape before the call, if the mixture is not meant.", "reshape"
    ),
    causes.DTYPE: _fixed(_EACH, "one dtype"),
    causes.DEVICE: _fixed(_EACH, "one device"),
    causes.TENSOR: _tensor,
    causes.MARK: _mark,
    causes.GRAD: _fixed(
        "Inputs with and without a gradient need a compile each: detach(), or requires_grad_() always, if it is not meant.",
        "detach",
    ),
    causes.INT: _int,
    causes.FLOAT: _float,
    causes.BOOL: _fixed("A bool can't be dynamic: True and False need a compile each."),
    causes.STR: _text,
    causes.TYPE: _type,
    causes.OBJECT: _object,
    causes.STATE: _state,
    causes.ATTRIBUTE: _attribute,
    causes.GLOBAL: _outside("globals"),
    causes.CLOSURE: _outside("variables of enclosing functions"),
    causes.CONDITION: condition,
    causes.LENGTH: _length,
    causes.KEY: _key,
    causes.ALIASING: _aliasing,
    causes.BACKEND: _fixed("Make the backend once and pass the same object to each torch.compile call.", "one backend"),
    causes.FREED: _fixed("Keep the object alive as long as the compiled function is used.", "keep alive"),
}
