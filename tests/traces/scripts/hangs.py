"""Runs tests/live/programs/hangs.py for each place that it knows, and hang_ranks.py: what each then had open stands there.

    hangs.py OUT [NAME]...
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[2] / "live" / "programs"
known = runpy.run_path(str(PROGRAMS / "hangs.py"))["KNOWN"]
out = Path(sys.argv[1]).resolve()
for name in sys.argv[2:] or [*known, "ranks"]:
    environment = os.environ | {
        "TORCH_TRACE": str(out / name), "CUT": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "2" if name == "kernels" else "1",
    }  # fmt: skip
    command = [sys.executable, str(PROGRAMS / "hangs.py"), name]
    if name == "ranks":
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", str(PROGRAMS / "hang_ranks.py")]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    print(name, done.returncode, done.stderr[-300:] if done.returncode != -9 and name != "ranks" else "", flush=True)
