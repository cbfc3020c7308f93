"""Compile the sources and run the unit tests on every Python from 3.10 on that is installed: `tools/each_python.py [3.12 …]`.

Each gets an environment of its own in a temporary directory. It tries `python3.N` on PATH and the versions of pyenv.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def interpreters() -> dict[str, str]:
    """Return version → path of its interpreter: `3.12`."""
    places = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, (Path.home() / ".pyenv").glob("versions/3.*/bin"))]
    paths: dict[str, str] = {}
    for minor in range(10, 20):
        for path in (f"{place}/python3.{minor}" for place in places):
            if f"3.{minor}" in paths or not os.access(path, os.X_OK):
                continue
            # a shim of pyenv is there for versions that are not
            if subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode == 0:
                paths[f"3.{minor}"] = path
    return paths


def passes(python: str, directory: str) -> bool:
    """Return whether tltui compiles, installs and passes its tests with an interpreter."""
    interpreter = f"{directory}/bin/python"
    orders = [
        [python, "-m", "venv", directory],
        [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{ROOT}[dev]"],
        [interpreter, "-m", "compileall", "-q", "src"],
        [interpreter, "-m", "pytest", "tests/unit"],
    ]
    return all(subprocess.run(order, cwd=ROOT, check=False).returncode == 0 for order in orders)


def main() -> int:
    """Try all or the requested versions; return 1 if one fails."""
    available = interpreters()
    wanted = sys.argv[1:] or list(available)
    if missing := [name for name in wanted if name not in available]:
        print(f"there is no Python {missing[0]} here. There are: {', '.join(available)}", file=sys.stderr)
        return 2
    failed = []
    for name in wanted:
        print(f"── Python {name}: {available[name]}", flush=True)
        with tempfile.TemporaryDirectory() as directory:
            if not passes(available[name], directory):
                failed.append(name)
    print(f"failed on {', '.join(failed)}" if failed else f"passed on {', '.join(wanted)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
