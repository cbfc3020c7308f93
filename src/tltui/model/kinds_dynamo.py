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
            "The part of this backward that was not compiled before. Read it if the backward recompiles often.",
            since=(2, 7),
        ),
        Row(
            "compiled_autograd_graph_pre_reordering",
            "fx",
            "Compiled autograd graph, before reordering",
            "The captured backward, before hooks and gradient accumulations are moved into place.",
            since=(2, 7),
        ),
        Row(
            "compiled_autograd_graph",
            "fx",
            "Compiled autograd graph",
            "The whole backward pass with hooks as one graph, which Dynamo traces as the frame of this id.",
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
            "PGO profile from the local disk: sizes that changed in an earlier run start out dynamic.",
            since=(2, 6),
        ),
        Row(
            "get_remote_code_state",
            "text",
            "Profile read (remote)",
            "PGO profile from the remote cache: sizes that changed in an earlier run start out dynamic.",
            since=(2, 6),
        ),
        Row(
            "get_extra_remote_code_state",
            "text",
            "Extra profile read (remote)",
            "A second PGO profile of changing sizes, merged from another key of the remote cache.",
            since=(2, 10),
        ),
        Row(
            "add_extra_remote_code_state",
            "text",
            "Extra profile merged (remote)",
            "A second PGO profile of changing sizes, merged from another key. Written by torch 2.9.",
            since=(2, 9),
            until=(2, 9),
        ),
        Row(
            "get_code_state",
            "text",
            "Profile read",
            "PGO profile: sizes that changed in an earlier run. Written by the first versions with PGO.",
        ),
        Row(
            "recompile_reasons",
            "json",
            "Recompile reasons",
            "The failed guard of each earlier compile of this frame. Start here if a function recompiles.",
            since=(2, 5),
        ),
        Row(
            "dynamo_start",
            "json",
            "Dynamo start",
            "The stack at which Dynamo started this frame. The last entry is the compiled function.",
            artifact=False,
        ),
        Row(
            "*_ORIGINAL_BYTECODE",
            "bytecode",
            "Original bytecode",
            "Bytecode of a resume function (code after a graph break), before Dynamo changed it.",
            since=(2, 12),
        ),
        Row(
            "dynamo_graph_break_reason",
            "traceback",
            "Graph break",
            "Why Dynamo stopped tracing, at which line of your code, with hints. One record per break.",
            since=(2, 6),
        ),
        Row(
            "dynamo_side_effects",
            "traceback",
            "Side effects",
            "Changes to Python objects that compiled code replays after the graph, with your source lines.",
            since=(2, 11),
        ),
        Row(
            "dynamo_output_graph",
            "fx",
            "Dynamo output graph",
            "The torch calls that Dynamo captured from your function. Check that your code is complete.",
        ),
        Row(
            "*_MODIFIED_BYTECODE",
            "bytecode",
            "Modified bytecode",
            "Bytecode that Dynamo runs instead. Read it if code around a graph behaves differently from eager mode.",
            since=(2, 12),
        ),
        Row(
            "put_local_code_state",
            "text",
            "Profile written (local)",
            "PGO profile of changing sizes, saved on the local disk for the next run.",
            since=(2, 6),
        ),
        Row(
            "put_remote_code_state",
            "text",
            "Profile written (remote)",
            "PGO profile of changing sizes, saved in the remote cache for the next run.",
            since=(2, 6),
        ),
        Row(
            "put_extra_remote_code_state",
            "text",
            "Extra profile written (remote)",
            "PGO profile of changing sizes, saved under a second key of the remote cache.",
            since=(2, 10),
        ),
        Row(
            "put_code_state",
            "text",
            "Profile written",
            "PGO profile of changing sizes for the next run. Written by the first versions with PGO.",
        ),
        Row(
            "dynamo_error",
            "traceback",
            "Compile error",
            "The exception that ended this compile, in any phase, with the stack through the compiler.",
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
            "Guards as a list, with the stacks that created them. Mostly written by older torch.",
        ),
        Row(
            "guard_collective",
            "text",
            "Guards agreed between ranks",
            "Whether the guards of this rank passed. If one rank must compile, all ranks do. Written by torch 2.8.",
            since=(2, 8),
            until=(2, 8),
        ),
        Row(
            "dynamo_cpp_guards_str",
            "guards",
            "Guards",
            "All conditions for reusing this compile. A failed guard causes the recompilation.",
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
            "The storage of an input tensor: its size and the number by which tensors refer to it.",
            artifact=False,
        ),
        Row(
            "describe_tensor",
            "json",
            "Input tensor",
            "Shape, stride, dtype, device, requires_grad and more of an input tensor of the frame.",
            artifact=False,
        ),
        Row(
            "describe_source",
            "json",
            "Input source",
            "The expression for an input tensor in the frame, such as L['x'].",
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
            "A data-dependent size got a symbol without a value (u0, u1 …), with its source line.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "guard_added_fast",
            "json",
            "Shape guard added",
            "A condition on sizes that the compiled code relies on, with the line of your code.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "symbolic_shape_specialization",
            "json",
            "Size specialized",
            "A dynamic size was specialized to one number, with reason and line. Other sizes recompile.",
            artifact=False,
        ),
        Row(
            "propagate_real_tensors",
            "json",
            "Value assumed from real data",
            "A data-dependent condition was evaluated with the real value. Other inputs may differ.",
            artifact=False,
        ),
        Row(
            "guard_on_data_dependent_error",
            "json",
            "Data-dependent condition",
            "A condition on a data-dependent size that torch could not evaluate. Written only with TORCH_DTRACE.",
            artifact=False,
            since=(2, 7),
        ),
    ],
)

EXPORT: tuple[Kind, ...] = section(
    Phase.EXPORT,
    [
        Row("export", "text", "Export started", "Marks the start of torch.export. Its payload is only 'start!'.", since=(2, 7)),
        Row(
            "guard_added",
            "json",
            "Shape guard added (with origin)",
            "A condition on sizes, with the stack of your code, its locals and the expression id.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "expression_created",
            "json",
            "Expression created",
            "How a symbolic value was computed from others. Follow the ids to the origin of a condition.",
            artifact=False,
            since=(2, 7),
        ),
        Row(
            "propagate_real_tensors_provenance",
            "json",
            "Value assumed from real data (with origin)",
            "A data-dependent condition that was evaluated with the real value, with stack and locals.",
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
            "A custom operator whose fake implementation disagrees with the real result, with both values.",
            artifact=False,
            since=(2, 6),
        ),
        Row(
            "exported_program",
            "fx",
            "Exported program",
            "The result of torch.export: the graph, its signature and the ranges of its symbols.",
            since=(2, 7),
        ),
        Row(
            "fx_net_acc_splitter_finder_events",
            "json",
            "Splitter decisions",
            "Why the splitter for FX accelerators accepted or rejected each node.",
            since=(2, 9),
        ),
    ],
)

ALL: tuple[Kind, ...] = COMPILED_AUTOGRAD + DYNAMO + INPUTS + SYMBOLS + EXPORT + GUARDS
