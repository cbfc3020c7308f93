"""Muon and AdamW as in speed runs of GPT training: compiled Newton-Schulz steps and a fused update with rates as Python floats."""
import math

import torch

torch.manual_seed(0)


@torch.compile(backend="aot_eager")
def zeropower_via_newtonschulz5(G, steps=5, eps=1e-7):
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G
    if G.size(-2) > G.size(-1):
        X = X.mT
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + eps)
    for _ in range(steps):
        A = X @ X.mT
        B = b * A + c * A @ A
        X = a * X + B @ X
    if G.size(-2) > G.size(-1):
        X = X.mT
    return X


@torch.compile(backend="aot_eager")
def adamw_step_fused(p, grad, exp_avg, exp_avg_sq, step, lr, beta1, beta2, eps, wd):
    p.mul_(1 - lr * wd)
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.lerp_(grad.square(), 1 - beta2)
    bias1, bias2 = 1 - beta1**step, 1 - beta2**step
    denom = (exp_avg_sq / bias2).sqrt() + eps
    p.add_(exp_avg / denom, alpha=-lr / bias1)


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True, ns_steps=5):
        super().__init__(params, {"lr": lr, "momentum": momentum, "nesterov": nesterov, "ns_steps": ns_steps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                buffer = state.setdefault("momentum_buffer", torch.zeros_like(p.grad))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp_(buffer, group["momentum"]) if group["nesterov"] else buffer
                update = zeropower_via_newtonschulz5(update, group["ns_steps"])
                p.add_(update, alpha=-group["lr"] * max(1, p.size(-2) / p.size(-1)) ** 0.5)


class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr, "betas": (0.8, 0.95), "eps": 1e-10, "wd": 0.01})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(step=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["step"] += 1
                adamw_step_fused(p, p.grad, state["m"], state["v"], state["step"], group["lr"], *group["betas"], group["eps"],
                                 group["wd"])


model = torch.nn.Sequential(torch.nn.Embedding(20, 16), torch.nn.Linear(16, 48), torch.nn.GELU(), torch.nn.Linear(48, 16),
                            torch.nn.Linear(16, 20))
matrices = [model[1].weight, model[3].weight]
others = [p for p in model.parameters() if all(p is not m for m in matrices)]
optimizers = [Muon(matrices), AdamW(others)]
total = 5
for step in range(total):
    tokens = torch.arange(24).reshape(3, 8) * (step + 1) % 20
    loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), (tokens.flatten() + 1) % 20)
    loss.backward()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = (0.02 if optimizer is optimizers[0] else 0.01) * (0.5 + 0.5 * math.cos(math.pi * step / total))
    optimizers[0].param_groups[0]["momentum"] = 0.85 + 0.1 * min(1, step / 3)
    for optimizer in optimizers:
        optimizer.step()
    model.zero_grad(set_to_none=True)
    print(f"step {step}: {loss.item():.4f}")
