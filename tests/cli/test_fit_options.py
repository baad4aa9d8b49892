"""What trackless fit decides by looking at the data: gaps, coupling; and what it says about noise and residuals."""

import json

import numpy as np
import pytest
from terminal import trackless

import trackless as tl
from trackless.cli.methods import Method, Options, plan

RADIAL = ("--external", "radial", "--interaction", "radial")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten runs with a gap in time; and two of a number of particles that changes."""
    folder = tmp_path_factory.mktemp("data")
    data = tl.simulate(tl.models.reference(), runs=10, particles=5, step=1e-3, observe_every=0.02, seed=3)
    kept = np.r_[0:20, 28:51]
    tl.write(tl.Snapshots(data.positions[:, kept], data.times[kept]), folder / "gap.npz")
    frames = [[frame[: 4 + (i // 3) % 2] for i, frame in enumerate(run)] for run in data.positions[:4]]
    tl.write(tl.Snapshots(frames, [data.times] * 4), folder / "changing.csv")
    return folder


@pytest.mark.parametrize("method", [(*RADIAL,), ("--method", "self-test")])
def test_runs_are_split_at_gaps_and_that_is_said(folder, method):
    options = ("fit", "gap.npz", "--sigma", 1, *method)
    said = " ".join(trackless(*options, cwd=folder).stdout.split())
    assert "split at 10 gaps, intervals longer than 0.06" in said
    assert "mean coupling: forces between particles are averaged, so that Phi is N = 5 times" in said
    assert "residual" in said
    content = json.loads(trackless(*options, "--max-gap", "none", "--json", cwd=folder).stdout)
    assert "split at" not in str(content)
    assert 0 <= content["residual_test"]["p_value"] <= 1


@pytest.mark.parametrize("method", [(*RADIAL,), ("--method", "self-test")])
def test_a_number_of_particles_that_changes_just_works(folder, method):
    result = trackless("fit", "changing.csv", "--sigma", 1, *method, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "sum coupling: forces between particles add up (their number changes, 4 to 5)" in " ".join(
        result.stdout.split()
    )
    result = trackless("fit", "changing.csv", "--sigma", 1, *method, "--coupling", "mean", cwd=folder)
    assert result.returncode == 1
    assert "use --coupling sum" in result.stderr


@pytest.mark.parametrize("method", [(*RADIAL,), ("--method", "self-test")])
def test_no_noise_is_warned_about(folder, method):
    result = trackless("fit", "gap.npz", "--sigma", 0, *method, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "sigma = 0 was given: everything that moves is taken for force" in " ".join(result.stdout.split())


@pytest.mark.parametrize("method", [(*RADIAL,), ("--method", "self-test")])
def test_the_centre_may_be_found(folder, method):
    options = ("fit", "gap.npz", "--sigma", 1, "--center", "fit", *method)
    assert "found from the data with a standard error of (" in " ".join(trackless(*options, cwd=folder).stdout.split())
    result = trackless("fit", "gap.npz", "--center", "fit", "--method", "sinkhorn", cwd=folder)
    assert result.returncode == 2
    assert "fit belongs to auto and self-test" in " ".join(result.stderr.replace("│", " ").split())


def test_the_centre_may_be_given(folder):
    options = ("fit", "gap.npz", "--sigma", 1, "--method", "self-test")
    said = " ".join(trackless(*options, "--center", "-0.5,0.25", cwd=folder).stdout.split())
    assert "radial V about the place (-0.5, 0.25)" in said
    wrong = trackless(*options, "--center", "1,2,3", cwd=folder)
    assert wrong.returncode == 1
    assert "--center: expected 2 coordinates, got (1.0, 2.0, 3.0)" in wrong.stderr
    for text in ("1;2", "here", "nan,1"):
        wrong = trackless(*options, "--center", text, cwd=folder)
        assert wrong.returncode == 2
        assert "--center: expected mean, origin, fit or coordinates" in wrong.stderr


def test_what_was_given_is_echoed_and_what_is_left_out_is_said(folder):
    options = ("--sigma", 1, "--exclude-below", 0.05, "--cutoff", 1.5, *RADIAL, "--every", 2)
    said = " ".join(trackless("fit", "changing.csv", *options, cwd=folder).stdout.split())
    for words in (
        "Snapshots(4 runs, 104 snapshots", "sigma = 1; V radial; Phi radial; Phi ends at r = 1.5; particles are taken",
        "as one where they are closer than 0.05; the rest is asked of the data", "the residual test was left out:",
    ):  # fmt: skip
        assert words in said


@pytest.mark.parametrize("method", [(), ("--method", "self-test")])
def test_bias_cannot_be_removed_across_gaps(folder, method):
    result = trackless("fit", "gap.npz", "--sigma", 1, "--debias", *method, cwd=folder)
    assert result.returncode == 1
    assert "--debias: expected runs with the same times, even intervals" in result.stderr
    assert "Learnt" not in result.stdout


def test_simulate_with_another_sigma(tmp_path):
    options = ("simulate", "reference", "--runs", 2, "--duration", 0.1, "--step", 0.01)
    assert trackless(*options, "-o", "quiet.npz", "--sigma", 0, cwd=tmp_path).returncode == 0
    assert trackless(*options, "-o", "loud.npz", "--sigma", 2, cwd=tmp_path).returncode == 0
    quiet, loud = (np.diff(tl.read(tmp_path / f"{name}.npz").shuffled(0).positions.mean(axis=2), axis=1).std()
                   for name in ("quiet", "loud"))  # fmt: skip
    assert quiet < 0.2 * loud
    assert trackless(*options, "-o", "wrong.npz", "--sigma", -1, cwd=tmp_path).returncode == 2


def test_a_folder_is_fitted_within_a_limit_of_memory(tmp_path):
    data = tl.simulate(tl.models.reference(), runs=6, particles=5, step=1e-3, observe_every=0.02, seed=3)
    parts = tmp_path / "parts"
    parts.mkdir()
    for k in range(6):
        tl.write(data[k : k + 1], parts / f"run{k}.csv")
    tl.write(data, tmp_path / "whole.zarr")
    options = ("--sigma", 1, "--method", "self-test", "--memory", "1GB", "--json")
    losses = [
        json.loads(trackless("fit", name, *options, cwd=tmp_path).stdout)["loss"] for name in ("parts", "whole.zarr")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
    for size, said in (("4MB", "--memory: 4 MB is too little"), ("much", "--memory: expected a size such as 2GB")):
        wrong = trackless("fit", "parts", "--memory", size, cwd=tmp_path)
        assert wrong.returncode == 2
        assert said in wrong.stderr


@pytest.mark.parametrize("center", ["mean", "origin", (1.0, 2.0), "fit", None])
def test_a_family_is_about_the_centre_that_was_asked_for(center):
    asked = Options(
        Method.auto, 1.0, "splines:6", None, center, None, None, None, None, "auto", None, None, None, False, "auto", {}
    )
    planned = plan(asked).estimator.options
    assert planned["external"].center == (None if center in ("origin", None) else center)
    assert planned["center"] == "auto"
