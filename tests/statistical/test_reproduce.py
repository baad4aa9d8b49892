"""The quick run of everything: it ends, and what the paper claims and we confirm is seen in small already."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-W", "error", "-m", "trackless.cli", "reproduce", "all", "--quick", "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_everything_is_on_the_page(results):
    content = json.loads((results / "sections.json").read_text())
    assert len(content) == 10
    page = (results / "README.md").read_text()
    for section in content.values():
        assert section["title"] in page
        for figure in section["figures"]:
            assert (results / f"{figure}.png").stat().st_size > 10_000
        for table in section["tables"]:
            assert len((results / f"{table['name']}.csv").read_text().splitlines()) > 1


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("Following matched particles (Sinkhorn) is worse than the self-test at every interval", True),
        ("The condition number of the V block does not depend on N", True),
        ("Condition numbers grow at most like N", True),
        ("Triples never take away what pairs tell of Phi", True),
        ("V and Phi are weakly correlated: c_0 < 1", True),
        ("The bound of lambda_min(A) by Gram matrices", True),
        ("Following matched particles is worse than following labels at every interval", True),
        ("For discrete-time data a bias of order dt cannot be removed by refining", True),
        ("Joint coercivity with the constant 1 - c_0", False),
        ("Networks learn Phi of the singularity model", False),
    ],
)
def test_claims(results, claim, holds):
    content = json.loads((results / "sections.json").read_text())
    verdicts = [said[1] for section in content.values() for said in section["claims"] if said[0].startswith(claim)]
    assert verdicts == [holds]


def test_a_second_run_goes_on_where_the_first_was(results):
    command = [sys.executable, "-m", "trackless.cli", "reproduce", "error_bound", "--quick", "-o", str(results)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "--resume" in refused.stderr
    assert subprocess.run([*command, "--resume"], capture_output=True, check=False).returncode == 0
