"""Compiles the sources and runs the unit tests on every Python from 3.10 on that is here: `tools/each_python.py [3.12 …]`.

Each gets an environment of its own in a temporary directory. Looked for are `python3.N` on PATH and what pyenv has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def interpreters() -> dict[str, str]:
    """`3.12` → its path."""
    places = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, (Path.home() / ".pyenv").glob("versions/3.*/bin"))]
    found: dict[str, str] = {}
    for minor in range(10, 20):
        for path in (f"{place}/python3.{minor}" for place in places):
            if f"3.{minor}" in found or not os.access(path, os.X_OK):
                continue
            # a shim of pyenv is there for versions that are not
            if subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode == 0:
                found[f"3.{minor}"] = path
    return found


def passes(python: str, directory: str) -> bool:
    """Whether it compiles, installs and passes there."""
    own = f"{directory}/bin/python"
    orders = [
        [python, "-m", "venv", directory],
        [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{ROOT}[dev]"],
        [own, "-m", "compileall", "-q", "src"],
        [own, "-m", "pytest", "tests/unit"],
    ]
    return all(subprocess.run(order, cwd=ROOT, check=False).returncode == 0 for order in orders)


def main() -> int:
    """Try all, or those that are named; 1 where one fails."""
    there = interpreters()
    wanted = sys.argv[1:] or list(there)
    if missing := [name for name in wanted if name not in there]:
        print(f"there is no Python {missing[0]} here. There are: {', '.join(there)}", file=sys.stderr)
        return 2
    failed = []
    for name in wanted:
        print(f"── Python {name}: {there[name]}", flush=True)
        with tempfile.TemporaryDirectory() as directory:
            if not passes(there[name], directory):
                failed.append(name)
    print(f"failed on {', '.join(failed)}" if failed else f"passed on {', '.join(wanted)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
