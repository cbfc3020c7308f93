"""Kinds that Dynamo writes: from the start of a frame to its guards, and compiled autograd, which runs before it."""

from __future__ import annotations

from tltui.model.kind import Kind, Phase, Row, section

COMPILED_AUTOGRAD: tuple[Kind, ...] = section(
    Phase.COMPILED_AUTOGRAD,
    [
        Row(
            "compiled_autograd_compile_reasons",
            "json",
            "Why compiled autograd compiled",
            "What was new in this backward. Read it when the backward is compiled again and again.",
            since=(2, 7),
        ),
        Row(
            "compiled_autograd_graph_pre_reordering",
            "fx",
            "Compiled autograd graph, before reordering",
            "The backward as it was captured, before hooks and gradient accumulations are moved to their places.",
            since=(2, 7),
        ),
        Row(
            "compiled_autograd_graph",
            "fx",
            "Compiled autograd graph",
            "The whole backward pass, hooks included, as one graph; Dynamo then traces it as the frame of this id.",
        ),
    ],
)

DYNAMO: tuple[Kind, ...] = section(
    Phase.DYNAMO,
    [
        Row(
            "get_local_code_state",
            "text",
            "Profile read (local)",
            "Sizes that changed in an earlier run, read from the local disk: they start out dynamic.",
            since=(2, 6),
        ),
        Row(
            "get_remote_code_state",
            "text",
            "Profile read (remote)",
            "Sizes that changed in an earlier run, read from the remote cache: they start out dynamic.",
            since=(2, 6),
        ),
        Row(
            "get_extra_remote_code_state",
            "text",
            "Extra profile read (remote)",
            "A second profile of changing sizes, merged in from another key of the remote cache.",
            since=(2, 10),
        ),
        Row(
            "add_extra_remote_code_state",
            "text",
            "Extra profile merged (remote)",
            "A second profile of changing sizes, merged in from another key, as torch 2.9 wrote it.",
            since=(2, 9),
            until=(2, 9),
        ),
        Row(
            "get_code_state",
            "text",
            "Profile read",
            "Sizes that changed in an earlier run, as the first versions with profiles wrote it.",
        ),
        Row(
            "recompile_reasons",
            "json",
            "Recompile reasons",
            "Which guard of each earlier compile of this frame failed. Read it first when something recompiles.",
            since=(2, 5),
        ),
        Row(
            "dynamo_start",
            "json",
            "Dynamo start",
            "The stack at which Dynamo began with this frame; the last entry is the compiled function itself.",
            artifact=False,
        ),
        Row(
            "*_ORIGINAL_BYTECODE",
            "bytecode",
            "Original bytecode",
            "Bytecode of a function that continues after a graph break, before Dynamo changed it.",
            since=(2, 12),
        ),
        Row(
            "dynamo_graph_break_reason",
            "traceback",
            "Graph break",
            "Why Dynamo had to stop this graph, at which line of yours, with hints. One record for each break.",
            since=(2, 6),
        ),
        Row(
            "dynamo_side_effects",
            "traceback",
            "Side effects",
            "Changes to Python objects that compiled code repeats after the graph, and where you made them.",
            since=(2, 11),
        ),
        Row(
            "dynamo_output_graph",
            "fx",
            "Dynamo output graph",
            "Your function as the torch calls that Dynamo saw. Look here first: is all of your code in it?",
        ),
        Row(
            "*_MODIFIED_BYTECODE",
            "bytecode",
            "Modified bytecode",
            "Bytecode that runs in its place. Read it when the code around a graph behaves differently.",
            since=(2, 12),
        ),
        Row(
            "put_local_code_state",
            "text",
            "Profile written (local)",
            "What this run has learned about changing sizes so far, saved on the local disk for the next run.",
            since=(2, 6),
        ),
        Row(
            "put_remote_code_state",
            "text",
            "Profile written (remote)",
            "What this run has learned about changing sizes so far, saved in the remote cache for the next run.",
            since=(2, 6),
        ),
        Row(
            "put_extra_remote_code_state",
            "text",
            "Extra profile written (remote)",
            "The profile of changing sizes, saved under a second key of the remote cache.",
            since=(2, 10),
        ),
        Row(
            "put_code_state",
            "text",
            "Profile written",
            "Sizes that changed so far, for the next run, as the first versions with profiles wrote it.",
        ),
        Row(
            "dynamo_error",
            "traceback",
            "Compile error",
            "The exception that ended this compile, whichever phase raised it, with the stack through the compiler.",
            since=(2, 6),
        ),
    ],
)

GUARDS: tuple[Kind, ...] = section(
    Phase.GUARDS,
    [
        Row(
            "dynamo_guards",
            "json",
            "Guards (list)",
            "Guards as a list, with the stacks that made them. Mostly written by older torch.",
        ),
        Row(
            "guard_collective",
            "text",
            "Guards agreed between ranks",
            "Whether the guards of this rank held; all ranks compile when one has to. As torch 2.8 wrote it.",
            since=(2, 8),
            until=(2, 8),
        ),
        Row(
            "dynamo_cpp_guards_str",
            "guards",
            "Guards",
            "All that must hold for this compile to be used again. The one that fails causes the recompile.",
        ),
    ],
)

INPUTS: tuple[Kind, ...] = section(
    Phase.INPUTS,
    [
        Row(
            "describe_storage",
            "json",
            "Input storage",
            "A storage behind an input tensor: its size, under a number that tensors refer to.",
            artifact=False,
        ),
        Row(
            "describe_tensor",
            "json",
            "Input tensor",
            "Shape, stride, dtype, device, requires_grad and more of a tensor that the frame saw.",
            artifact=False,
        ),
        Row(
            "describe_source",
            "json",
            "Input source",
            "The expression by which the frame reaches an input tensor, such as L['x'].",
            artifact=False,
        ),
    ],
)

SYMBOLS: tuple[Kind, ...] = section(
    Phase.SYMBOLS,
    [
        Row(
            "create_symbol",
            "json",
            "Symbol created",
            "A size became dynamic: its symbol, first value, range, and the input it comes from.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "create_unbacked_symbol",
            "json",
            "Unbacked symbol created",
            "A size that depends on data got a symbol without a value (u0, u1 …), with the line that made it.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "guard_added_fast",
            "json",
            "Shape guard added",
            "A condition on sizes that the code relied on, with the line of yours that asked.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "symbolic_shape_specialization",
            "json",
            "Size specialized",
            "A dynamic size was fixed to one number; why, and where. Other sizes will recompile.",
            artifact=False,
        ),
        Row(
            "propagate_real_tensors",
            "json",
            "Value assumed from real data",
            "A data-dependent condition was decided with the real value; other inputs may differ.",
            artifact=False,
        ),
        Row(
            "guard_on_data_dependent_error",
            "json",
            "Data-dependent condition",
            "A condition on a data-dependent size that could not be decided. Only with TORCH_DTRACE.",
            artifact=False,
            since=(2, 7),
        ),
    ],
)

EXPORT: tuple[Kind, ...] = section(
    Phase.EXPORT,
    [
        Row("export", "text", "Export started", "A mark: torch.export began here. Its payload is only 'start!'.", since=(2, 7)),
        Row(
            "guard_added",
            "json",
            "Shape guard added (with origin)",
            "A condition on sizes, with your stack, its locals and the id of the expression.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "expression_created",
            "json",
            "Expression created",
            "How a symbolic value was computed from others: follow the ids back to where a condition comes from.",
            artifact=False,
            since=(2, 7),
        ),
        Row(
            "propagate_real_tensors_provenance",
            "json",
            "Value assumed from real data (with origin)",
            "A data-dependent condition that was decided with the real value, with stack and locals.",
            artifact=False,
            since=(2, 7),
        ),
        Row(
            "missing_fake_kernel",
            "json",
            "Missing fake kernel",
            "A custom operator without a fake (meta) implementation. Register one before exporting.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "mismatched_fake_kernel",
            "json",
            "Mismatched fake kernel",
            "A custom operator whose fake implementation says something else than the real one returned, and what.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "exported_program",
            "fx",
            "Exported program",
            "What torch.export returned: the graph, its signature and the ranges of its symbols.",
            since=(2, 7),
        ),
        Row(
            "fx_net_acc_splitter_finder_events",
            "json",
            "Splitter decisions",
            "Why the splitter of FX accelerators took or refused each node.",
            since=(2, 9),
        ),
    ],
)

ALL: tuple[Kind, ...] = COMPILED_AUTOGRAD + DYNAMO + INPUTS + SYMBOLS + EXPORT + GUARDS
