"""Graphs that want more than to compute, for the tests of `tltui repro`.

`REFUSED` and `HARMLESS` are lines of a graph. The first list has the attempts of a review that found code execution through
functions of torch alone: an address as a number, a tensor at that address, a pointer to `system` in the place of `free`.
"""

from __future__ import annotations

from pathlib import Path

import make_trace as mt

OF_THE_REVIEW = [
    "y = torch._from_blob(4096, (64,))",
    "p = x.const_data_ptr();  y = torch._from_blob(p - 20480, (8192,), dtype=torch.int64)",
    "y = torch.ops.inductor._reinterpret_tensor(x, [4], [1], 1099511627776)",
    "y = torch.ops.inductor._reinterpret_tensor(x, [4], [1], -32)",
    "y = torch.ops.inductor._alloc_from_pool(x, 0, torch.float32, [4], [1])",
    "y = torch.ops.inductor._alloc_from_pool.default(x, 1 << 40, torch.float32, [4], [1])",
    "torch.ops.inductor.resize_storage_bytes_(x, 1099511627776)",
    "torch.ops.inductor.resize_storage_bytes_.default(x, 0)",
    "y = torch.ops.prims.as_strided.default(x, [4], [1], 1000000)",
    "y = torch.ops.prims.as_strided_scatter.default(x, x, [4], [1], 1000000)",
    "y = torch.ops.aten._sparse_coo_tensor_unsafe(x, x, [4])",
    "y = torch._sparse_coo_tensor_unsafe(x, x, [4])",
    "y = torch._sparse_csr_tensor_unsafe(x, x, x, [4, 4])",
    "y = torch._sparse_compressed_tensor_unsafe(x, x, x, [4, 4])",
    "y = torch._nested_view_from_buffer(x, x, x, x)",
    "y = torch._nested_view_from_buffer_copy(x, x, x, x)",
    "y = torch.full((1000000, 1000000, 100), 1)",
    "y = 2 ** 99999999999",
    "y = [1] * 10 ** 12",
    "y = __import__('os').system('true')",
    "y = eval('1')",
    "y = exec('1')",
    "y = torch.os.system('true')",
    "y = torch.load('weights.pt')",
    "y = torch.from_file('/etc/passwd', True, 10)",
    "y = torch.ops.aten.from_file.default('/etc/passwd', True, 10)",
    "y = torch.hub.load('a', 'b')",
    "y = torch.jit.load('a.pt')",
    "y = torch.jit.script(x)",
    "y = torch.classes.load_library('/tmp/a.so')",
    "y = torch.utils.cpp_extension.load_inline('a', 'b')",
    "y = x.__class__",
    "y = x.__reduce_ex__(2)",
    "x.__setstate__((1, 2))",
    "x.apply_(abs)",
    "x.map_(x, max)",
    "y = x.numpy()",
    "y = x.data_ptr()",
    "x.set_(x)",
    "y = x.untyped_storage()",
    "x.register_hook(abs)",
    "y = lambda: x",
    "y = [z for z in (x,)]",
    "y = (z := x)",
    "y = f'{x}'",
    "import os",
    "global x",
    "torch = x",
    "y = torch.segment_reduce(x, 'sum', lengths=x, unsafe=True)",
    "y = torch.ops.aten.segment_reduce.default(x, 'sum')",
]
"""The 50 attempts of the review, made again from its description. Its machine code took the first two of them."""

MEMORY = [
    "x.data.fill_(1)",
    "y = x.data",
    "x.data = x",
    "x.grad = x",
    "x.resize_(10)",
    "x.resize_as_(x)",
    "torch.resize_as_(x, x)",
    "y = x.storage()",
    "y = x.to_dlpack()",
    "y = torch.from_dlpack(x)",
    "y = torch.frombuffer(x)",
    "y = torch.asarray(x)",
    "y = torch.ops.aten.set_.source_Storage(x, x)",
    "y = torch.ops.aten.set_data.default(x, x)",
    "y = torch.ops.aten.resize_.default(x, [4096])",
    "y = torch.ops.aten.resize.default(x, [4096])",
    "y = torch.ops.aten.as_strided_.default(x, [4], [1], 100)",
    "y = torch.ops.aten.as_strided_scatter.default(x, x, [4], [1], 100)",
    "y = torch.ops.aten.as_strided_copy.default(x, [4], [1], 100)",
    "y = torch.as_strided_copy(x, [4], [1], 100)",
    "y = x.as_strided_(4, 1)",
    "y = torch.ops.aten._reshape_alias.default(x, [4], [1])",
    "y = torch.ops.prims._unsafe_index_put_(x, [x], x)",
    "y = torch.ops.prims.view_of_dtype(x, torch.int64)",
    "y = torch.ops.prims.copy_strided(x, [1])",
    "y = torch.ops.aten.native_batch_norm.default(x, None, None, x, x, True, 0.1, 1e-05)",
    "y = torch.native_batch_norm(x, None, None, x, x, True, 0.1, 1e-05)",
    "y = torch.ops.aten._native_batch_norm_legit.default(x, None, None, x, x, True, 0.1, 1e-05)",
    "y = torch.ops.aten.native_batch_norm_backward.default(x, x, x, x, x, x, x, True, 1e-05, [True, True, True])",
    "y = torch.ops.aten.max_pool2d_with_indices_backward.default(x, x, [2], [2], [0], [1], False, x)",
    "y = torch.ops.aten.adaptive_max_pool2d_backward.default(x, x, x)",
    "y = torch.ops.aten.fractional_max_pool3d_backward.default(x, x, [2], [2], x)",
    "y = torch.ops.aten._log_softmax_backward_data.default(x, x, 1, torch.float32)",
    "y = torch.ops.aten.native_layer_norm_backward.default(x, x, [3], x, x, x, x, [True, True, True])",
    "y = torch.ops.aten._embedding_bag.default(x, x, x)",
    "y = torch.embedding_bag(x, x, x)",
    "y = torch.nn.functional.embedding_bag(x, x)",
    "torch.embedding_renorm_(x, x, 1.0, 2.0)",
    "y = torch.ops.aten.max_unpool2d.default(x, x, [4, 4])",
    "y = torch.nn.functional.max_unpool2d(x, x, 2)",
    "y = torch.ops.aten.col2im.default(x, [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])",
    "y = torch.ops.aten.upsample_nearest2d.default(x, [100, 100], 1e-09, 1e-09)",
    "y = torch._C._nn.upsample_nearest2d(x, [100, 100], 1e-09, 1e-09)",
    "y = torch.ops.aten.unfold_backward.default(x, [10], 0, 2147483647, 2)",
    "y = torch.ops.aten._ctc_loss.default(x, x, [1], [1])",
    "y = torch.nn.functional.ctc_loss(x, x, x, x)",
    "y = torch.lu_unpack(x, x)",
    "y = torch.linalg.lu_solve(x, x, x)",
    "y = torch.linalg.ldl_solve(x, x, x)",
    "y = torch.linalg.eigvals(x)",
    "y = torch.masked_scatter(x, x, x)",
    "x.masked_scatter_(x, x)",
    "y = torch.ops.aten._fft_c2c.default(x, [0], 0, True)",
    "y = torch.ops.aten._pad_packed_sequence.default(x, x, False, 0, 1)",
    "y = torch.ops.aten._cdist_backward.default(x, x, x, 2.0, x)",
    "y = torch.ops.aten.grid_sampler_2d_backward.default(x, x, x, 0, 0, False, [True, True])",
    "y = torch._grouped_mm(x, x, x)",
    "y = torch.nn.functional.scaled_mm(x, x, x, x, x, x)",
]
"""Functions that read or write outside of their tensors for arguments of a stranger's choice."""

LAYOUTS = [
    "y = torch.sparse_coo_tensor(x, x, (4,))",
    "y = torch.sparse_csr_tensor(x, x, x, (4, 4))",
    "y = torch.ops.aten.sparse_coo_tensor.indices_size(x, x, [4])",
    "y = torch.empty((4,), layout=torch.sparse_coo)",
    "y = x.to_sparse()",
    "y = x.to_dense()",
    "y = x.coalesce()",
    "y = torch.sspaddmm(x, x, x)",
    "y = torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)",
    "y = torch.quantize_per_channel(x, x, x, 0, torch.quint8)",
    "y = torch._make_per_channel_quantized_tensor(x, x, x, 0)",
    "y = torch.fake_quantize_per_channel_affine(x, x, x, 0, 0, 255)",
    "y = torch.ops.quantized.linear(x, x, 1.0, 0)",
    "y = torch.nested.nested_tensor([x])",
    "y = torch._nested_tensor_from_mask(x, x)",
    "y = x.to_mkldnn()",
    "y = torch.ops.mkldnn._linear_pointwise(x, x, None, 'none', [], '')",
    "y = torch._cudnn_rnn(x, [x], 4, None, x, None, 2, 1, 0, 1, False, 0.0, True, False, [], None)",
    "y = torch.rand(4, generator=x)",
    "torch.add(x, x, out=x)",
    "y = torch.ops.aten.add.out(x, x, out=x)",
    "y = torch.ops.aten._unsafe_index.Tensor_out(x, [x])",
    "y = torch.ops.aten.kthvalue.values(x, 1, values=x, indices=x)",
]
"""Layouts whose indices nobody checks, and results that go into another tensor."""

PROCESS = [
    "torch.save(x, '/tmp/a')",
    "torch.set_rng_state(x)",
    "torch.manual_seed(0)",
    "torch.set_num_threads(10 ** 6)",
    "torch.set_default_dtype(torch.float64)",
    "torch.use_deterministic_algorithms(False)",
    "torch.import_ir_module(x, 'a')",
    "y = torch.compile(x)",
    "y = torch.vmap(x)",
    "y = torch.fork(x)",
    "y = torch.parse_ir('a')",
    "y = torch.ops.load_library('/tmp/a.so')",
    "y = torch.library.custom_op('a::b', x)",
    "y = torch.ops.profiler._record_function_enter_new('a')",
    "y = torch.ops.higher_order.run_with_rng_state(x, torch.ops.aten.relu.default, x)",
    "y = torch.ops.higher_order.map(torch.ops.aten.convolution_backward.default, x)",
    "y = torch.ops.higher_order.cond(True, torch.ops.aten.copy_.default, torch.ops.aten.copy_.default, (x, x))",
    "y = torch.ops.higher_order.with_effects(x, torch.ops.aten.relu.default, x)",
    "y = torch.ops.higher_order.auto_functionalized(torch.ops.aten.set_.source_Tensor, x = x)",
    "y = torch._C._functorch._add_batch_dim(x, 0, 1)",
    "y = torch._C._autograd._saved_tensors_hooks_disable('a')",
    "torch._inductor.config.assert_indirect_indexing = False",
    "y = torch.distributed.all_reduce(x)",
    "y = torch.ops.prim.CallMethod(x)",
    "y = torch.ops.aten.save.default(x, '/tmp/a')",
    "y = torch.Tensor._make_subclass(x, x)",
    "y = torch.Tensor.__setstate__(x, (1, 2))",
    "y = torch.Tensor(x)",
    "y = torch.UntypedStorage(10)",
    "y = torch.cuda.caching_allocator_alloc(10)",
    "x.share_memory_()",
    "x.record_stream(x)",
    "y = x.tolist()",
    "y = x.pin_memory()",
    "x.module_load(x)",
    "x.backward()",
]
"""Files, code, the state of the process."""

NUMBERS = [
    "y = 18446744073709551616",
    "y = x + 340282366920938463463374607431768211456",
    "y = 10 ** 30",
    "y = 1 << 4000000000",
    "y = 9999999999 * 9999999999",
    "y = 2 ** (2 ** 40)",
    "y = (4294967296 * 4294967296) * 2",
    "y = 'a' * 1000000000000",
    "y = (0,) * 1000000000000",
    "y = 1000000000000 * [x]",
    "y = torch.zeros(1000000, 1000000)",
    "y = torch.ops.aten.full.default([100000, 100000], 1.0, dtype = torch.float64)",
    "y = x.new_empty((1 << 40,))",
    "y = x.repeat(100000, 100000)",
    "y = torch.arange(0, 1099511627776)",
    'y: "f32[100000, 100000][100000, 1]cpu" = x.expand(100000, 100000).contiguous()',
    "x **= 1000000",
]
"""Numbers and tensors that would take all time or memory."""

TARGETS = [
    "torch.relu_(torch.ones(4))",
    "torch.ops.aten.copy_.default(torch.ones(4), x)",
    "x.view(12).add_(1)",
    "operator.setitem(x.view(12), 0, 1)",
    "operator.iadd(torch.ones(4), x)",
    "x[0][0] = 1",
    "torch.nn.functional.relu_(self.weight)",
    "checked_as_strided = x",
    "bounded_power = x",
    "_operator = x",
]
"""Changes of what is no value of the graph, and values with names of the script."""
REFUSED = [*OF_THE_REVIEW, *MEMORY, *LAYOUTS, *PROCESS, *NUMBERS, *TARGETS]

HARMLESS = {
    "y = torch.ops.aten._unsafe_index.Tensor(x, [torch.full((1,), 1099511627776)])": "out of bounds",
    "y = torch.ops.aten._unsafe_index_put.default(x, [torch.full((1,), 1099511627776)], torch.ones(1, 3))": "out of bounds",
    "y = torch.ops.aten._unsafe_view.default(x, [1000000])": "invalid for input of size",
    "y = torch.ops.aten.as_strided.default(x, [4], [1], 1000000)": "outside of the tensor",
    "y = torch.ops.aten.as_strided.default(x, [1000000], [1])": "outside of the tensor",
    "y = torch.as_strided(x, [2], [-4])": "negative size or stride",
    "y = x.as_strided([1, 2], [1, 1 << 40])": "outside of the tensor",
    "y = x.expand(2, 4, 3).as_strided([24], [1])": "outside of the tensor",
    "s = x[2].as_strided([3], [1], 0)": "outside of the tensor",
    "n = x.shape[0];  y = n ** 99999999999": "whole number that is too large",
    "n = x.shape[0];  y = n << 99999999999": "whole number that is too large",
    "n = x.shape[0];  y = operator.pow(n, 99999999999)": "whole number that is too large",
    "n = x.shape[0];  y = pow(n, 99999999999)": "whole number that is too large",
    "n = x.shape[0] * 250000000;  y = x.new_ones(n, n)": "memory",
    "n = x.shape[0] * 250000000;  y = torch.full((n, 8), 1.0)": "memory",
    "y = torch.gather(x, 0, torch.full((4, 3), 1099511627776))": "out of bounds",
    "y = torch.ops.aten.convolution_backward.default(x.view(1, 4, 3), x.view(1, 4, 3), x.view(4, 1, 3), [0], [1], [0], [1], True, "
    "[1099511627776], 4, [True, True, False])": "convolution with a step out of range",
    "y = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(x.view(1, 1, 4, 3), x.view(1, 1, 2, 6), "
    "x.view(1, 1, 2, 6))": "tensors of different shapes",
}
"""A line → what its script ends with when it is run in eager mode."""


def graph(line: str) -> str:
    body = "".join(f"        {each}\n" for each in (*line.split(";  "), "return (x,)"))
    return f'class GraphModule(torch.nn.Module):\n    def forward(self, x: "f32[4, 3][3, 1]cpu"):\n{body}'


def trace_with(text: str, directory: Path) -> Path:
    """Write a log with this graph."""
    log = directory / "dedicated_log_torch_trace_a.log"
    ids = {"frame": 0, "compile": 0, "attempt": 0}
    metrics = mt.record("compilation_metrics", {"compile_id": "0/0"}, **ids)
    log.write_bytes(mt.record("dynamo_output_graph", {"sizes": {}}, text, **ids) + metrics)
    return log
