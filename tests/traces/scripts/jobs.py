"""Runs the jobs of tests/live/programs/jobs.py and keeps what they leave behind as tests/traces/jobs/NAME.

    jobs.py run OUT [NAME]...       each job in OUT/NAME, with what it looked like while it hung
    jobs.py pack OUT [NAME]...      from there to tests/traces/jobs

`run` needs torch, a C++ compiler, and py-spy for stacks. `pack` leaves out of the logs what no page about ranks reads (`DROPPED`,
and empty fields of the metrics), makes the paths neutral as tools/neutralise.py does, and compresses each file.
"""

import json
import lzma
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
JOBS = ROOT / "tests" / "traces" / "jobs"
sys.path[:0] = [str(ROOT / "tests" / "kit"), str(ROOT / "tools")]

from job_runs import PROGRAM, start, warm_cache
from job_truths import ACCIDENTS, TRUTHS
from neutralise import neutralise, records

DROPPED = {
    "fx_graph_runnable", "dynamo_cpp_guards_str", "aot_forward_graph_fw_metadata", "torch._functorch.config", "runtime_wrapper_orchestration",
    "before_joint_graph", "after_joint_graph", "before_pre_grad_graph", "after_pre_grad_graph", "backward_prologue", "compiled_function_forward",
    "compiled_function_backward", "before_post_grad_graph", "aot_joint_graph", "bytecode",
}  # fmt: skip
RAN_AS = {"restart_unconnected": "restart_works", "edited_source": "backward_error"}
METRICS = ("compilation_metrics", "bwd_compilation_metrics")
HEAD = re.compile(rb"^(V\d{4} [^\]]*\] )(\{.*\})$")


def run(name, out):
    place = out / name
    shutil.rmtree(place, ignore_errors=True)
    cache = out / "cache"
    if not cache.exists():
        warm_cache(cache, sys.executable)
    job = start(name, place, sys.executable, cache)
    if TRUTHS[name].stops:
        try:
            job.wait_until_it_hangs()
            look(job)
        finally:
            job.stop()
    else:
        job.wait()
    shutil.rmtree(place / "cache")
    print(name, [process.returncode for process in job.processes], flush=True)


def look(job):
    """What the job looks like while it hangs."""
    if job.name.startswith("flight_recorder"):
        job.dump_flight_recorder()
    (job.place / "live").mkdir()
    shutil.copy(job.output(), job.place / "live")
    if shutil.which("py-spy") is None:
        sys.exit("py-spy is not installed: pip install py-spy")
    (job.place / "py_spy").mkdir()
    for rank, pid in job.ranks().items():
        done = subprocess.run(["py-spy", "dump", "--pid", str(pid)], capture_output=True, check=False)
        (job.place / "py_spy" / f"{rank}.txt").write_bytes(done.stdout)


def pack(name, out):
    source, target = out / name, JOBS / name
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if path.is_dir() or inside.parts[0] == "cache" or inside.parts[:2] == ("live", "trace"):
            continue
        if path.suffix in (".log", ".txt", ".json") or path.name.startswith("comm_lib_trace"):
            if path.name in ("run.txt", "ps.txt", "truth.json") or (path.parent.name == "py_spy" and path.suffix == ".json"):
                continue
            data = path.read_bytes()
            if path.suffix == ".log":
                data = b"".join(map(smaller, filter(wanted, records(data))))
            data = without_paths(data, source) if not path.name[-1].isdigit() else dump_without_paths(data, source)
            place = target / inside.with_name(inside.name + ".xz")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    if name == "oom_signal":
        with_words_of_others(target)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{name}: {size // 1000} kB", flush=True)


def with_words_of_others(target):
    """What Slurm's step daemon or the kernel would have added to the output of the job, each in a file of its own.

    In the words that people have published; they come from Slurm's src/plugins/task/cgroup/task_cgroup_memory.c and Linux's mm/oom_kill.c.
    """
    out = lzma.decompress((target / "out.txt.xz").read_bytes())
    pid = re.search(rb"exitcode: -9\) local_rank: 1 \(pid: (\d+)\)", out)[1]
    words = {
        "slurm": b"slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0. Some of the step tasks have been OOM Killed.\n",
        "kernel": b"[ 8127.311562] Out of memory: Killed process " + pid + b" (python) total-vm:18240316kB, anon-rss:15871240kB, "
        b"file-rss:2304kB, shmem-rss:0kB, UID:1000 pgtables:31812kB oom_score_adj:0\n",
    }
    for name, line in words.items():
        (target / f"out_{name}.txt.xz").write_bytes(lzma.compress(out + line))


def head_of(record):
    match = HEAD.match(record.partition(b"\n")[0])
    return (match, json.loads(match[2])) if match else (None, {})


def wanted(record):
    match, head = head_of(record)
    if "chromium_event" in head:
        return b'"name": "pass.' not in record
    return not (DROPPED & head.keys()) and head.get("artifact", {}).get("name") not in DROPPED


def smaller(record):
    """Metrics without fields that are empty and without configurations. No payload changes."""
    match, head = head_of(record)
    for name in METRICS:
        if name in head:
            head[name] = {
                key: value for key, value in head[name].items()
                if key == "has_guarded_code" or not (value in (None, [], 0, "") or key.endswith("_config"))
            }
            return match[1] + json.dumps(head).encode() + record[match.end():]
    return record


def without_paths(data, source):
    source = source.with_name(RAN_AS.get(source.name, source.name))
    maps = {PROGRAM.parent: "/home/user/train", source / "cache": "/tmp/torchinductor_user", source: "/home/user/job", ROOT: "/home/user"}
    return neutralise(data, [(str(place), neutral) for place, neutral in maps.items()], "", os.uname().nodename)


def dump_without_paths(data, source):
    """A dump of the flight recorder: the strings in the pickle."""
    def neutral(value):
        if isinstance(value, str):
            return without_paths(value.encode(), source).decode()
        if isinstance(value, dict):
            return {neutral(key): neutral(each) for key, each in value.items()}
        return [neutral(each) for each in value] if isinstance(value, list) else value

    return pickle.dumps(neutral(pickle.loads(data)), protocol=2)


if __name__ == "__main__":
    action, out = {"run": run, "pack": pack}[sys.argv[1]], Path(sys.argv[2]).resolve()
    for name in sys.argv[3:] or [*TRUTHS, *(ACCIDENTS if action is pack else [])]:
        action(name, out)
