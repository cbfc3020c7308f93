"""PyTorch tutorials, compiling_optimizer_lr_scheduler.py: a compiled optimizer step with a scheduler, float and tensor rates."""
import torch

torch.manual_seed(0)


def train(lr):
    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16, False) for _ in range(3)])
    model(torch.ones(2, 16)).sum().backward()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=5)

    @torch.compile(fullgraph=False, backend="aot_eager")
    def step():
        optimizer.step()
        scheduler.step()

    for number in range(5):
        step()
        print(f"step {number} lr {float(optimizer.param_groups[0]['lr']):.5f} {model[0].weight.sum().item():.4f}")


train(0.01)
torch._dynamo.reset()
train(torch.tensor(0.01))
