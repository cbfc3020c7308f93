"""Tables of autotuning as torch 2.4 to 2.14 prints them, and the operations that it tunes."""

# ruff: noqa: E501

from __future__ import annotations

FORMS = {
    "2.4": ("{op}", "", "SingleProcess AUTOTUNE takes 1.5000 seconds\n"),
    "2.6": ("{op}", "", "SingleProcess AUTOTUNE benchmarking takes 1.5000 seconds and 0.2500 seconds precompiling for 3 choices\n"),
    "2.8": (
        "{op}", "strides: {strides}\ndtypes: {dtypes}\n",
        "SingleProcess AUTOTUNE benchmarking takes 1.5000 seconds and 0.2500 seconds precompiling for 3 choices\n",
    ),
    "2.13": (
        "{op}", "strides: {strides}\ndtypes: {dtypes}\n",
        "SubProcess AUTOTUNE benchmarking takes 1.5000 seconds and 0.2500 seconds precompiling for 3 choices and 0.0100 seconds "
        "prescreening\n",
    ),
}  # fmt: skip
"""Version → name, lines of tensors, last line of a table of `log_results` (torch/_inductor/select_algorithm.py)."""
HALF, WHOLE = "torch.bfloat16", "torch.float32"
OPERATIONS: dict[str, tuple[str, str, str, str, str]] = {
    "mm": ("512x64, 64x32", "[64, 1], [32, 1]", f"{HALF}, {HALF}", "mm", "triton_mm_7"),
    "addmm": ("16x32, 16x64, 64x32", "[0, 1], [64, 1], [32, 1]", f"{HALF}, {HALF}, {HALF}", "addmm", "triton_mm_12"),
    "bmm": ("32x128x64, 32x64x128", "[8192, 64, 1], [8192, 1, 64]", f"{HALF}, {HALF}", "bmm", "triton_bmm_3"),
    "baddbmm": ("8x4x4, 8x4x16, 8x16x4", "[16, 4, 1], [64, 16, 1], [64, 4, 1]", f"{WHOLE}, {WHOLE}, {WHOLE}", "baddbmm", "triton_bmm_2"),
    "mixed_mm": ("1x4096, 4096x4096", "[4096, 1], [4096, 1]", f"{HALF}, torch.int8", "fallback_mixed_mm", "triton_mixed_mm_5"),
    "int_mm": ("32x64, 64x32", "[64, 1], [1, 64]", "torch.int8, torch.int8", "_int_mm", "triton_mm_1"),
    "scaled_mm": (
        "16x64, 64x32, , ", "[64, 1], [1, 64], [], []", f"torch.float8_e4m3fn, torch.float8_e4m3fn, {WHOLE}, {WHOLE}", "_scaled_mm",
        "triton_scaled_mm_device_tma_3",
    ),
    "mm_plus_mm": ("8x8, 8x8, 8x8, 8x8", "[8, 1], [8, 1], [8, 1], [8, 1]", ", ".join([WHOLE] * 4), "mm_plus_mm", "triton_mm_plus_mm_4"),
    "grouped_mm": ("64x32, 4x32x16, 4", "[32, 1], [512, 16, 1], [1]", f"{HALF}, {HALF}, torch.int32", "_grouped_mm", "triton_grouped_mm_0"),
    "convolution": (
        "8x64x56x56, 128x64x3x3", "[200704, 1, 3584, 64], [576, 1, 192, 64]", f"{HALF}, {HALF}", "convolution", "triton_convolution2d_4",
    ),
    "convolution_bwd_input": (
        "8x128x56x56, 128x64x3x3", "[401408, 1, 7168, 128], [576, 1, 192, 64]", f"{HALF}, {HALF}", "call_aten_dx",
        "triton_convolution2d_bwd_dx_1",
    ),
    "flex_attention": (
        "1x8x128x64, 1x8x128x64, 1x8x128x64, 1x8x128, 1x1x1, 1x1x1x1, , ",
        "[65536, 8192, 64, 1], [65536, 8192, 64, 1], [65536, 8192, 64, 1], [1024, 128, 1], [1, 1, 1], [1, 1, 1, 1], [], []",
        ", ".join([HALF] * 3 + [WHOLE] + ["torch.int32"] * 4), "", "triton_flex_attention_0",
    ),
    "flex_attention_backward": ("1x8x128x64, 1x8x128", "[65536, 8192, 64, 1], [1024, 128, 1]", f"{HALF}, {WHOLE}", "", "triton_flex_attention_backward_7"),
    "flex_decoding": ("1x8x1x64, 1x8x2048x64", "[512, 64, 64, 1], [1048576, 131072, 64, 1]", f"{HALF}, {HALF}", "", "triton_flex_decoding_3"),
    "_weight_int8pack_mm": ("16x64, 32x64, 32", "[64, 1], [64, 1], [1]", f"{HALF}, torch.int8, {HALF}", "_weight_int8pack_mm", "cpp_CppMicroGemmAMX_0"),
}  # fmt: skip
"""Operation → sizes, strides, types, an extern kernel ('' for none), a generated one."""
