"""trackless report."""

import json

import numpy as np
import pytest
from terminal import trackless

import trackless as tl


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit and its data; data of another dimension; data with species; moments."""
    made = tmp_path_factory.mktemp("report")
    model = tl.models.reference()
    data = tl.simulate(model, runs=20, duration=0.2, step=1e-3)
    tl.write(data, made / "data.npz")
    tl.write(tl.simulate(model, runs=10, duration=0.2, step=1e-3, seed=1), made / "other.npz")
    tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data).save(made / "fit.trackless")
    tl.write(tl.Snapshots(np.zeros((1, 3, 2, 1)) + np.arange(2.0)[:, None], dt=0.1), made / "line.npz")
    mixture = tl.models.mixture()
    mixed = tl.simulate(mixture, particles={"a": 2, "b": 2}, runs=10, duration=0.1, step=1e-3)
    tl.SelfTest(mixture.external_basis, mixture.interaction_basis, sigma=1.0).fit(mixed).save(made / "mixed.trackless")
    tl.save(tl.accumulate(data, model.external_basis, None), made / "moments.trackless")
    rows = [f"{k},{x!r},{y!r}" for k in range(5) for x, y in np.random.default_rng(0).random((4, 2)).tolist()]
    (made / "tracks.csv").write_text("image,x,y\n" + "\n".join(rows) + "\n")
    tracks = tl.read(made / "tracks.csv", dt=0.1, columns={"frame": "image", "x": "x", "y": "y"})
    tl.SelfTest(model.external_basis, None, sigma=1.0, regularization=1e-3).fit(tracks).save(made / "tracks.trackless")
    return made


def test_a_page_is_written_and_not_overwritten(folder):
    result = trackless("report", "fit.trackless", "data.npz", "--title", "Shells", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "The report is in report.html (0." in result.stdout
    made = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>Shells</h1>" in made
    assert "Data: data.npz" in made
    assert "data = tl.read(&#x27;data.npz&#x27;)" in made
    again = trackless("report", "fit.trackless", "data.npz", cwd=folder)
    assert again.returncode == 1
    assert "report.html exists" in again.stderr
    forced = trackless("report", "fit.trackless", "data.npz", "--force", "--no-simulate", "--json", cwd=folder)
    told = json.loads(forced.stdout)
    assert told["report"] == "report.html"
    assert (told["verdict"], told["warnings"]) == ("passed", [])  # by its residual test
    assert set(told["p_values"]) == {"residual test"}
    assert "Forces learnt from data.npz" in (folder / "report.html").read_text(encoding="utf-8")
    assert "<figcaption>Simulated" not in (folder / "report.html").read_text(encoding="utf-8")


def test_options_of_reading_are_those_of_fit_and_are_written_down(folder):
    options = ("--dt", 0.1, "--columns", "frame=image,x=x,y=y", "--no-simulate", "-o", "tracks.html")
    result = trackless("report", "tracks.trackless", "tracks.csv", *options, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "tl.read(&#x27;tracks.csv&#x27;, dt=0.1, columns=" in (folder / "tracks.html").read_text(encoding="utf-8")


def test_a_page_may_show_a_validation(folder):
    result = trackless("report", "fit.trackless", "data.npz", "--validate", "-o", "checked.html", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "Nothing speaks against the fit." in result.stdout
    made = (folder / "checked.html").read_text(encoding="utf-8")
    assert "fitted to 14 runs, tested on 6 others" in made
    assert '<th scope="col">p-value</th>' in made
    other = ("report", "fit.trackless", "other.npz", "--validate", "--json", "-o", "other.html")
    result = trackless(*other, cwd=folder)
    told = json.loads(result.stdout)
    assert told["passed"] is True
    assert told["verdict"] == ("warned" if told["warnings"] else "passed")
    assert {"prediction", "pairs", "places", "motion"} <= set(told["p_values"])
    made = (folder / "other.html").read_text(encoding="utf-8")
    assert "The fit was tested as it is, on data that are not the snapshots of the fit." in made
    assert "<h1>Learnt forces and other.npz</h1>" in made


def test_frames_that_were_left_out_of_the_fit_are_left_out_of_the_report(folder):
    fit = ("fit", "data.npz", "--method", "self-test", "--every", 2, "-o", "thin.trackless")
    assert trackless(*fit, "--sigma", 1.0, cwd=folder).returncode == 0
    done = trackless("report", "thin.trackless", "data.npz", "--every", 2, "--no-simulate", "-o", "t.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    made = (folder / "t.html").read_text(encoding="utf-8")
    assert "Forces learnt from data.npz" in made  # they are known again
    assert "data = tl.read(&#x27;data.npz&#x27;).every(2)" in made


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("fit.trackless", "line.npz"), 1, ("the fit is of 2-dimensional data, these have 1 dimension;",)),
        (("mixed.trackless", "data.npz"), 1, ("the fit is of the species a, b, the data have none", "--columns")),
        (("moments.trackless", "data.npz"), 1, ("holds Moments, not a fit",)),
        (
            ("data.npz", "data.npz"),
            1,
            ("data.npz: not a result saved by trackless, but snapshots", "trackless fit DATA -o FIT"),
        ),
        (("missing.trackless", "data.npz"), 1, ("missing.trackless", "no such file")),
        (("fit.trackless", "data.npz", "-o", "page.pdf"), 2, ("page.pdf: expected a page ending in .html",)),
        (("fit.trackless", "data.npz", "-o", "nowhere/page.html"), 1, ("the directory nowhere does not exist",)),
        (("fit.trackless",), 2, ("missing argument 'data'",)),
        (("fit.trackless", "data.npz", "--max-gap", "soon"), 2, ("--max-gap", "soon")),
        (("fit.trackless", "data.npz", "--validate", "--no-simulate"), 2, ("--validate simulates",)),
    ],
)
def test_wrong_input_gives_one_clear_error(folder, arguments, code, words):
    target = () if "-o" in arguments else ("-o", "never.html")
    result = trackless("report", *arguments, *target, cwd=folder)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in " ".join(result.stderr.split())
    assert not (folder / "never.html").exists()
