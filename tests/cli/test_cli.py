"""The command line as a user meets it: results, messages, exit codes, and files left alone."""

import contextlib
import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from terminal import interruptible, trackless

import trackless as tl


@pytest.fixture
def data_file(tmp_path):
    data = tl.simulate(tl.models.reference(), runs=60, step=1e-3, seed=1)
    tl.write(data, tmp_path / "data.npz")
    return tmp_path / "data.npz"


def test_help_lists_the_commands(tmp_path):
    result = trackless("--help", cwd=tmp_path)
    assert result.returncode == 0
    for command in ("demo", "simulate", "inspect", "fit", "export", "benchmark"):
        assert command in result.stdout


@pytest.mark.parametrize("command", ["simulate", "inspect", "fit", "validate", "report", "export"])
def test_help_is_whole(tmp_path, command):
    result = trackless(command, "--help", cwd=tmp_path)
    assert "…" not in result.stdout
    flags = [line for line in result.stdout.splitlines() if "<bool>" in line and "--help" not in line]
    assert flags == []


@pytest.mark.parametrize("address", ["nonsense", "", "http://localhost:99", "tcp://localhost"])
def test_what_is_no_address_of_a_cluster_is_wrong_usage(tmp_path, address):
    result = trackless("simulate", "reference", "-o", "x.npz", "--runs", 2, "--dask", address, cwd=tmp_path)
    assert result.returncode == 2
    assert "error: --dask: expected the address of a dask scheduler such as tcp://HOST:8786" in result.stderr
    assert result.stderr.count("\n") == 1


def test_version(tmp_path):
    assert tl.__version__ in trackless("--version", cwd=tmp_path).stdout


def test_demo_prints_truth_beside_estimate_and_draws_a_picture(tmp_path):
    result = trackless("demo", "--runs", 60, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "truth" in result.stdout
    assert "gradient error" in result.stdout
    assert (tmp_path / "trackless-demo.png").read_bytes()[:4] == b"\x89PNG"


def test_demo_as_json_is_close_to_the_truth(tmp_path):
    result = trackless("demo", "--runs", 200, "--json", "-o", "picture.pdf", cwd=tmp_path)
    content = json.loads(result.stdout)
    shell = content["coefficients"]["Phi: shell 0.75"]
    assert shell["truth"] == -3.0
    assert abs(shell["learnt"] + 3.0) < 0.5
    assert (tmp_path / "picture.pdf").read_bytes()[:4] == b"%PDF"


def test_simulate_then_fit(tmp_path):
    made = trackless(
        "simulate", "reference", "-o", "data.csv", "--runs", 40, "--step", 1e-3, "--interval", 0.02, cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    result = trackless(
        "fit", "data.csv", "--method", "self-test", "--sigma", 1, "--model", "reference", "-o", "fit.trackless",
        "--figure", "fit.png", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    fitted = tl.load(tmp_path / "fit.trackless")
    assert content["coefficients"]["V: |x|^2"]["learnt"] == pytest.approx(fitted.coef_[1])
    assert content["errors"]["interaction"] < 0.5
    assert (tmp_path / "fit.png").exists()


def test_the_same_seed_gives_the_same_file_on_any_number_of_threads(tmp_path):
    for threads, name in ((1, "one.npz"), (2, "two.npz")):
        arguments = ("simulate", "smoothness", "-o", name, "--runs", 20, "--duration", 0.1, "--threads", threads)
        assert trackless(*arguments, "--seed", 7, cwd=tmp_path).returncode == 0
    one, two = (tl.read(tmp_path / name).positions for name in ("one.npz", "two.npz"))
    assert np.array_equal(one, two)


def test_fit_asks_the_data_and_says_what_they_answered(data_file, tmp_path):
    options = ("--sigma", 1, "--model", "reference", "--figure", tmp_path / "fit.png", "-o", tmp_path / "fit.trackless")
    result = trackless("fit", data_file, *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    for sentence in ("95 % band", "Phi radial", "there is an external potential", "gradient error of V"):
        assert sentence in said
    content = json.loads(trackless("fit", data_file, "--sigma", 1, "--json", cwd=tmp_path).stdout)
    fitted = tl.load(tmp_path / "fit.trackless")
    assert tuple(content["findings"]) == fitted.findings_.sentences
    row = content["slopes"]["interaction"][4]
    assert row["lower"] < row["slope"] < row["upper"]
    assert row["slope"] == pytest.approx(float(fitted.interaction_.slope(row["distance"])))


def test_a_figure_without_an_ending_is_a_pair_for_a_paper(data_file):
    options = ("--method", "self-test", "--sigma", 1, "--model", "reference", "--figure", "forces")
    result = trackless("fit", data_file, *options, cwd=data_file.parent)
    assert result.returncode == 0, result.stderr
    assert "The picture is in forces.png and forces.pdf." in " ".join(result.stdout.split())
    assert (data_file.parent / "forces.png").read_bytes()[:4] == b"\x89PNG"
    pdf = (data_file.parent / "forces.pdf").read_bytes()
    assert b"/CIDFontType2" in pdf  # TrueType: letters, and not outlines of them
    assert b"/Type3" not in pdf
    again = trackless("fit", data_file, *options, cwd=data_file.parent)
    assert again.returncode == 1
    assert "forces.png exists" in again.stderr


def test_fit_with_other_families(data_file):
    for family in ("rbf:8", "tensor:6", "none"):
        result = trackless("fit", data_file, "--sigma", 1, "--external", family, "--json", cwd=data_file.parent)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["loss"] < 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("fit", "missing.npz", "--sigma", 1), 1, ("missing.npz", "no such file")),
        (("fit", "data.npz", "--sigma", -1), 2, ("--sigma", "at least 0", "-1")),
        (("fit", "data.npz", "--sigma", "much"), 2, ("--sigma", "diagonal", "much")),
        (("fit", "data.npz", "--sigma", "1,2,3"), 1, ("sigma", "2 directions", "got 3")),
        (("fit", "data.npz", "--sigma", "1,2", "--method", "labeled"), 2, ("--sigma", "one number")),
        (("fit", "data.npz", "--sigma", "diagonal", "--method", "neural"), 2, ("--sigma", "one number")),
        (("fit", "data.npz", "--method", "neural"), 2, ("sigma",)),
        (("fit", "data.npz", "--dynamics", "jumps"), 2, ("--dynamics", "jumps", "'discrete'")),
        (("fit", "data.npz", "--coupling", "both"), 2, ("--coupling", "both", "'mean', 'sum'")),
        (("fit", "data.npz", "--max-gap", "long"), 2, ("--max-gap", "auto or none", "long")),
        (("fit", "data.npz", "--max-gap", 0), 2, ("--max-gap", "above 0")),
        (("fit", "data.npz", "--method", "sinkhorn", "--debias"), 2, ("--debias", "self-test")),
        (("fit", "data.npz", "--dynamics", "discrete", "--debias"), 2, ("--debias", "no bias to remove")),
        (("fit", "data.npz", "--method", "labeled"), 1, ("unlabeled", "--method self-test", "--columns particle=")),
        (
            ("fit", "data.npz", "--sigma", 1, "--model", "reference", "--coupling", "sum"),
            2,
            ("--model", "mean coupling"),
        ),
        (("fit", "data.npz", "--method", "tracking"), 2, ("tracking", "sinkhorn")),
        (("fit", "data.npz", "--method", "sinkhorn", "--quadrature", "left"), 2, ("--quadrature", "self-test")),
        (("fit", "data.npz", "--method", "labeled", "--max-distance", 1), 2, ("--max-distance", "no matching")),
        (("fit", "data.npz", "--method", "sinkhorn", "--sigma", -1), 2, ("--sigma", "-1")),
        (("fit", "data.npz", "--method", "assignment", "--max-distance", 1e-9), 1, ("followed", "--max-distance")),
        (("fit", "data.npz", "--sigma", 1, "--external", "wavelets:3"), 2, ("--external", "splines:COUNT")),
        (
            ("fit", "data.npz", "--method", "self-test", "--sigma", 1, "--regularization", "much"),
            2,
            ("--regularization", "lcurve"),
        ),
        (("fit", "data.npz", "--sigma", 1, "--regularization", "cv"), 2, ("--regularization", "self-test")),
        (("fit", "data.npz", "--sigma", 1, "--route", "moments"), 2, ("--route", "neural")),
        (("fit", "data.npz", "--sigma", 1, "--quadrature", "simpson"), 2, ("--quadrature", "'trapezoid'")),
        (("fit", "data.npz", "--sigma", 1, "--figure", "a.txt"), 2, (".png",)),
        (("fit", "data.npz", "--sigma", 1, "--dt", 0.1), 1, ("holds times",)),
        (("fit", "data.npz", "--sigma", 1, "--dt", -1), 2, ("--dt", "above 0")),
        (("fit", "data.npz", "--sigma", 1, "--center", "left"), 2, ("--center", "mean")),
        (
            ("fit", "data.npz", "--method", "self-test", "--sigma", 1, "--model", "reference", "--external", "none"),
            2,
            ("--model", "leave out"),
        ),
        (("fit", "data.npz", "--sigma", 1, "-o", "data.npz", "--force"), 1, ("different files",)),
        (("fit", "data.npz", "--sigma", 1, "-o", "fit.trackless", "--figure", "a.xyz"), 2, (".png",)),
        (("fit", "data.npz", "--sigma", 1, "--external", "tensor:1000"), 1, ("fewer functions",)),
        (("fit", "x[/bold].csv", "--sigma", 1), 1, ("x[/bold].csv", "no such file")),
        (("fit", "data.tif", "--sigma", 1), 1, ("data.tif", ".npz")),
        (("fit", "data.npz", "-o", "/proc/x.trackless"), 1, ("/proc/x.trackless: cannot write here",)),
        (("fit", "data.npz", "--figure", "/proc/x.png"), 1, ("/proc/x.png: cannot write here",)),
        (("fit", "data.npz", "data.npz"), 1, ("given twice",)),
        (("fit", "data.npz", "--box", 0), 2, ("--box", "above 0")),
        (("fit", "data.npz", "--cutoff", -1), 2, ("--cutoff", "above 0", "-1")),
        (("fit", "data.npz", "--cutoff", 1, "--interaction", "tensor:5"), 2, ("--cutoff", "splines:COUNT")),
        (("fit", "data.npz", "--detection", 2), 2, ("--detection: expected a probability",)),
        (("fit", "data.npz", "--max-distance", 0, "--method", "assignment"), 2, ("--max-distance", "above 0")),
        (("fit", "data.npz", "--every", 0), 2, ("--every",)),
        (("fit", "data.npz", "--external", "none", "--center", "mean"), 2, ("--center: no V is learnt",)),
        (("fit", "data.npz", "--external", "free", "--center", "fit"), 2, ("--center: V is not radial",)),
        (
            ("fit", "data.npz", "--external", "tensor:4", "--center", "1,2", "--method", "self-test"),
            2,
            ("--center: V is not radial", "leave out one of the two"),
        ),
        (("fit", "data.npz", "--model", "reference", "--center", "mean", "--method", "labeled"), 2, ("--center",)),
        (("fit", "data.npz", "--interaction", "none", "--cutoff", 1), 2, ("--cutoff: no Phi is learnt",)),
        (("fit", "data.npz", "--cutoff", 1, "--exclude-below", 2), 2, ("--exclude-below: 2 is not below --cutoff 1",)),
        (("fit", "data.npz", "--external", "none", "--interaction", "none"), 2, ("nothing to learn",)),
        (("fit", "data.npz", "--method", "self-test", "--regularization", -1), 2, ("--regularization: expected a",)),
        (("fit", "data.npz", "-o", "a.png", "--figure", "a.png"), 2, ("a.png: two things would be written",)),
        (("fit", "x.trackless"), 1, ("x.trackless: expected snapshots", "fits")),
        (("reproduce",), 2, ("--list",)),
        (("simulate", "reference", "-o", "data.npz"), 1, ("exists", "--force")),
        (("simulate", "reference", "-o", "a.tif"), 2, ("a.tif", ".npz")),
        (("simulate", "reference", "-o", "a.xyz"), 2, ("a.xyz", "holds one run", ".npz")),
        (("simulate", "nothing", "-o", "a.npz"), 2, ("nothing",)),
        (("simulate", "reference", "-o", "a.npz", "--step", 0.3), 2, ("--interval", "step")),
        (("simulate", "anisotropic", "-o", "a.npz", "--dim", 3), 2, ("2 dimensions",)),
        (("demo", "-o", "nowhere/picture.png"), 1, ("nowhere", "create")),
        (("demo", "--threads", 0), 2, ("threads",)),
        (("dance",), 2, ("dance",)),
    ],
)
def test_wrong_input_gives_one_clear_error(data_file, arguments, code, words):
    before = data_file.read_bytes()
    result = trackless(*arguments, cwd=data_file.parent)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr + result.stdout
    assert data_file.read_bytes() == before
    assert [p.name for p in data_file.parent.iterdir()] == ["data.npz"]


def test_one_long_run_away_from_the_origin(tmp_path):
    """The first thing an experimentalist tries: columns frame, x, y, one run, a trap that is not at (0, 0)."""
    trap = tl.Model("trap", tl.RadialFunctions([lambda r: r**2]), None, (1.0,), sigma=0.7)
    data = tl.simulate(trap, particles=20, runs=1, duration=20.0, step=1e-2, observe_every=2e-2, seed=1)
    lines = [f"{i},{x + 50!r},{y + 30!r}" for i in range(1001) for x, y in data.positions[0, i].tolist()]
    (tmp_path / "trap.csv").write_text("frame,x,y\n" + "\n".join(lines))
    result = trackless(
        "fit", "trap.csv", "--dt", 0.02, "--sigma", 0.7, "--interaction", "none", "-o", "fit.trackless", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    external = tl.load(tmp_path / "fit.trackless").external_
    assert external.origin == pytest.approx([50, 30], abs=0.1)
    assert external.slope([0.4, 0.6]) == pytest.approx([0.8, 1.2], rel=0.15)


def test_force_overwrites(data_file):
    arguments = ("simulate", "reference", "-o", "data.npz", "--runs", 2, "--duration", 0.1, "--force")
    assert trackless(*arguments, cwd=data_file.parent).returncode == 0
    assert tl.read(data_file).runs == 2


def test_interrupting_leaves_no_file(tmp_path):
    command = interruptible("simulate", "reference", "-o", "data.npz", "--runs", 100_000)
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, **pipes)
    try:
        time.sleep(6)
        for _ in range(10):  # as a user would, again if nothing happened: while modules load an interrupt may get lost
            os.kill(process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
                break
        _, message = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted" in message
    assert "Traceback" not in message
    assert list(tmp_path.iterdir()) == []


def test_sigma_may_be_left_out(data_file):
    options = ("--method", "self-test", "--model", "reference", "--quadrature", "auto")
    result = trackless("fit", data_file, *options, "--json", cwd=data_file.parent)
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert abs(content["sigma"] - 1) < 4 * content["sigma_error"] < 0.1
    said = " ".join(trackless("fit", data_file, *options, cwd=data_file.parent).stdout.split())
    assert "quadratic variation" in said


def test_data_that_are_single_steps(tmp_path):
    simulated = ("simulate", "reference", "-o", "steps.npz", "--runs", 200, "--step", 0.05, "--every", 0.05)
    assert trackless(*simulated, cwd=tmp_path).returncode == 0
    options = ("--method", "self-test", "--model", "reference", "--sigma", 1, "--regularization", 0, "--json")
    plain, exact = (
        json.loads(trackless("fit", "steps.npz", *options, "--dynamics", dynamics, cwd=tmp_path).stdout)["errors"]
        for dynamics in ("continuous", "discrete")
    )
    assert exact["interaction"] < 0.1 < plain["interaction"]


@pytest.mark.parametrize("method", ["labeled", "sinkhorn", "assignment", "barycentric"])
def test_fit_by_following_particles(tmp_path, method):
    data = tl.simulate(tl.models.reference(), runs=30, step=1e-3, labeled=True, seed=2)
    tl.write(data, tmp_path / "named.csv")
    options = ("--method", method, "--model", "reference", "--json", "-o", "fit.trackless")
    result = trackless("fit", "named.csv", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["method"] == method
    assert content["dropped_fraction"] == 0.0
    right = content["matched_fraction"]
    assert right == 1.0 if method == "labeled" else 0.5 < right < 0.95
    assert 0.85 < content["sigma"] < 1.15
    assert tl.load(tmp_path / "fit.trackless").matched_fraction_ == right


def test_fit_says_what_matching_did(data_file):
    result = trackless("fit", data_file, "--method", "assignment", "--model", "reference", cwd=data_file.parent)
    said = " ".join(result.stdout.split())
    assert "matched by assignment" in said
    assert "followed 60,000 of 60,000 particles" in said
    assert "from the residuals" in said


def test_a_mixture_is_fitted_species_by_species(tmp_path):
    made = trackless(
        "simulate", "mixture", "-o", "data.csv", "--runs", 20, "--step", 1e-3, "--every", 0.02, cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    shown = trackless("fit", "data.csv", "--sigma", 1, "--model", "mixture", "--figure", "fit.png", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for words in ("V of a", "V of b", "Phi of a and b", "gradient error of V of a"):
        assert words in shown.stdout
    assert (tmp_path / "fit.png").read_bytes()[:4] == b"\x89PNG"
    told = trackless("fit", "data.csv", "--sigma", 1, "--model", "mixture", "--json", cwd=tmp_path)
    content = json.loads(told.stdout)
    assert list(content["slopes"]["external"]) == ["a", "b"]
    assert list(content["slopes"]["interaction"]) == ["a-a", "a-b", "b-b"]
    assert set(content["errors"]["interaction"]) == {"a-a", "a-b", "b-b"}
