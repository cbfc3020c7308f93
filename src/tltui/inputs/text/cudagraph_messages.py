"""Messages of torch about CUDA graphs, by their first lines.

Sources: torch/_inductor/cudagraph_utils.py, cudagraph_trees.py, compile_fx.py and output_code.py of torch 2.4 to 2.13. The warnings
belong to `perf_hints` until torch 2.8 and to `cudagraphs` later.
"""

WARNINGS = (r"(?i:skipping cudagraph)", r"disabling cudagraphs ", r"CUDAGraph supports dynamic shapes by recording ")
RECORDINGS = (r"(?:\[[^\]]*\] )?(?:[Rr]ecording cudagraph tree for |Recording function|Re-recording function)",)
LOGGERS = {"perf_hints": WARNINGS, "cudagraphs": (*WARNINGS, *RECORDINGS), "torch/_inductor/cudagraph_trees.py": RECORDINGS}
"""Logger or file → how its messages about CUDA graphs begin."""
