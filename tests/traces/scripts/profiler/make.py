"""Runs the programs beside it under TORCH_TRACE and the profiler, and makes what they leave neutral: paths, host, md5s.

    make.py OUT [NAME]...        with the Python that has torch; transformers for `llama`
"""

import gzip
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "tools"))
import neutralise

NAMES = ["mlp", "broken", "cache_hit", "recompiles", "threads", "ranks", "scheduled", "llama", "plain", "autograd", "other_backend",
         "waits", "compiles_inside"]
HOST = "node"
TIMED = ("mlp", "broken")
"""Those whose logs keep the timing events."""


def keep(source: Path, place: Path, made: Path) -> None:
    """A file that a program left, made neutral."""
    packed = source.suffix == ".gz"
    data = gzip.decompress(source.read_bytes()) if packed else source.read_bytes()
    data = neutralise.neutralise(data, [(str(HERE), "/home/user"), (str(made), "/tmp/made")], "", socket.gethostname())
    if source.suffix == ".log" and place.name not in TIMED:
        data = b"".join(record for record in neutralise.records(data) if b'] {"chromium_event": ' not in record.split(b"\n", 1)[0])
    data = re.sub(rb'("host_name": ?")[^"]*', rb"\g<1>" + HOST.encode(), data)
    (place / source.name.replace(socket.gethostname(), HOST)).write_bytes(gzip.compress(data, mtime=0) if packed else data)


def run(name: str, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        environment = os.environ | {
            "INDUCTOR_PROVENANCE": "1", "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(made / "cache"), "PYTHONPATH": str(HERE), "TORCH_TRACE": str(made / "out"),
        }  # fmt: skip
        command = [sys.executable, str(HERE / f"{name}.py"), str(made / "out")]
        if name == "broken":
            environment["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
        if name in ("ranks", "waits"):
            command[1:1] = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        if name == "cache_hit":
            (made / "before").mkdir()
            first = environment | {"TORCH_TRACE": str(made / "before")}
            subprocess.run([*command[:-1], str(made / "before")], env=first, check=True)
        (made / "out").mkdir()
        subprocess.run(command, env=environment, check=True)
        place = out / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for source in sorted((made / "out").iterdir()):
            if source.is_file() and source.stat().st_size:
                keep(source, place, made)
        print(name, sorted((path.name, path.stat().st_size) for path in place.iterdir()), flush=True)


if __name__ == "__main__":
    for name in sys.argv[2:] or NAMES:
        run(name, Path(sys.argv[1]))
