"""Edits that carry out the remedies of tltui's pages that are neither settings nor calls of torch."""

from __future__ import annotations

_BATCH = [
    ("x = torch.ones(4)", "x = torch.ones(4)\nsame = lambda batch: {key: batch.get(key, 0 * x) for key in ('a', 'b')}"),
    ("{total(batch,", "{total(same(batch),"),
]
_EXTRA = [(", **extra).item()", ", **{'bias': extra.get('bias', 0 * x)}).item()")]
_RETURNS = """\
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
"""
_RETURNS_OF_A_TENSOR = """\
    steps = torch.arange(len(rewards))
    later = steps[None] - steps[:, None]
    returns = (torch.where(later >= 0, gamma**later, 0.0) * rewards).sum(1)
"""
EDITS: dict[tuple[str, str, str], list[tuple[str, str]]] = {
    ("closures", "G['SCALE']", "argument"): [
        ("by_global(x):\n    return x * SCALE", "by_global(x, scale):\n    return x * scale"),
        ("by_global(torch.ones(4))", "by_global(torch.ones(4), SCALE)"),
    ],
    ("grad_modes", "grad_mode", "same mode"): [("with torch.no_grad():", "if True:")],
    ("kwargs_keys", "length of batch", "same keys"): _BATCH,
    ("kwargs_keys", "list(batch)[0]", "same keys"): _BATCH,
    ("kwargs_keys", "list(batch)[1]", "same keys"): _BATCH,
    ("kwargs_keys", "length of extra", "same keys"): _EXTRA,
    ("layer_index", "requires_grad of x", "one value"): [("x = torch.ones(2, 16)", "x = torch.ones(2, 16, requires_grad=True)")],
    ("threads_predict", "requires_grad of args[0]", "one value"): [("x = x.requires_grad_()", "x = x.detach()")],
    ("dcgan_example", "requires_grad of args[0]", "one value"): [
        ("netD(real)", "netD(real.requires_grad_())"), ("netD(fake.detach())", "netD(fake.detach().requires_grad_())"),
        ("netG(noise)", "netG(noise.requires_grad_())"), ("netG(fixed_noise)", "netG(fixed_noise.requires_grad_())"),
    ],
    ("reinforce_example", "length of rewards", "stack"): [
        (_RETURNS, _RETURNS_OF_A_TENSOR), ("policy.rewards, 0.99", "torch.tensor(policy.rewards), 0.99"),
    ],
    ("reinforce_example", "length of log_probs", "stack"): [
        ("-torch.stack(log_probs)", "-log_probs"), ("(policy.saved_log_probs,", "(torch.stack(policy.saved_log_probs),"),
    ],
}  # fmt: skip
"""(program, source as the page names it, remedy) → (text of the program, its replacement)."""
