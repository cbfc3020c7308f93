"""Files of Inductor's autotuning cache, written by torch's own `AutotuneCache.save` for kernels that need no GPU to be named.

    python best_configs.py DIRECTORY [--changed]
"""

import sys
from pathlib import Path
from types import SimpleNamespace

from torch._inductor.runtime.autotune_cache import AutotuneCache

KERNELS = {
    "ab/cabkernelofthefirstgraph.py": ("triton_poi_fused_add_relu_0", {"XBLOCK": 256}, 4, 1, 12, False, "A" * 52),
    "cd/ccdkernelofthesecondgraph.py": ("triton_red_fused_native_layer_norm_1", {"XBLOCK": 1, "R0_BLOCK": 2048}, 16, 1, 231, True, None),
    "ef/cefkernelofthethirdgraph.py": ("triton_per_fused_softmax_2", {"XBLOCK": 8}, 2, 1, 3, False, "C" * 52),
    "ef/cegkernelofthefourthgraph.py": ("triton_poi_fused_mul_3", {"XBLOCK": 128}, 4, 1, 3, False, None),
}


def main(top, changed):
    for number, (path, (name, blocks, warps, stages, took, descent, cache_hash)) in enumerate(KERNELS.items()):
        source = Path(top) / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"@triton_heuristics.pointwise(inductor_meta={{'kernel_name': '{name}'}})\ndef {name}(in_ptr0): pass\n")
        if cache_hash is not None:
            compiled = Path(top) / "triton" / "0" / cache_hash
            compiled.mkdir(parents=True, exist_ok=True)
            for file in (f"{name}.json", f"__grp__{name}.json"):
                (compiled / file).write_text("{}")
        if changed and number == 1:
            blocks, warps = {**blocks, "R0_BLOCK": 1024}, 8
        config = SimpleNamespace(kwargs=blocks, num_warps=warps, num_stages=stages, num_consumer_groups=0, num_buffers_warp_spec=0)
        cache = AutotuneCache.create({"autotune_local_cache": True, "autotune_remote_cache": False}, str(source), "configs")
        cache.save(config, took * 1_000_000, found_by_coordesc=descent, triton_cache_hash=cache_hash)


if __name__ == "__main__":
    main(sys.argv[1], "--changed" in sys.argv)
