"""Real jobs of three or four ranks that die, hang, restart or wait: `torchrun --nproc-per-node 3 jobs.py NAME`.

tests/kit/job_truths.py has the truth about each; tests/kit/job_runs.py starts them. In TLTUI_JOB a job finds what its test prepared,
and writes the file `hangs` there once its hanging rank has come to its place.
"""

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
import types
from pathlib import Path

FOREVER = 600
PLACE = Path(os.environ.get("TLTUI_JOB", "."))
if sys.argv[1:] == ["compiler_hangs"] and os.environ["RANK"] == "1":
    os.environ["CXX"] = str(PLACE / "g++")  # before torch reads it

import torch
import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 4)

    def forward(self, x):
        return self.down(self.up(x).relu())


class LoggingNet(Net):
    def forward(self, x):
        x = self.up(x)
        if dist.get_rank() == 0:
            print("up is done")
        return self.down(x.relu())


@torch.compile
def normalize(x):
    return (x - x.mean()) / (x.std() + 1e-5)


def rank():
    return int(os.environ["RANK"])


def launch():
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) + 1


def nothing(step):
    """The default of what comes before a step."""


def train(steps=3, before_step=nothing, before_backward=nothing, rows=lambda step: 8, model=Net, pause=0.0):
    start()
    network = torch.compile(nn.parallel.DistributedDataParallel(model()))
    optimizer = torch.optim.SGD(network.parameters(), 0.01)
    normalize(torch.randn(8, 16))
    for step in range(steps):
        before_step(step)
        loss = network(torch.randn(rows(step), 16)).square().mean()
        before_backward(step)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank() == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
        time.sleep(pause)
    finish()


def start():
    if launch() == 1:
        dist.init_process_group("gloo")
    else:  # the store is that of the first launch, in which gloo would read the addresses of processes that have ended
        store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        store = dist.PrefixStore(f"launch_{launch()}", store)
        dist.init_process_group("gloo", store=store, rank=rank(), world_size=int(os.environ["WORLD_SIZE"]))
    if os.environ.get("TORCH_FR_BUFFER_SIZE"):
        threading.Thread(target=dump_flight_recorder, daemon=True).start()


def finish():
    dist.barrier()
    dist.destroy_process_group()


def dump_flight_recorder():
    """Write what torch's flight recorder has, under the names that its own watchdog gives, when the file `dump` is there."""
    from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json

    while not (PLACE / "dump").exists():
        time.sleep(0.1)
    name = os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank())
    Path(name).write_bytes(_dump_fr_trace(True, True, False))
    (PLACE / f"dump_{rank()}").write_bytes(_dump_fr_trace_json(True, False))
    (PLACE / f"dump_{rank()}").rename(name + ".json")


def exchange_objects_without_numpy():
    """Let torch unpack the objects that ranks exchange; its own function needs numpy, which tltui does not."""
    dist.distributed_c10d._tensor_to_object = lambda tensor, size, group: pickle.loads(bytes(tensor.tolist()[:size]))


def die():
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(FOREVER)


def hang():
    (PLACE / "hangs").touch()
    time.sleep(FOREVER)


def in_compile(action):
    """Let the next compile of Inductor call this."""
    from torch._inductor import graph

    graph.GraphLowering.placeholder = lambda *args, **options: action()


def others_wait():
    """Wait until the logs of the other ranks have a finished backward: their next step is DDP's allreduce."""
    for other in range(int(os.environ["WORLD_SIZE"])):
        if other != rank():
            until_log_has(other, b'"bwd_compilation_metrics"')
    time.sleep(1)


def until_log_has(of_rank, text):
    logs = Path(os.environ["TORCH_TRACE"])
    while not any(text in log.read_bytes() for log in logs.glob(f"*_rank_{of_rank}_*.log")):
        time.sleep(0.1)


def on_rank(which, step, action):
    """What comes before a step: this action, on one rank before one step."""
    return lambda now: action() if (rank(), now) == (which, step) else None


def killed_forward():
    def killed():
        others_wait()
        die()

    train(before_step=on_rank(1, 0, lambda: in_compile(killed)))


def killed_backward():
    def killed():
        others_wait()
        die()

    train(before_backward=on_rank(1, 0, lambda: in_compile(killed)))


def killed_backward_early():
    train(before_backward=on_rank(1, 0, lambda: in_compile(die)))


def killed_outside():
    train(before_step=on_rank(1, 2, die))


oom_signal = killed_outside


def backward_error():
    def fails():
        others_wait()
        raise RuntimeError("planted: no kernel for this backward")

    train(before_backward=on_rank(1, 0, lambda: in_compile(fails)))


def restart_works():
    train(5, on_rank(1, 3, lambda: os._exit(3)) if launch() == 1 else nothing)


def restart_fails():
    def fails():
        raise ValueError("planted: the checkpoint of step 2 is incomplete")

    train(5, on_rank(1, 3, lambda: os._exit(3)) if launch() == 1 else on_rank(0, 1, fails))


def compiler_hangs():
    """The compiler of rank 1 is the script `g++`, which reads a FIFO after the source once the file `armed` is there."""
    train(before_step=on_rank(1, 0, lambda: (PLACE / "armed").touch()))


def barrier_inside():
    from torch._inductor import config

    def wait_for_all(graph):
        (PLACE / "hangs").touch()
        dist.barrier(group)

    def patch():
        config.post_grad_custom_post_pass = wait_for_all

    dist.init_process_group("gloo")
    group = dist.new_group()
    dist.init_process_group = lambda *args: None
    train(before_step=on_rank(1, 0, patch))


flight_recorder_allreduce = barrier_inside


@torch.compile
def encode(x):
    return x.sin() * 2


@torch.compile
def decode(x):
    return x.cos() - 1


def read_shard():
    hang()


def barrier_outside():
    start()
    data = torch.randn(8)
    dist.all_reduce(data)
    data = encode(data)
    if rank() == 1:
        read_shard()
    dist.barrier()
    decode(data)
    finish()


flight_recorder = barrier_outside


@torch.compile
def expert(x):
    return x.tanh() * 3


def compiler_collective():
    """torch 2.13 lets accelerators only have compiler collectives: the device that it selects around the collective is left out."""
    from torch._dynamo import config, output_graph

    exchange_objects_without_numpy()
    config.enable_compiler_collectives = True
    output_graph.get_interface_for_device = lambda device: types.SimpleNamespace(device=contextlib.nullcontext)
    torch.accelerator.device_count = lambda: 1
    dist.init_process_group("cpu:gloo")
    expert(torch.randn(8))
    if rank() == 1:
        read_shard()
    expert(torch.randn(5))
    finish()


def uneven_batch():
    train(4, rows=lambda step: 5 if (rank(), step) == (2, 3) else 8)


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32, 16)

    def forward(self, tokens):
        return self.table(tokens) * 4


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(16, 16)

    def forward(self, x):
        return x + self.mix(x).relu()


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(16, 32)

    def forward(self, x):
        return self.out(x).log_softmax(-1)


def pipeline(stage, schedule):
    from torch.distributed.pipelining import PipelineStage

    exchange_objects_without_numpy()
    dist.init_process_group("gloo")
    last = dist.get_world_size() - 1
    tokens = torch.randint(0, 32, (8, 4))
    schedule = schedule(
        PipelineStage(stage, rank(), last + 1, torch.device("cpu")), 4,
        loss_fn=lambda out, target: nn.functional.nll_loss(out.flatten(0, 1), target.flatten()),
    )  # fmt: skip
    for step in range(2):
        losses = []
        schedule.step(*([tokens] if rank() == 0 else []), **({"target": tokens, "losses": losses} if rank() == last else {}))
        if rank() == last:
            print(f"step {step}: loss {sum(losses).item():.3f}", flush=True)
    finish()


def pipeline_classes():
    from torch.distributed.pipelining import ScheduleGPipe

    pipeline(torch.compile((Embedding, Mixer, Head)[rank()]()), ScheduleGPipe)


class Part(nn.Module):
    """A part of the model, as torchtitan cuts it: one class, in which a stage leaves out what others have."""

    def __init__(self, first, last):
        super().__init__()
        self.embedding = nn.Embedding(32, 16) if first else None
        self.layers = nn.ModuleList(Mixer() for _ in range(2))
        self.head = nn.Linear(16, 32) if last else None

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x) if self.head is not None else x


def pipeline_one_class():
    from torch.distributed.pipelining import Schedule1F1B

    pipeline(torch.compile(Part(rank() == 0, rank() == 3)), Schedule1F1B)


def rank0_logging():
    train(model=LoggingNet)


def two_jobs():
    if os.environ["TLTUI_JOB_PART"] == "0":
        train(4, pause=0.5)
        return
    dist.init_process_group("gloo")
    evaluate = torch.compile(Net())
    with torch.no_grad():
        for _ in range(8):
            print("mean", evaluate(torch.randn(32, 16)).mean().item(), flush=True)
            time.sleep(0.5)
    finish()


def oom_exception():
    train(before_step=on_rank(1, 1, lambda: torch.empty(1 << 50)))


def launcher_ended():
    train(1000, pause=0.2)


def all_fail_alike():
    def check(step):
        assert step == 0, "planted: 8 rows, 16 expected"

    train(before_step=check)


def spawn_error():
    torch.multiprocessing.spawn(spawned, (), 3)


def spawned(number):
    os.environ |= {"RANK": str(number), "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1"}

    def fails():
        raise ValueError("planted: no labels for rank 1")

    train(before_step=on_rank(1, 1, fails))


def cache_race():
    def after_rank_0(step):
        if rank() != 0 and step == 0:
            until_log_has(0, b'"bwd_compilation_metrics"')

    train(before_step=after_rank_0)


def moe_tokens():
    dist.init_process_group("gloo")
    for tokens in (8, 5, 3) if rank() == 1 else (8, 8, 8):
        dist.all_reduce(expert(torch.randn(tokens, 16)).sum())
    finish()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
