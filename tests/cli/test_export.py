"""trackless export: files for simulators, what is said, exit codes, and files left alone."""

import csv
import json

import pytest
from terminal import trackless

import trackless as tl


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    model = tl.models.reference()
    data = tl.simulate(model, runs=30, duration=0.2, step=1e-3)
    tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data).save(folder / "fit.trackless")
    tl.save(tl.accumulate(data, model.external_basis, None), folder / "moments.trackless")
    return folder


def test_a_fit_goes_to_lammps(folder, tmp_path):
    result = trackless("export", folder / "fit.trackless", "-o", "phi.table", "--kT", 4.0, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    for words in ("Phi was divided by 10", "kT = 4 with friction 8", "is extrapolated", "For lammps: phi.table."):
        assert words in said
    lines = (tmp_path / "phi.table").read_text().splitlines()
    assert lines[lines.index("PHI") + 1].startswith("N 1000 R ")


@pytest.mark.parametrize(("name", "ending"), [("openmm", "py"), ("hoomd", "py"), ("csv", "csv"), ("lammps", "txt")])
def test_other_programs_and_json(folder, tmp_path, name, ending):
    options = ("-o", f"phi.{ending}", "--format", name, "--points", 50, "--core", "linear", "--length", 2, "--json")
    result = trackless("export", folder / "fit.trackless", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["format"] == name
    assert content["files"] == [f"phi.{ending}"]
    assert "lengths are those of the data times 2" in content["told"][2]


def test_what_the_command_writes_is_what_python_writes(folder, tmp_path):
    trackless("export", folder / "fit.trackless", "-o", "one.csv", cwd=tmp_path)
    tl.export(tl.load(folder / "fit.trackless"), tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()
    lines = [line for line in (tmp_path / "one.csv").read_text().splitlines() if not line.startswith("#")]
    assert {row["potential"] for row in csv.DictReader(lines)} == {"V", "Phi"}


def test_force_overwrites(folder, tmp_path):
    (tmp_path / "phi.csv").write_text("mine")
    refused = trackless("export", folder / "fit.trackless", "-o", "phi.csv", cwd=tmp_path)
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert (tmp_path / "phi.csv").read_text() == "mine"
    assert trackless("export", folder / "fit.trackless", "-o", "phi.csv", "--force", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("fit.trackless", "-o", "phi.py"), 2, ("does not say for which program", "openmm")),
        (("fit.trackless", "-o", "phi.csv", "--format", "openmm"), 2, ("ending in .py",)),
        (("fit.trackless", "-o", "phi.table", "--format", "gromacs"), 2, ("--format", "gromacs")),
        (("fit.trackless", "-o", "phi.table", "--core", "hard"), 2, ("--core", "hard")),
        (("fit.trackless", "-o", "phi.table", "--kT", 0), 2, ("--kT", "above 0")),
        (("fit.trackless", "-o", "phi.table", "--length", -1), 2, ("--length", "above 0")),
        (("fit.trackless", "-o", "phi.table", "--points", 1), 2, ("--points", "10")),
        (("fit.trackless", "-o", "phi.table", "--reach", "3"), 2, ("--reach", "LOW:HIGH")),
        (("fit.trackless", "-o", "phi.table", "--reach", "2:1"), 2, ("--reach", "increasing")),
        (("fit.trackless", "-o", "fit.trackless", "--format", "lammps", "--force"), 1, ("different files",)),
        (("fit.trackless",), 2, ("--output",)),
        (("missing.trackless", "-o", "phi.table"), 1, ("missing.trackless", "no such file")),
        (("moments.trackless", "-o", "phi.table"), 1, ("holds Moments, not a fit",)),
        (("fit.trackless", "-o", "nowhere/phi.table"), 1, ("nowhere", "create")),
    ],
)
def test_wrong_input_gives_one_clear_error(folder, arguments, code, words):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = trackless("export", *arguments, cwd=folder)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
