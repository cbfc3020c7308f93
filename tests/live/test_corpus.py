"""Six programs of the corpus: what tltui predicts of each remedy is what torch does with it.

`python tools/corpus.py` does the same with all programs, and writes docs/advice-corpus.md.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from test_live import PYTHON, run, why_no_torch

pytestmark = pytest.mark.live
TOOLS = Path(__file__).resolve().parents[2] / "tools"
EXAMINE = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from corpus import examine
print(json.dumps(examine(sys.argv[2], Path(sys.argv[3]))))
"""


@pytest.mark.parametrize("name", ["closures", "curriculum", "dataclass_state", "mnist_example", "einops_vit", "gpt2_prompts"])
def test_predictions_come_true(name: str, tmp_path: Path) -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")
    environment = {**os.environ, "TLTUI_TORCH_PYTHON": PYTHON}
    done = run([sys.executable, "-c", EXAMINE, str(TOOLS), name, str(tmp_path)], env=environment)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    if "No module named" in report.get("skipped", ""):
        pytest.skip(report["skipped"])
    assert report["recompilations"] and report["explained"] == report["recompilations"]
    verdicts = {trial["label"]: trial["verdict"] for trial in report["trials"]}
    assert "exact" in verdicts.values() and not {"wrong", "broke", "unmarked"} & set(verdicts.values()), verdicts
    assert any(trial["actual"] < trial["before"] for trial in report["trials"])
    assert not report["false_only"]
