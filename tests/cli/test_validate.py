"""trackless validate."""

import json

import pytest
from terminal import trackless

import trackless as tl


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("validate")
    model = tl.models.reference()
    data = tl.simulate(model, runs=40, step=1e-3)
    tl.write(data, path / "data.npz")
    tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0, quadrature="auto").fit(data).save(
        path / "fit.trackless"
    )
    tl.save(tl.accumulate(data, model.external_basis, None), path / "moments.trackless")
    return path


def test_validate_says_whether_a_fit_holds(folder):
    done = trackless("validate", "fit.trackless", "data.npz", "--replicates", 19, "--figure", "seen.png", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "tested on 12 others" in done.stdout
    assert "Nothing speaks against the fit." in done.stdout
    assert (folder / "seen.png").stat().st_size > 10_000


def test_validate_as_json(folder):
    done = trackless("validate", "fit.trackless", "data.npz", "--replicates", 19, "--json", cwd=folder)
    found = json.loads(done.stdout)
    assert found["passed"] is True
    assert 0 < found["prediction"]["p_value"] <= 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nothing.trackless", "data.npz"), 1, "there is no such file"),
        (("moments.trackless", "data.npz"), 1, "holds Moments, not a fit"),
        (
            ("data.npz", "data.npz"),
            1,
            "but snapshots, which tl.read reads; FIT is the first argument, a file that trackless fit",
        ),
        (("fit.trackless", "data.npz", "--replicates", 3), 2, "--replicates"),
        (("fit.trackless", "data.npz", "--figure", "seen.gif"), 2, ".png, .pdf or .svg"),
        (("fit.trackless",), 2, "data"),
    ],
)
def test_wrong_input_gives_one_clear_error(folder, arguments, code, words):
    done = trackless("validate", *arguments, cwd=folder)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
