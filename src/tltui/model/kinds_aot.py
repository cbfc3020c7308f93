"""Kinds that AOTAutograd writes: graphs, the partitioner's reports, and the Python code generated around the graphs."""

from __future__ import annotations

from tltui.model.kind import Kind, Phase, Row, section

AUTOGRAD: tuple[Kind, ...] = section(
    Phase.AUTOGRAD,
    [
        Row(
            "fx_interpreter_error",
            "traceback",
            "Error while running a graph",
            "The node that failed when a graph was run node by node, where it came from, and the whole graph.",
        ),
        Row(
            "make_fx_fail_partial",
            "fx",
            "Graph up to the failure",
            "What had been traced when tracing failed. The last lines are next to the operation that raised.",
        ),
        Row(
            "aot_joint_graph",
            "fx",
            "Joint graph",
            "Forward and backward in one graph, before they are split. Only when an input requires grad.",
        ),
        Row(
            "invoke_subgraph_backward_duplicate",
            "json",
            "Duplicate backward of a region",
            "A nested compile region got one more backward, as its gradients differ in layout or aliasing.",
        ),
        Row(
            "min_cut_information",
            "json",
            "Partitioner decisions",
            "Each node's memory and cost, and whether it is saved or recomputed. Only with AOT_PARTITIONER_DEBUG.",
        ),
        Row(
            "min_cut_failed_fx_graph",
            "fx",
            "Partitioner failed: graph",
            "The joint graph that could not be split into forward and backward.",
        ),
        Row(
            "min_cut_failed_edge_list",
            "text",
            "Partitioner failed: edges",
            "The edges of the cut problem without a solution, as networkx writes them.",
        ),
        Row(
            "min_cut_failed_svg",
            "text",
            "Partitioner failed: picture",
            "The cut problem without a solution, as SVG source. Extract it to look at it in a browser.",
        ),
        Row(
            "aot_joint_graph_sync_decision_cross_ranks",
            "text",
            "Saved tensors agreed between ranks",
            "Whose choice of saved tensors all ranks took over, and what this rank saves with its size.",
        ),
        Row(
            "before_activation_quantization_fwd_aten_pass",
            "fx",
            "Forward before activation quantization",
            "The forward before tensors saved for the backward are stored in fp8.",
        ),
        Row(
            "after_activation_quantization_fwd_aten_pass",
            "fx",
            "Forward after activation quantization",
            "The forward with the nodes that store saved tensors in fp8.",
        ),
        Row(
            "before_activation_quantization_bwd_aten_pass",
            "fx",
            "Backward before activation quantization",
            "The backward before it reads saved tensors from fp8.",
        ),
        Row(
            "after_activation_quantization_bwd_aten_pass",
            "fx",
            "Backward after activation quantization",
            "The backward with the nodes that read saved tensors from fp8.",
        ),
        Row(
            "torch._functorch.config",
            "json",
            "AOTAutograd configuration",
            "Every setting of AOTAutograd at this compile. Compare it between runs or ranks that differ.",
        ),
        Row(
            "aot_*saved_tensors_hooks*",
            "fx",
            "Saved-tensor hook graphs",
            "Graphs around the inlining of saved-tensor hooks into forward and backward.",
        ),
        Row(
            "aot_saved_tensors_hooks_graphs",
            "text",
            "Saved-tensor hooks, inlined",
            "All graphs before and after saved-tensor hooks were inlined, and what forward hands to backward.",
        ),
        Row(
            "aot_forward_graph_fw_metadata",
            "python",
            "Input and output metadata",
            "For each input and output: mutated? aliased? requires grad? Read it when mutation goes wrong.",
        ),
        Row(
            "aot_forward_graph_fw_subclass_metadata",
            "python",
            "Tensor subclass metadata",
            "How tensor subclasses (DTensor …) are taken apart and put together around the graph.",
        ),
        Row(
            "aot_forward_graph",
            "fx",
            "Forward graph",
            "The forward in ATen operations; its extra outputs are what is saved for the backward.",
        ),
        Row(
            "aot_backward_graph",
            "fx",
            "Backward graph",
            "The backward in ATen operations. It may be compiled much later, when backward first runs.",
        ),
        Row(
            "aot_inference_graph",
            "fx",
            "Inference graph",
            "The graph in ATen operations when no gradient is needed: functional, decomposed, before Inductor.",
        ),
        Row(
            "aot_inference_graph_after_hop_passes",
            "fx",
            "Inference graph after passes on regions",
            "The inference graph after its nested compile regions were split into forward and backward.",
        ),
        Row(
            "eager_compile_backwards_failure",
            "traceback",
            "Backward failed to compile early",
            "The backward was compiled together with the forward, and failed; torch only warned and goes on.",
        ),
    ],
)

RUNTIME: tuple[Kind, ...] = section(
    Phase.RUNTIME,
    [
        Row(
            "functionalized_rng_wrapper",
            "python",
            "Random state wrapper",
            "Generated code that hands the state of the random generator into the graph and advances it after.",
        ),
        Row(
            "subclass_wrapper",
            "python",
            "Tensor subclass wrapper",
            "Generated code that takes tensor subclasses apart before the graph and puts them together after it.",
        ),
        Row(
            "effect_tokens_wrapper",
            "python",
            "Effect token wrapper",
            "Generated code that adds the tokens which keep operations with side effects in order.",
        ),
        Row(
            "backward_prologue",
            "python",
            "Backward prologue",
            "Generated code that arranges saved tensors and gradients as the backward graph wants them.",
        ),
        Row(
            "backward_subclass_unwrap",
            "python",
            "Backward: subclass unwrap",
            "Generated code that prepares the arguments of the backward when tensor subclasses are involved.",
        ),
        Row(
            "backward_subclass_wrapper",
            "python",
            "Backward: subclass wrap",
            "Generated code that puts gradients together into tensor subclasses.",
        ),
        Row(
            "backward_epilogue",
            "python",
            "Backward epilogue",
            "Generated code that makes the gradients out of what the backward graph returned.",
        ),
        Row(
            "compiled_function_forward",
            "python",
            "Autograd function: forward",
            "Generated code of the autograd function's forward: runs the graph, saves tensors for backward.",
        ),
        Row(
            "compiled_function_backward",
            "python",
            "Autograd function: backward",
            "Generated code of the autograd function's backward: prologue, graph, epilogue.",
        ),
        Row(
            "compiled_fn_wrapper",
            "python",
            "Output wrapper",
            "Generated code that marks aliased and non-differentiable outputs of the forward graph for autograd.",
        ),
        Row(
            "mutation_epilogue",
            "python",
            "Mutation epilogue",
            "Generated code that copies changed values back into the inputs that your code mutated.",
        ),
        Row(
            "output_alias_wrapper",
            "python",
            "Output alias wrapper",
            "Generated code that makes outputs into real views where they alias an input or another output.",
        ),
        Row(
            "runtime_wrapper_orchestration",
            "python",
            "Runtime wrapper",
            "Generated code that runs at every call: calls the graph, repeats mutations and aliases.",
        ),
        Row(
            "dedup_wrapper",
            "python",
            "Duplicate argument wrapper",
            "Generated code that drops arguments which are the same tensor as another one.",
        ),
        Row(
            "synthetic_base_wrapper",
            "python",
            "Synthetic base wrapper",
            "Generated code that replaces inputs which share memory, and are mutated, by one base tensor.",
        ),
        Row(
            "debug_assert_wrapper",
            "python",
            "Debug checks of inputs",
            "Generated code that checks requires_grad of the inputs at every call. Only with debug_assert.",
        ),
        Row(
            "graph_execution",
            "json",
            "Graph execution order",
            "Which compiled graphs ran, in order. Compare it between ranks that hang in a collective.",
        ),
        Row(
            "inductor_graph_execution",
            "json",
            "Graph executed",
            "One compiled graph that ran, as torch 2.9 and before wrote it.",
        ),
    ],
)

ALL: tuple[Kind, ...] = AUTOGRAD + RUNTIME
