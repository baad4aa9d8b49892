"""Every example runs, on small data; so does the Python of README and quickstart."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(script, tmp_path):
    small = {
        "anisotropic": ["--runs", "40", "--networks", "1"],
        "colloids_in_water": ["--frames", "100"],
        "periodic_fluid": ["--runs", "3", "--frames", "20", "--particles", "120"],
    }
    command = [sys.executable, "-W", "error", str(script), *small.get(script.stem, ["--runs", "40"])]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_python_on_the_page_runs(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    code = "\n".join(blocks).replace("runs=500", "runs=30")
    code = code.replace("fit.score(other_data)", "fit.score(data)")
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
