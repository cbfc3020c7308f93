"""Two commits of a repository, the second with a planted regression: the kept baseline of the first names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_live import PYTHON, why_no_torch

import tltui

pytestmark = pytest.mark.live
SOURCES = str(Path(tltui.__file__).parents[1])
GOOD = """
import torch

@torch.compile(backend="aot_eager")
def step(x):
    y = torch.relu(x) * 2
    return y.sum()

for size in (4, 5, 6):
    print(step(torch.ones(size, 3)))
"""
PLANTED = GOOD.replace("    return", "    print('loss')\n    return")


@pytest.fixture(autouse=True, scope="module")
def torch_is_there() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(why_no_torch())
        pytest.skip(why_no_torch())


def test_a_planted_regression_is_named_with_its_line_and_commit(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TORCH", "GITHUB_", "CI_", "BUILDKITE_"))}
    environment = {
        **clean, "HOME": str(tmp_path), "TLTUI_BASELINES": str(tmp_path / "kept"), "OMP_NUM_THREADS": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    }  # fmt: skip

    def done(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=repository, env=environment, capture_output=True, text=True, timeout=300, check=False)

    def tltui_(*words: str) -> subprocess.CompletedProcess[str]:
        start = f"import sys; sys.path.insert(0, {SOURCES!r}); from tltui.cli import main; sys.exit(main())"
        return done(sys.executable, "-c", start, *words)

    def committed(source: str) -> str:
        (repository / "train.py").write_text(source, encoding="utf-8")
        assert done("git", "add", "train.py").returncode == 0
        assert done("git", "commit", "-qm", "train").returncode == 0
        return done("git", "rev-parse", "HEAD").stdout.strip()

    assert done("git", "init", "-q", "-b", "main").returncode == 0
    first = committed(GOOD)
    run = tltui_("run", "-o", str(tmp_path / "old"), "--keep-baseline", "train", "--", PYTHON, "train.py")
    assert run.returncode == 0 and "tltui: kept as baseline 'train', run 1 of its branch: " in run.stderr, run.stderr
    assert done("git", "checkout", "-qb", "topic").returncode == 0
    again = tltui_("run", "-o", str(tmp_path / "same"), "--", PYTHON, "train.py")
    assert again.returncode == 0
    same = tltui_("check", str(tmp_path / "same"), "--baseline", "auto")
    assert same.returncode == 0, same.stdout + same.stderr
    assert f"tltui: baseline: train, branch main, commit {first[:10]}, " in same.stderr

    committed(PLANTED)
    assert tltui_("run", "-o", str(tmp_path / "new"), "--", PYTHON, "train.py").returncode == 0
    checked = tltui_("check", str(tmp_path / "new"), "--baseline", "auto:train", "--format", "markdown")
    assert checked.returncode == 1
    lines = checked.stdout.splitlines()
    assert lines[0].startswith("### torch.compile: ") and lines[0].endswith(" limits exceeded")
    assert any(line.startswith("Compared with ` train, branch main, commit ") for line in lines)
    assert any("`break`" in line for line in lines)
    assert any("new gb0059" in line and "train.py:7" in line for line in lines), checked.stdout
