"""Small jobs of three processes, one a rank, each into a directory of its name: `rank_jobs.py OUT [NAME...]`.

uneven    ranks 0 and 1 compile `step` for 8 rows; rank 2 gets 5 rows in its last batch, and compiles it again for 2 s
logging   rank 0 prints the mean of a tensor in `forward`: a graph break, which ranks 1 and 2 do not have
stages    a pipeline of three stages, each a function of its own, through torch.distributed.pipelining
blocks    the same, where all stages are blocks of one class: the stage is in the sources of the parameters
backward  rank 1 is killed while it compiles the backward of `step`; ranks 0 and 2 finish theirs
cache     the ranks share a cache of FX graphs and begin one after the other: rank 0 misses, ranks 1 and 2 hit
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

HERE, RANKS = os.path.abspath(__file__), 3


def launch(out, name):
    trace = os.path.join(out, name)
    os.makedirs(trace)
    with tempfile.TemporaryDirectory() as cache:
        started = []
        for rank in range(RANKS):
            environment = dict(
                os.environ, TORCH_TRACE=trace, RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT="29631",
                TORCHINDUCTOR_CACHE_DIR=os.path.join(cache, "shared" if name == "cache" else str(rank)),
            )
            started.append(subprocess.Popen([sys.executable, HERE, "run", name], env=environment))
        print(name, [process.wait() for process in started], flush=True)


def run(name):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank = dist.get_rank()

    def eager(graph, inputs):
        return graph.forward

    def slow(graph, inputs):
        if any(isinstance(one, torch.Tensor) and one.shape[0] != 8 for one in inputs):
            time.sleep(2)
        return graph.forward

    class Block(torch.nn.Module):
        def __init__(self, first, count):
            super().__init__()
            self.layers = torch.nn.ModuleDict({str(first + n): torch.nn.Linear(4, 4) for n in range(count)})

        def forward(self, x):
            for layer in self.layers.values():
                x = layer(x).relu()
            return x

    class First(torch.nn.Module):
        def forward(self, x):
            return x.sin()

    class Middle(torch.nn.Module):
        def forward(self, x):
            return x.cos() + 1

    class Last(torch.nn.Module):
        def forward(self, x):
            return x.tanh() * 2

    def pipeline(module):
        from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

        some = torch.ones(4, 4)  # with the shapes given, torch does not exchange them: that needs NumPy
        compiled = torch.compile(module, backend=eager)
        stage = PipelineStage(compiled, rank, RANKS, torch.device("cpu"), input_args=some, output_args=some)
        schedule = ScheduleGPipe(stage, n_microbatches=2)
        schedule.step(*([torch.ones(8, 4)] if rank == 0 else []))

    if name == "uneven":
        @torch.compile(backend=slow, dynamic=False)
        def step(x):
            return x.relu() + 1

        for rows in (8, 8, 5 if rank == 2 else 8):
            step(torch.ones(rows, 4))
            dist.barrier()
    elif name == "logging":
        class Net(torch.nn.Module):
            def forward(self, x):
                x = x.relu()
                if dist.get_rank() == 0:
                    print("mean", x.mean())
                return x + 1

        torch.compile(Net(), backend=eager)(torch.ones(8, 4))
    elif name == "stages":
        pipeline((First, Middle, Last)[rank]())
    elif name == "blocks":
        pipeline(Block(2 * rank, 1 if rank else 2))
    elif name == "backward":
        import torch._inductor.compile_fx as compile_fx

        @torch.compile
        def step(x, w):
            return (x @ w).relu()

        result = step(torch.ones(8, 4), torch.ones(4, 4, requires_grad=True)).sum()
        dist.barrier()
        if rank == 1:
            compile_fx.GraphLowering.run = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
        result.backward()
    elif name == "cache":
        @torch.compile
        def step(x):
            return x.relu() + 1

        for turn in range(RANKS):
            if turn == rank:
                step(torch.ones(8, 4))
            dist.barrier()
    dist.destroy_process_group()


if sys.argv[1] == "run":
    run(sys.argv[2])
else:
    for one in sys.argv[2:] or ("uneven", "logging", "stages", "blocks", "backward", "cache"):
        launch(sys.argv[1], one)
