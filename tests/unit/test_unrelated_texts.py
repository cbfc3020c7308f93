"""Logs of other programs: none is taken for a text of torch, in a directory none opens, and by name each opens as plain text."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_outputs import OUTPUTS
from cluster_texts import EACH, KINDS, cluster_texts
from real import TRACES, fresh

from tltui.cli import main
from tltui.questions.autotune.autotune_report import printed_tables
from tltui.questions.job_failures.failure_sections import has_torch
from tltui.questions.job_failures.job_failures import output_warnings, run_failures
from tltui.questions.vllm.startup import has_startup
from tltui.sources.discover import NothingFound, discover

TEXTS = {
    "syslog": "Nov 24 10:00:01 node1 CRON[1201]: (root) CMD (run-parts /etc/cron.hourly)\n",
    "dmesg": "[    0.000000] Linux version 6.1.0 (gcc 12.2.0)\n[    1.204521] NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n",
    "journalctl": "Nov 24 10:00:01 node1 systemd[1]: Started slurmd.service - Slurm node daemon.\n",
    "slurmctld.log": "[2026-11-24T10:00:01.123] sched: Allocate JobId=42 NodeList=node[1-2] #CPUs=64 Partition=gpu\n",
    "slurmd.log": "[2026-11-24T10:00:01.123] launch task StepId=42.0 request from UID:1000 GID:1000 HOST:10.0.0.1 PORT:40000\n",
    "nginx_access": '10.0.0.1 - - [24/Nov/2026:10:00:01 +0000] "GET /torch/_dynamo/x.py HTTP/1.1" 200 512 "-" "curl/8.0"\n',
    "nginx_error": '2026/11/24 10:00:01 [error] 31#31: *1 open() "/usr/share/x" failed (2: No such file or directory)\n',
    "apache": "[Tue Nov 24 10:00:01.123456 2026] [mpm_event:notice] [pid 12:tid 34] AH00489: Apache/2.4 configured\n",
    "pip": "Collecting torch==2.8.0\n  Downloading torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl (888.1 MB)\n",
    "npm": "npm WARN deprecated har-validator@5.1.5: this library is no longer supported\nadded 120 packages in 4s\n",
    "cargo": "   Compiling torch-sys v0.14.0\nwarning: unused variable: `x`\n --> src/main.rs:3:9\n",
    "gdb": "#0  0x00007ffff7e3 in raise () from /lib64/libc.so.6\n#1  0x00005555 in main (argc=1) at main.c:12\n",
    "java": (
        'Exception in thread "main" java.lang.NullPointerException\n'
        '\tat org.pytorch.Main.main(Main.java:12)\n'
        'Caused by: java.io.IOException\n'
    ),
    "go": (
        "panic: runtime error: index out of range [3] with length 3\n"
        "\n"
        "goroutine 1 [running]:\n"
        "main.main()\n"
        "\t/x/main.go:8 +0x1d\n"
    ),
    "rust": "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3 but the index is 99\n",
    "node": "/x/app.js:3\n    throw new Error('no');\n    ^\n\nError: no\n    at Object.<anonymous> (/x/app.js:3:9)\n",
    "ruby": "app.rb:2:in `<main>': undefined method `x' for nil:NilClass (NoMethodError)\n",
    "python": 'Traceback (most recent call last):\n  File "/x/train.py", line 3, in <module>\n    f()\nValueError: no\n',
    "python_eager_torch": (
        'Traceback (most recent call last):\n  File "/x/train.py", line 3, in <module>\n    y = net(x)\n'
        '  File "/v/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1751, in _wrapped_call_impl\n'
        "    return self._call_impl(*args, **kwargs)\nRuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x4)\n"
    ),
    "python_chain": (
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    d['x']\nKeyError: 'x'\n\n"
        'During handling of the above exception, another exception occurred:\n\n'
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\nOSError: no\n'
    ),
    "python_group": (
        '  + Exception Group Traceback (most recent call last):\n  |   File "a.py", line 1, in <module>\n  | ExceptionGroup: x (1 '
        "sub-exception)\n  +-+---------------- 1 ----------------\n    | ValueError: 1\n    +------------------------------------\n"
    ),
    "ipython": (
        "---------------------------------------------------------------------------\nValueError                                "
        "Traceback (most recent call last)\nCell In[1], line 1\n----> 1 f()\n\nValueError: no\n"
    ),
    "rich": (
        f"╭{'─' * 12} Traceback (most recent call last) {'─' * 12}╮\n│ {'/x/train.py:3 in <module>':57} │\n"
        f"│ {'':57} │\n│ {'❱ 3 f()':57} │\n╰{'─' * 59}╯\nValueError: no\n"
    ),
    "stack_dump": 'Thread 0x00007f (most recent call first):\n  File "/x/train.py", line 3 in f\n',
    "print_stack": (
        '  File "/x/train.py", line 9, in <module>\n'
        '    f()\n'
        '  File "/x/train.py", line 3, in f\n'
        '    traceback.print_stack()\n'
    ),
    "jsonl": '{"ts": 1795535530.3, "level": "info", "msg": "step", "loss": 0.31}\n{"ts": 1795535531.3, "level": "warn"}\n',
    "csv": "step,loss,lr\n1,0.31,0.001\n2,0.29,0.001\n",
    "tsv": "step\tloss\n1\t0.31\n",
    "yaml": "model:\n  name: llama\n  compile: true\n",
    "toml": '[tool.ruff]\nline-length = 132\n[torch._dynamo]\nrecompile_limit = "8"\n',
    "ini": "[default]\nworkers = 4\n",
    "xml": '<?xml version="1.0"?>\n<testsuite name="pytest" errors="0"/>\n',
    "html": "<!doctype html>\n<title>torch.compile</title>\n",
    "markdown": (
        "# torch._dynamo hit config.recompile_limit (8)\n"
        "\n"
        "What to do when `hit config.recompile_limit (8)` is printed.\n"
    ),
    "diff": "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-import torch._dynamo\n+import torch\n",
    "source.py": "import torch._dynamo\n\ntry:\n    f()\nexcept torch._dynamo.exc.Unsupported as e:\n    print(e)\n",
    "pytest": (
        "============ test session starts ============\n"
        "collected 3 items\n"
        "\n"
        "tests/test_x.py ..F   [100%]\n"
        "\n"
        "E   assert 1 == 2\n"
    ),
    "make": "gcc -O2 -c x.c -o x.o\nx.c:3:5: error: expected ';' before 'return'\nmake: *** [Makefile:3: x.o] Error 1\n",
    "cmake": "-- The C compiler identification is GNU 12.2.0\nCMake Error at CMakeLists.txt:3 (find_package):\n",
    "docker": '#5 [2/4] RUN pip install torch\n#5 12.31 Successfully installed torch-2.8.0\n#5 DONE 12.9s\n',
    "kubectl": "NAME      READY   STATUS             RESTARTS   AGE\ntrain-0   0/1     CrashLoopBackOff   4          5m\n",
    "kernel_glog": (
        "I1124 10:00:01.123456   123 server.cc:88] Listening on port 8500\n"
        "W1124 10:00:02.123456   123 server.cc:90] slow\n"
    ),
    "k8s_klog": "I1124 10:00:01.123456       1 controller.go:117] Starting controller\n",
    "android": "11-24 10:00:01.123  1234  5678 E AndroidRuntime: FATAL EXCEPTION: main\n",
    "git": "commit 1234567890abcdef1234567890abcdef12345678\nAuthor: A <a@b.c>\n\n    Dynamo: fix graph break\n",
    "strace": 'openat(AT_FDCWD, "/v/torch/_dynamo/eval_frame.py", O_RDONLY) = 3\nread(3, "", 4096) = 0\n',
    "nvidia_smi": (
        "| 0  NVIDIA H100 80GB HBM3   On | 00000000:18:00.0 Off |   0 |\n"
        "| N/A 34C P0 70W / 700W | 0MiB / 81559MiB | 0% Default |\n"
    ),
    "nccl_info": (
        "node1:123:456 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
        "node1:123:456 [0] NCCL INFO cudaDriverVersion 12040\n"
    ),
    "tensorboard": "TensorBoard 2.17.0 at http://localhost:6006/ (Press CTRL+C to quit)\n",
    "progress": "epoch 1:  10%|█         | 10/100 [00:01<00:09,  9.9it/s, loss=2.3]\r\nepoch 1:  20%|██        | 20/100\r\n",
    "postgres": "2026-11-24 10:00:01.123 UTC [12] LOG:  database system is ready to accept connections\n",
    "spark": "26/11/24 10:00:01 INFO SparkContext: Running Spark version 3.5.0\n",
    "ssh": "Nov 24 10:00:01 login1 sshd[77]: Accepted publickey for ada from 10.0.0.1 port 50000 ssh2: ED25519 SHA256:x\n",
    "gcc_asan": (
        "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x60 at pc 0x40 bp 0x7f sp 0x7f\n"
        "    #0 0x40 in main x.c:3\n"
    ),
    "valgrind": "==12== Invalid read of size 4\n==12==    at 0x10916B: main (x.c:6)\n",
    "poem": "Shall I compare thee to a summer's day?\n",
    **OUTPUTS,
}  # fmt: skip
FAILING = frozenset(("python", "python_eager_torch", "python_chain", "python_group", "ipython", "rich", "java"))
"""Those with an exception of a program, which is a failure of the job, not one of torch's compiler."""


def test_there_are_texts_of_many_kinds() -> None:
    assert len(OUTPUTS) >= 30 and len(TEXTS) >= 100


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_is_taken_for_torchs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / (name if "." in name else f"{name}.log")
    path.write_text(TEXTS[name] * 20)
    with pytest.raises(NothingFound):  # in a directory it does not open
        discover([str(tmp_path)])
    run = fresh(path)
    assert not has_torch(run) and not run.tally.compiles and output_warnings(run) == ()
    assert not any(failure.is_compile for failure in run_failures(run))
    assert bool(run_failures(run)) <= (name in FAILING)
    assert main(["summary", str(path)]) == 0
    assert f"No message of torch.compile in {TEXTS[name].count(chr(10)) * 20} lines" in " ".join(capsys.readouterr().out.split())
    assert main(["timing", str(path)]) == 2
    assert capsys.readouterr().err.startswith("tltui: no torch.compile messages in ")


def test_a_directory_of_other_texts_gives_their_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text("\n" + text)
    assert main(["ls", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "job output without a torch record" in error and "files of other kinds" in error


def test_there_are_many_generated_texts() -> None:
    assert len(KINDS) * EACH >= 200


@pytest.mark.parametrize("kind", KINDS)
def test_no_generated_text_is_taken_for_torchs(kind: str, tmp_path: Path) -> None:
    for number, content in enumerate(cluster_texts(kind)):
        path = tmp_path / str(number) / "job.log"
        path.parent.mkdir()
        path.write_text(content)
        with pytest.raises(NothingFound):
            discover([str(path.parent)])
        run = fresh(path)
        assert not has_torch(run) and not run.tally.compiles and output_warnings(run) == ()
        assert not any(printed_tables(run)) and not has_startup(run)
        assert not any(failure.is_compile for failure in run_failures(run))
        assert bool(run_failures(run)) == (kind == "python_error")


@pytest.mark.parametrize("name", ["triton_server", "xla_autotune", "jax", "kernel_glog", "k8s_klog"])
def test_native_logs_next_to_torchs_messages_are_no_process(name: str, tmp_path: Path) -> None:
    text = (TRACES / "inputs" / "printed" / "torch-2.13" / "limit.txt").read_text()
    (tmp_path / "job.out").write_text(TEXTS[name] + text + TEXTS[name])
    assert [process.pid for process in fresh(tmp_path / "job.out").processes()] == [18860]
