"""The demo job: two ranks train a small model, rank 0 also evaluates it. Much goes wrong, on purpose."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F
from model import Model, attention
from torch import Tensor

# Every rank trains.


def train(rank: int) -> Model:
    model = Model()
    forward = torch.compile(model)
    for batch_size in [8, 8] if rank == 0 else [8, 5]:  # the last batch of rank 1 is short
        labels = torch.randint(0, 10, (batch_size,))
        loss = F.cross_entropy(forward(torch.randn(batch_size, 16)), labels)
        loss.backward()
    return model


@torch.compile
def reduce_metrics(loss: Tensor, correct: Tensor, group: str, gather: bool) -> tuple[Tensor, Tensor]:
    loss = funcol.all_reduce(loss, "avg", group)
    if gather:
        correct = funcol.all_gather_tensor(correct, 0, group)
    else:
        correct = funcol.all_reduce(correct, "sum", group)
    return loss, correct


# Only rank 0 evaluates.


@torch.compile(backend="eager")
def clip_gradient(gradient: Tensor, limit: float) -> Tensor:
    scale = limit / gradient.norm()
    torch._dynamo.graph_break()
    if scale < 1:
        gradient = gradient * scale
    return gradient


@torch.compile(backend="eager")
def sample(logits: Tensor, request: str) -> Tensor:
    greedy = request == "greedy"  # the name is guarded: every new one is a recompile
    return logits.argmax(-1) if greedy else logits.softmax(-1)


def log_activation(x: Tensor) -> Tensor:
    print("activation:", tuple(x.shape))
    return x


@torch.compile(backend="eager")
def encode(x: Tensor) -> Tensor:
    return log_activation(x.tanh())


@torch.compile(backend="eager")
def decode_step(x: Tensor) -> Tensor:
    return log_activation(x.sigmoid())


@torch.compile(backend="eager")
def add_positions(x: Tensor, positions: Tensor) -> Tensor:
    return x + positions


@torch.compile(backend="eager", fullgraph=True)
def perplexity(losses: Tensor) -> float:
    mean = losses.mean().item()
    return 2**mean if mean < 10 else float("inf")


def attempt(function, *arguments) -> None:
    try:
        function(*arguments)
    except Exception as error:
        print(f"{function.__name__}: {type(error).__name__}")


@torch.no_grad()
def evaluate(model: Model) -> None:
    clip_gradient(model.head.weight.grad, 1.0)
    x = torch.randn(8, 16)
    logits = model(x)
    for number in range(10):
        sample(logits, f"request {number}")
    encode(x)
    decode_step(x)
    torch._dynamo.mark_dynamic(x, 0)  # but the positions have a fixed size
    attempt(add_positions, x, torch.randn(8, 16))
    attempt(perplexity, torch.rand(32))
    with torch._inductor.config.patch(fx_graph_cache=True):
        for _ in range(2):  # a cache miss, then a hit
            torch.compile(attention)(*torch.randn(3, 2, 8, 16))
            torch._dynamo.reset_code_caches()


def main() -> None:
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    own_group = [dist.new_group([each]) for each in range(dist.get_world_size())][rank]
    model = train(rank)
    if rank == 0:
        evaluate(model)
    reduce_metrics(torch.rand(1), torch.rand(4), own_group.group_name, gather=rank == 1)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
