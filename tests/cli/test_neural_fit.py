"""trackless fit --method neural."""

import json

import pytest
from terminal import trackless

import trackless as tl


@pytest.fixture(scope="module")
def data_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.npz"
    tl.write(tl.simulate(tl.models.reference(), runs=40, step=1e-3, observe_every=2e-2, seed=1), path)
    return path


def test_networks_are_fitted_saved_and_scored(data_file, tmp_path):
    options = ["--method", "neural", "--sigma", 1, "--model", "reference", "-o", "fit.trackless", "--figure", "f.png"]
    result = trackless("fit", data_file, *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "radial V about the origin, Phi radial" in words
    assert "trained on moments: 5 networks for each potential" in words
    assert "gradient error of V" in words
    fitted = tl.load(tmp_path / "fit.trackless")
    assert fitted.route_ == "moments"
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"


def test_a_potential_left_out_and_the_result_as_json(data_file, tmp_path):
    result = trackless(
        "fit", data_file, "--method", "neural", "--sigma", 1, "--interaction", "none", "--json", cwd=tmp_path
    )
    content = json.loads(result.stdout)
    assert content["route"] == "moments"
    assert len(content["held_out_losses"]) == len(content["stopped"]) == 5


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--method", "neural"], 2, "need the noise intensity"),
        (["--method", "neural", "--sigma", 1, "--regularization", "cv"], 2, "held-out data instead"),
        (["--method", "neural", "--sigma", 1, "--external", "splines:8"], 2, "expected radial, free"),
        (
            ["--method", "neural", "--sigma", 1, "--route", "both"],
            2,
            "'both' is not one of 'auto', 'moments', 'snapshots'",
        ),
        (["--method", "neural", "--sigma", 1, "--max-distance", 1], 2, "does no matching"),
        (["--sigma", 1, "--route", "moments"], 2, "belongs to --method neural"),
        (["--sigma", 1, "--seed", 1], 2, "belongs to --method neural"),
    ],
)
def test_wrong_options(data_file, tmp_path, options, code, message):
    result = trackless("fit", data_file, *options, cwd=tmp_path)
    assert result.returncode == code
    text = " ".join(result.stderr.replace("│", " ").split())
    assert message in text
    assert "Traceback" not in text
