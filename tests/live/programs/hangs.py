"""Ends itself (SIGKILL) in the middle of what its argument names, so that it is known where it stood. With HANG=1 it hangs there instead.

`KNOWN` says what the log then has open: what it is (`Inside.what`), of which function, the id of the compile, the innermost phase.
CUT=1 leaves out of the log what nobody needs for that.
"""

import json
import os
import signal
import sys
import threading
import time

WHERE = sys.argv[1] if len(sys.argv) > 1 else ""
KNOWN = {
    "tracing": ("compile", "f", "[0/0]", "bytecode_tracing"),
    "before_start": ("compile", None, "[0/0]", "entire_frame_compile"),
    "backend": ("compile", "f", "[0/0]", "backend_compile"),
    "joint": ("compile", "f", "[0/0]", "aot_trace_joint_graph"),
    "lowering": ("compile", "f", "[0/0]", "GraphLowering.run"),
    "post_grad": ("compile", "f", "[0/0]", "pass.post_grad_passes.post_grad_custom_post_pass"),
    "kernels": ("compile", "f", "[0/0]", "async_compile.wait"),
    "autotuning": ("compile", "f", "[0/0]", "packed_linear_template_autotuning"),
    "guards": ("compile", "f", "[0/0]", "build_guards"),
    "recompile": ("compile", "f", "[0/1]", "GraphLowering.run"),
    "second_attempt": ("compile", "broken", "[0/0]", "backend_compile"),
    "backward": ("backward", "f", "[0/0]", "GraphLowering.run"),
    "capture": ("capture", None, "[!0]", "compiled_autograd"),
    "captured": ("compile", "forward", "[!0/1/0]", "GraphLowering.run"),
    "epoch": ("compile", "g", "[0/0~2]", "GraphLowering.run"),
    "epoch_begins": ("again", None, "[0/0]", "entire_frame_compile"),
    "epoch_backward": ("backward", "f or g", "[0/0]", "GraphLowering.run"),
    "thread": ("backward", "f", "[0/0]", "GraphLowering.run"),
    "interrupted": ("interrupted", "f", "[0/0]", "backend_compile"),
    "after_failed_capture": None,
    "after_failure": None,
    "between": None,
}  # fmt: skip
"""None: nothing is open."""


def stand(*args, **options):
    """Here it ends."""
    if os.environ.get("HANG") == "1":
        time.sleep(600)
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)


def keep(record):
    """Timing events, beginnings, ends and graphs."""
    said = record.metadata
    for name in ("compilation_metrics", "bwd_compilation_metrics"):
        metrics = said.get(name)
        for key in [key for key, value in (metrics or {}).items() if value in (None, [], 0, "") or key.endswith("_config")]:
            if key != "has_guarded_code":
                del metrics[key]
    if "chromium_event" in said:
        name = json.loads(record.payload)["name"]
        return not name.startswith("pass.") or "custom" in name
    left_out = ("artifact", "dump_file", "guard_added_fast", "create_symbol", "dynamo_cpp_guards_str")
    if any(name in said for name in left_out) or any(name.startswith("describe_") for name in said):
        return False
    return "inductor_output_code" not in said or WHERE.startswith("epoch")  # it says whose a backward is


def main():
    import torch
    import torch._dynamo.convert_frame as convert_frame
    import torch._logging._internal as logs
    from torch._dynamo import compiled_autograd
    from torch._inductor import async_compile, config, graph, select_algorithm

    if os.environ.get("CUT") == "1":
        logs.trace_log.addFilter(keep)

    def arm(place, name):
        setattr(place, name, stand)

    def f(x, w):
        return (x @ w).relu().sum()

    def g(x, w):
        return (x @ w).sin().sum()

    def broken(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()

    def data(dtype=torch.float32, size=4):
        return [torch.randn(size, size, dtype=dtype, requires_grad=True) for _ in range(2)]

    @torch._dynamo.assume_constant_result
    def slow_constant():
        stand()

    def with_constant(x, w):
        slow_constant()
        return x @ w

    def hanging(graph_module, inputs):
        stand()

    def refuses(graph_module, inputs):
        raise RuntimeError("this backend refuses")

    compiled = torch.compile(f)
    if WHERE == "tracing":
        with_constant.__code__ = with_constant.__code__.replace(co_name="f")
        torch.compile(with_constant)(*data())
    elif WHERE == "before_start":
        arm(convert_frame, "log_dynamo_start")
        compiled(*data())
    elif WHERE == "backend":
        torch.compile(f, backend=hanging)(*data())
    elif WHERE == "interrupted":
        def interrupts(graph_module, inputs):
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(600)

        torch.compile(f, backend=interrupts)(*data())
    elif WHERE == "joint":
        from torch._functorch._aot_autograd import graph_compile
        arm(graph_compile, "aot_dispatch_autograd_graph")
        compiled(*data())
    elif WHERE == "lowering":
        arm(graph.GraphLowering, "placeholder")
        compiled(*data())
    elif WHERE == "post_grad":
        config.post_grad_custom_post_pass = stand
        compiled(*data())
    elif WHERE == "kernels":
        from torch._inductor import cpp_builder
        run = cpp_builder._run_compile_cmd
        main_thread = threading.current_thread()

        def slow(*args):
            if threading.current_thread() is not main_thread:
                time.sleep(600)
            run(*args)

        def wait(self, scope):
            time.sleep(1)
            stand()

        cpp_builder._run_compile_cmd = slow
        async_compile.AsyncCompile._wait_futures = wait
        compiled(*data())
    elif WHERE == "autotuning":
        config.max_autotune = config.freezing = True
        config.max_autotune_gemm_backends = "CPP,ATEN"
        arm(select_algorithm.AlgorithmSelectorCache, "benchmark_choices")
        layer = torch.nn.Linear(64, 64).eval()

        def f(x):
            return layer(x).relu()

        with torch.no_grad():
            torch.compile(f)(torch.randn(32, 64))
    elif WHERE == "guards":
        arm(convert_frame, "CheckFunctionManager")
        compiled(*data())
    elif WHERE == "recompile":
        compiled(*data())
        arm(graph.GraphLowering, "placeholder")
        compiled(*data(torch.float64))
    elif WHERE == "second_attempt":
        torch.compile(broken, backend=hanging)(torch.randn(4))
    elif WHERE == "backward":
        loss = compiled(*data())
        arm(graph.GraphLowering, "placeholder")
        loss.backward()
    elif WHERE in ("capture", "captured"):
        loss = torch.compile(f, backend="aot_eager")(*data())
        if WHERE == "capture":
            arm(compiled_autograd.AutogradCompilerInstance, "end_capture")
        else:
            arm(graph.GraphLowering, "placeholder")
        with compiled_autograd._enable(torch.compile):
            loss.backward()
    elif WHERE.startswith("epoch"):
        loss = compiled(*data())
        torch._dynamo.reset()
        if WHERE == "epoch":
            arm(graph.GraphLowering, "placeholder")
        if WHERE == "epoch_begins":
            arm(convert_frame, "log_dynamo_start")
        torch.compile(g)(*data())
        arm(graph.GraphLowering, "placeholder")
        loss.backward()
    elif WHERE == "thread":
        loss = compiled(*data())
        graph.GraphLowering.placeholder = lambda *args: time.sleep(600)
        threading.Thread(target=loss.backward, daemon=True).start()
        time.sleep(3)
        stand()
    elif WHERE == "after_failed_capture":
        loss = torch.compile(f, backend="aot_eager")(*data())

        def fails(*args):
            raise RuntimeError("no capture")

        compiled_autograd.AutogradCompilerInstance.end_capture = fails
        try:
            with compiled_autograd._enable(torch.compile):
                loss.backward()
        except RuntimeError:
            pass
        torch.compile(g, backend="eager")(*data())
        stand()
    elif WHERE == "after_failure":
        try:
            torch.compile(f, backend=refuses)(*data())
        except Exception:
            pass
        stand()
    elif WHERE == "between":
        compiled(*data()).backward()
        stand()
    raise SystemExit(f"it did not stand in {WHERE}")


if __name__ == "__main__":
    main()
