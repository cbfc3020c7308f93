"""Outputs of programs found on clusters, one of each kind, in their own forms: none has a text of torch's compiler."""

# ruff: noqa: E501

from __future__ import annotations

OUTPUTS = {
    "jax": (
        "INFO:2026-11-24 10:00:01,123:jax._src.xla_bridge:927: Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so\n"
        "WARNING:2026-11-24 10:00:02,511:jax._src.dispatch:178: Finished XLA compilation of jit(train_step) in 41.1 sec\n"
        "W1124 10:00:03.123456    4211 cuda_dnn.cc:1530] Falling back to the default convolution algorithm\n"
    ),
    "jax_recompile": (
        "WARNING:jax._src.interpreters.pxla:Compiling jit(step) with global shapes and types [ShapedArray(float32[8,128])].\n"
        "WARNING:jax._src.pjit:TRACING CACHE MISS at /x/train.py:31:11 (main) costing 3.1 ms because:\n"
        "  never seen input type signature:\n    x: f32[9], now f32[10]\n"
    ),
    "xla_autotune": (
        "2026-11-24 10:00:01.123456: I external/local_xla/xla/service/gpu/autotuning/gemm_fusion_autotuner.cc:1207] Done autotuning.\n"
        "E1124 10:00:01.123456 4211 slow_operation_alarm.cc:73] \n********************************\n"
        "[Compiling module jit_step for GPU] Very slow compile? If you want to file a bug, run with envvar XLA_FLAGS=--xla_dump_to=/tmp\n"
    ),
    "tensorflow": (
        "2026-11-24 10:00:01.123456: I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized to use "
        "available CPU instructions\nWARNING:tensorflow:5 out of the last 5 calls to <function train_step at 0x7f00> triggered "
        "tf.function retracing. Tracing is expensive\nWARNING:tensorflow:AutoGraph could not transform <bound method A.f> and will "
        "run it as-is.\n"
    ),
    "dask": (
        "2026-11-24 10:00:01,123 - distributed.scheduler - INFO - Register worker <WorkerState 'tcp://10.0.0.7:40001', status: init>\n"
        "2026-11-24 10:00:02,123 - distributed.worker.memory - WARNING - Unmanaged memory use is high. Process memory: 12.1 GiB\n"
        "2026-11-24 10:00:03,123 - distributed.core - INFO - Event loop was unresponsive in Worker for 3.21s.\n"
    ),
    "ray_head": (
        "2026-11-24 10:00:01,123\tINFO worker.py:1841 -- Started a local Ray instance.\n"
        "(raylet) [2026-11-24 10:00:02,123 W 1234 1234] (raylet) node_manager.cc:3120: Worker slots are full.\n"
        "(pid=gcs_server) 2026-11-24 10:00:03,001 autoscaler.py:280 -- Resized to 64 CPUs.\n"
    ),
    "ray_tune": (
        "== Status ==\nCurrent time: 2026-11-24 10:00:01 (running for 00:10:05.11)\nUsing AsyncHyperBand: num_stopped=3\n"
        "| train_5f1d0_00000 | RUNNING  | 10.0.0.7:4211 | 0.01 |   12 |  120.3 | 0.4120 |\n"
    ),
    "spark_driver": (
        "26/11/24 10:00:01 WARN WindowExec: No Partition Defined for Window operation!\n"
        "26/11/24 10:00:02 ERROR TaskSchedulerImpl: Lost executor 3 on 10.0.0.9: Remote RPC client disassociated.\n"
        "26/11/24 10:00:03 INFO CodeGenerator: Code generated in 12.345 ms\n"
    ),
    "conda": (
        "Collecting package metadata (current_repodata.json): done\nSolving environment: failed with initial frozen solve. Retrying.\n"
        "The following NEW packages will be INSTALLED:\n\n  pytorch            pytorch/linux-64::pytorch-2.8.0-py3.11_cuda12.4_0\n"
    ),
    "pip_error": (
        "ERROR: Could not find a version that satisfies the requirement torch==9.9 (from versions: 2.6.0, 2.8.0)\n"
        "ERROR: No matching distribution found for torch==9.9\n"
        "  error: subprocess-exited-with-error\n  × python setup.py bdist_wheel did not run successfully.\n  ╰─> [12 lines of output]\n"
    ),
    "torch_extension": (
        "Using /x/.cache/torch_extensions/py311_cu124 as PyTorch extensions root...\n"
        "Emitting ninja build file /x/.cache/torch_extensions/py311_cu124/fused_adam/build.ninja...\n"
        "Building extension module fused_adam...\nninja: no work to do.\nLoading extension module fused_adam...\n"
        "Time to load fused_adam op: 0.0712 seconds\n"
    ),
    "cmake_configure": (
        "-- Found CUDA: /usr/local/cuda (found version \"12.4\")\n-- Autodetected CUDA architecture(s): 9.0\n"
        "CMake Warning at cmake/public/utils.cmake:385 (message):\n  torch._inductor needs no CMake.\n"
    ),
    "ninja": (
        "[12/640] Building CXX object torch/csrc/inductor/aoti_runner/CMakeFiles/x.dir/model.cpp.o\n"
        "FAILED: torch/csrc/dynamo/guards.cpp.o\n/usr/bin/c++ -O2 -c /src/torch/csrc/dynamo/guards.cpp\n"
        "/src/torch/csrc/dynamo/guards.cpp:31:5: error: 'x' was not declared in this scope\n"
    ),
    "pytest_verbose": (
        "test/dynamo/test_misc.py::MiscTests::test_recompile_limit PASSED [  3%]\n"
        "test/dynamo/test_misc.py::MiscTests::test_graph_break SKIPPED (no CUDA) [  4%]\n"
        "============ 1 passed, 1 skipped, 2 warnings in 3.11s ============\n"
    ),
    "open_mpi": (
        "--------------------------------------------------------------------------\n"
        "WARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   gpu-001\n  Local device: mlx5_0\n"
        "--------------------------------------------------------------------------\n"
        "[gpu-001:04211] mca_base_component_repository_open: unable to open mca_btl_ofi: libfabric.so.1: cannot open (ignored)\n"
    ),
    "mpi_tagged": "[1,0]<stdout>:step 10 loss 0.31\n[1,1]<stdout>:step 10 loss 0.32\n[1,0]<stderr>:compile cache is warm\n",
    "intel_mpi": (
        "[0] MPI startup(): Intel(R) MPI Library, Version 2021.11  Build 20231005\n[0] MPI startup(): libfabric provider: mlx\n"
        "[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n[0] MPI startup(): 0       4211     gpu-001    {0-31}\n"
    ),
    "ucx": (
        "[1795535530.312345] [gpu-001:4211 :0]          parser.c:2036 UCX  WARN  unused environment variable: UCX_IB_PKEY\n"
        "[1795535530.412345] [gpu-001:4211 :0]     ucp_context.c:2119 UCX  INFO  UCP version is 1.17\n"
    ),
    "nvidia_smi_table": (
        "Tue Nov 24 10:00:01 2026       \n"
        "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
        "|    0   N/A  N/A      4211      C   python -m torch._inductor.compile_worker        512MiB |\n"
    ),
    "nvidia_smi_dmon": "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n    0    412     61     70     98     41      0      0   2619   1980\n",
    "dcgm": (
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100",Hostname="gpu-001"} 98\n'
    ),
    "dcgm_diag": (
        "Successfully ran diagnostic for group.\n| Diagnostic                | Result                                         |\n"
        "|-----  Integration  -------+------------------------------------------------|\n| PCIe                      | Pass - All |\n"
    ),
    "nsys": (
        "Collecting data...\nGenerating '/tmp/nsys-report-1a2b.qdstrm'\n[1/8] [========================100%] report1.nsys-rep\n"
        " Time (%)  Total Time (ns)  Instances   Avg (ns)  Name\n     41.2        1201000012       1200  1000833.3  triton_poi_fused_add_0\n"
    ),
    "ncu": (
        "==PROF== Connected to process 4211 (/usr/bin/python3.11)\n==PROF== Profiling \"triton_red_fused_1\" - 0: 0%....50%....100% - 9 "
        "passes\n  triton_red_fused_1 (128, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n"
    ),
    "deepspeed": (
        "[2026-11-24 10:00:01,123] [INFO] [real_accelerator.py:219:get_accelerator] Setting ds_accelerator to cuda (auto detect)\n"
        "[2026-11-24 10:00:02,123] [INFO] [launch.py:256:main] process 4211 spawned with command: ['python', '-u', 'train.py']\n"
        "[2026-11-24 10:00:03,123] [WARNING] [compiler.py:42:is_compile_supported] torch.compile is not used\n"
    ),
    "wandb": (
        "wandb: Currently logged in as: ada. Use `wandb login --relogin` to force relogin\nwandb: Tracking run with wandb version 0.19.1\n"
        "wandb: ⭐️ View project at https://wandb.ai/ada/compile\nwandb:      train/loss ▇▅▃▂▁\n"
    ),
    "wandb_debug": (
        "2026-11-24 10:00:01,123 INFO    MainThread:4211 [wandb_setup.py:_flush():67] Configure stats pid to 4211\n"
        "2026-11-24 10:00:01,456 WARNING MsgRouterThr:4211 [router.py:message_loop():75] message_loop has been closed\n"
    ),
    "mlflow": (
        "2026/11/24 10:00:01 INFO mlflow.tracking.fluent: Experiment with name 'compile' does not exist. Creating a new experiment.\n"
        "2026/11/24 10:00:02 WARNING mlflow.utils.requirements_utils: Found torch version (2.8.0+cu126) contains a local version label\n"
    ),
    "hydra": (
        "[2026-11-24 10:00:01,123][__main__][INFO] - model:\n  compile: true\n  backend: inductor\n"
        "[2026-11-24 10:00:02,456][HYDRA] Launching 3 jobs locally\n[2026-11-24 10:00:02,457][HYDRA] \t#0 : model.compile=true\n"
    ),
    "loguru": (
        "2026-11-24 10:00:01.123 | INFO     | train:main:31 - compiled the model in 31.2 s\n"
        "2026-11-24 10:00:02.123 | WARNING  | data.loader:__iter__:88 - cache miss\n"
    ),
    "structlog": "2026-11-24T10:00:01.123456Z [warning  ] recompile requested           [api.build] job=42 limit=8\n",
    "accelerate": (
        "The following values were not passed to `accelerate launch` and had defaults used instead:\n"
        "\t`--num_processes` was set to a value of `8`\n\t`--dynamo_backend` was set to a value of `'no'`\n"
        "11/24/2026 10:00:01 - INFO - __main__ - Distributed environment: MULTI_GPU  Backend: nccl\n"
    ),
    "lightning": (
        "GPU available: True (cuda), used: True\nLOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1]\n\n  | Name  | Type       | Params | Mode\n"
        "0 | model | Sequential | 1.2 M  | train\nEpoch 0:  12%|█▏        | 12/100 [00:03<00:24,  3.6it/s, v_num=0]\n"
    ),
    "huggingface_trainer": (
        "{'loss': 2.3112, 'grad_norm': 1.41, 'learning_rate': 4.9e-05, 'epoch': 0.1}\n"
        "[WARNING|logging.py:329] 2026-11-24 10:00:01,123 >> `use_cache=True` is incompatible with gradient checkpointing.\n"
        "  5%|▌         | 50/1000 [00:41<12:31,  1.26it/s]\n"
    ),
    "megatron": (
        " [2026-11-24 10:00:01] iteration       10/     100 | consumed samples:          640 | elapsed time per iteration (ms): 812.3 | "
        "lm loss: 9.1E+00 |\n> compiling and loading fused kernels ...\n>>> done with compiling and loading fused kernels. 1.2 seconds\n"
    ),
    "nemo": (
        "[NeMo I 2026-11-24 10:00:01 exp_manager:396] Experiments will be logged at /x/results\n"
        "[NeMo W 2026-11-24 10:00:02 nemo_logging:349] /v/lib/python3.11/site-packages/x/y.py:12: UserWarning: old\n      warn(\n    \n"
    ),
    "tensorrt": (
        "[11/24/2026-10:00:01] [TRT] [W] Using an engine plan file across different models of devices is not recommended\n"
        "[11/24/2026-10:00:02] [TRT-LLM] [I] Autotuner: cache miss for op fused_moe\n"
    ),
    "triton_server": (
        "I1124 10:00:01.123456 1 model_lifecycle.cc:472] \"loading: llama:1\"\n"
        "W1124 10:00:02.123456 1 pinned_memory_manager.cc:133] \"failed to allocate pinned system memory: no CUDA-capable device\"\n"
    ),
    "onnxruntime": (
        "2026-11-24 10:00:01.123456789 [W:onnxruntime:, transformer_memcpy.cc:111 ApplyImpl] 4 Memcpy nodes are added to the graph\n"
    ),
    "tgi": (
        '{"timestamp":"2026-11-24T10:00:01.123456Z","level":"INFO","fields":{"message":"Cuda Graphs are enabled for sizes [32, 16]"},'
        '"target":"text_generation_router"}\n'
    ),
    "uvicorn": (
        "INFO:     Started server process [4211]\nINFO:     Application startup complete.\n"
        'INFO:     10.0.0.7:50011 - "POST /v1/compile HTTP/1.1" 200 OK\n'
    ),
    "gunicorn": (
        "[2026-11-24 10:00:01 +0000] [4211] [INFO] Listening at: http://0.0.0.0:8000 (4211)\n"
        "[2026-11-24 10:00:09 +0000] [4211] [CRITICAL] WORKER TIMEOUT (pid:4219)\n"
    ),
    "celery": (
        "[2026-11-24 10:00:01,123: INFO/MainProcess] Task jobs.compile[8f14e45f] received\n"
        "[2026-11-24 10:00:05,123: WARNING/ForkPoolWorker-3] step 12\n"
    ),
    "airflow": (
        "[2026-11-24T10:00:01.123+0000] {taskinstance.py:1157} INFO - Dependencies all met for dep_context=non-requeueable deps\n"
        "[2026-11-24T10:00:02.123+0000] {standard_task_runner.py:60} INFO - Started process 4211 to run task\n"
    ),
    "snakemake": (
        "Building DAG of jobs...\nUsing shell: /usr/bin/bash\n[Tue Nov 24 10:00:01 2026]\nrule compile:\n    input: a.py\n    output: b.pt\n"
    ),
    "lsf": (
        "Sender: LSF System <lsfadmin@gpu-001>\nSubject: Job 4211: <train> in cluster <main> Done\n\nJob <train> was submitted from host "
        "<login1> by user <ada>\nResource usage summary:\n\n    CPU time :   1201.00 sec.\n    Max Memory :   31012 MB\n"
    ),
    "pbs": (
        "Job 4211.head1 submitted\n************************************************************************\n"
        "Job run at Tue Nov 24 10:00:01 UTC 2026\nResources requested: mem=64gb,ncpus=16,place=free\n"
    ),
    "sacct": (
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
        "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
        "4211              train        gpu       main         64  COMPLETED      0:0 \n"
    ),
    "module": (
        "Currently Loaded Modulefiles:\n  1) cuda/12.4   2) openmpi/5.0.3   3) pytorch/2.8.0\n\n"
        "Lmod has detected the following error: The following module(s) are unknown: \"triton/9\"\n"
    ),
    "singularity": "INFO:    Converting SIF file to temporary sandbox...\nWARNING: underlay of /etc/localtime required more than 50 (71) bind mounts\n",
    "rsync": "sending incremental file list\ntorchinductor_ada/ab/cab.best_config\n\nsent 4,211 bytes  received 35 bytes  8,492.00 bytes/sec\n",
    "aws_s3": "upload: ./trace/dedicated_log_torch_trace_rank_0.log to s3://bucket/trace/dedicated_log_torch_trace_rank_0.log\n",
    "lustre": "Nov 24 10:00:01 gpu-001 kernel: LustreError: 11-0: scratch-OST0003: operation ost_write to node 10.0.1.3@o2ib failed: rc = -107\n",
    "xid": "Nov 24 10:00:01 gpu-001 kernel: NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n",
    "nccl_tests": (
        "#                                                              out-of-place                       in-place          \n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        "        8388608       2097152     float     sum      -1    121.1   69.27  121.22      0    120.7   69.50  121.63      0\n"
    ),
    "fio": "randread: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=32\n  read: IOPS=412k, BW=1609MiB/s (1687MB/s)\n",
    "torch_eager": (
        "/v/lib/python3.11/site-packages/torch/optim/lr_scheduler.py:227: UserWarning: Detected call of `lr_scheduler.step()` before "
        "`optimizer.step()`.\n  warnings.warn(\n[rank0]:[W1124 10:00:01.123456789 ProcessGroupNCCL.cpp:1250] Warning: WARNING: destroy_process_group() was not called\n"
    ),
    "c10d": (
        "[W1124 10:00:01.123456789 socket.cpp:752] [c10d] The client socket has failed to connect to [gpu-001]:29500 (errno: 97).\n"
        "[rank3]:[W1124 10:00:02.123456789 TCPStore.cpp:141] [c10d] recvValue failed on SocketImpl(fd=4)\n"
    ),
    "numba": (
        "/v/lib/python3.11/site-packages/numba/core/object_mode_passes.py:151: NumbaWarning: Function \"f\" was compiled in object mode\n"
        "  warnings.warn(errors.NumbaWarning(warn_msg,\n"
    ),
    "cupy": "/v/lib/python3.11/site-packages/cupy/_environment.py:487: UserWarning: \n---\n  CuPy may not function correctly\n---\n\n  warnings.warn(\n",
}  # fmt: skip
"""The name of the program → the beginning of its output."""
