"""Logs of other programs of the kinds found on clusters, made from a seed: none has a text of torch's compiler."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random

WORDS = (
    "torch", "torch.compile", "_dynamo", "inductor", "autotune", "recompile", "graph", "break", "backend", "compiled", "cudagraphs",
    "watchdog", "limit", "cache", "worker", "rank", "node", "step", "loss", "triton", "flex_attention", "AUTOTUNE", "skipping",
)  # fmt: skip
"""Words of torch's own texts too: a single word is no message."""
ERRORS = ("ValueError", "KeyError", "requests.exceptions.ConnectionError", "sqlalchemy.exc.OperationalError", "RuntimeError")


def words(random: Random, count: int = 6) -> str:
    return " ".join(random.choice(WORDS) for _ in range(count))


def clock(random: Random) -> str:
    return f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"


def micros(random: Random) -> str:
    return f"{clock(random)}.{random.randrange(999999):06}"


def host(random: Random) -> str:
    return f"gpu-{random.randrange(999):03}"


def slurm(random: Random) -> str:
    return f"[2026-11-{random.randrange(1, 29):02}T{clock(random)}.{random.randrange(999):03}] sched: {words(random)}"


def kubernetes(random: Random) -> str:
    level, pid = random.choice("IWE"), random.randrange(9)
    return f"{level}11{random.randrange(1, 29):02} {micros(random)}       {pid} pod.go:7] {words(random)}"


def glog(random: Random) -> str:
    return f"{random.choice('IWE')}1124 {micros(random)} {random.randrange(9999):5} a.cc:8] {words(random)}"


def nginx(random: Random) -> str:
    status = random.choice((200, 404, 500))
    return f'10.0.0.7 - - [24/Nov/2026:{clock(random)} +0000] "GET /{words(random, 1)} HTTP/1.1" {status} 5 "-" "x"'


def spark(random: Random) -> str:
    return f"26/11/24 {clock(random)} {random.choice(('INFO', 'WARN', 'ERROR'))} TaskSetManager: {words(random)}"


def dmesg(random: Random) -> str:
    return f"[{random.random() * 1e5:12.6f}] {random.choice(('NVRM', 'mlx5_core', 'EXT4-fs', 'audit'))}: {words(random)}"


def pip(random: Random) -> str:
    verb = random.choice(("Collecting", "Requirement already satisfied:", "Using cached"))
    return f"{verb} {words(random, 1)}=={random.randrange(9)}.1"


def cmake(random: Random) -> str:
    return f"{random.choice(('--', 'CMake Warning at', f'[{random.randrange(100):3}%] Building'))} {words(random, 3)}"


def ray(random: Random) -> str:
    return f"({words(random, 1)} pid={random.randrange(1, 99999)}, ip=10.0.0.{random.randrange(256)}) {words(random)}"


def tensorboard(random: Random) -> str:
    return f"2026-11-24 {clock(random)}.123456: W tensorflow/core/{words(random, 1)}.cc:33] {words(random)}"


def json_lines(random: Random) -> str:
    return json.dumps({"ts": random.random() * 1e9, "msg": words(random), "rank": random.randrange(8)})


def comma_separated(random: Random) -> str:
    return ",".join(str(random.randrange(9999)) for _ in range(6)) + f",{words(random, 1)}"


def python_error(random: Random) -> str:
    frames = "".join(
        f'  File "/srv/{words(random, 1)}.py", line {random.randrange(1, 999)}, in f\n    {words(random, 2)}\n'
        for _ in range(random.randrange(1, 5))
    )
    return f"Traceback (most recent call last):\n{frames}{random.choice(ERRORS)}: {words(random)}"


def python_logging(random: Random) -> str:
    return f"2026-11-24 {clock(random)},123 - {words(random, 1)} - {random.choice(('INFO', 'WARNING', 'ERROR'))} - {words(random)}"


def python_warning(random: Random) -> str:
    return f"/srv/{words(random, 1)}.py:{random.randrange(1, 999)}: UserWarning: {words(random)}\n  warnings.warn("


def progress(random: Random) -> str:
    return f"epoch {random.randrange(9)}: {random.randrange(100):3}%|██  | 9/99 [00:01<00:09, {words(random, 1)}=2.3]"


def nccl(random: Random) -> str:
    return f"{host(random)}:{random.randrange(9999)}:{random.randrange(9999)} [{random.randrange(8)}] NCCL INFO {words(random)}"


def syslog(random: Random) -> str:
    return f"Nov 24 {clock(random)} {host(random)} {words(random, 1)}[{random.randrange(9999)}]: {words(random)}"


def go_panic(random: Random) -> str:
    return f"goroutine {random.randrange(99)} [running]:\nmain.f(0x1)\n\t/x/main.go:{random.randrange(99)} +0x1d"


def java_stack(random: Random) -> str:
    return f"\tat org.pytorch.{words(random, 1)}(Main.java:{random.randrange(99)})"


def metrics(random: Random) -> str:
    return f'{words(random, 1).replace(".", "_")}_total{{rank="{random.randrange(8)}"}} {random.random() * 100:.3f}'


def yaml(random: Random) -> str:
    return f"{'  ' * random.randrange(3)}{words(random, 1)}: {words(random, 2)}"


def shell_trace(random: Random) -> str:
    return f"{'+' * random.randrange(1, 3)} export {words(random, 1).upper().replace('.', '_')}={random.randrange(99)}"


def markdown(random: Random) -> str:
    return f"{random.choice(('#', '-', '>', '|'))} `{words(random, 2)}` {words(random)}"


KINDS: dict[str, Callable[[Random], str]] = {
    make.__name__: make
    for make in (
        slurm, kubernetes, glog, nginx, spark, dmesg, pip, cmake, ray, tensorboard, json_lines, comma_separated, python_error,
        python_logging, python_warning, progress, nccl, syslog, go_panic, java_stack, metrics, yaml, shell_trace, markdown,
    )
}  # fmt: skip
EACH = 10
"""Files of each kind."""


def cluster_texts(kind: str) -> Iterator[str]:
    """Yield the files of a kind, the same ones each time."""
    for seed in range(EACH):
        random = Random(f"{kind} {seed}")
        yield "\n".join(KINDS[kind](random) for _ in range(random.randrange(3, 80))) + "\n"
