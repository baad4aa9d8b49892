"""One pair of frames of very many particles: what is refused says what can be done, and that can be done."""

import numpy as np
import pytest
from typer.testing import CliRunner

import trackless as tl
from trackless.cli.commands import app

SIDE, PARTICLES = 60.0, 4000


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    generator = np.random.default_rng(0)
    first = generator.uniform(0, SIDE, (PARTICLES, 2))
    second = (first + 0.1 * generator.normal(size=first.shape)) % SIDE
    data = tl.Snapshots(np.stack([first, second])[None], dt=0.01, box=SIDE)
    path = tmp_path_factory.mktemp("pair") / "pair.npz"
    tl.write(data, path)
    return data, path


def test_a_fit_is_refused_at_once_with_a_remedy_that_leads_somewhere(pair):
    data, path = pair
    with pytest.raises(tl.InputError, match=r"one run of two snapshots.*--method self-test --regularization 0.01"):
        tl.fit(data, cutoff=2.0)
    run = CliRunner().invoke(app, ["fit", str(path), "--cutoff", "2"])
    assert run.exit_code != 0
    assert "one run of two snapshots" in str(run.exception)
    followed = ["--method", "self-test", "--regularization", "0.01", "--external", "none"]
    done = CliRunner().invoke(app, ["fit", str(path), "--cutoff", "2", *followed])
    assert done.exit_code == 0, done.output
    family = tl.RadialSplines(10, lower=0.0, cutoff=2.0)
    assert np.isfinite(tl.SelfTest(None, family, regularization=0.01).fit(data).coef_).all()
    more = np.concatenate([data.positions, data.positions[:, ::-1, :, ::-1]])  # one more run, of another order
    assert tl.fit(tl.Snapshots(more, dt=0.01, box=SIDE), cutoff=2.0).sigma_ == pytest.approx(1.0, rel=0.1)


def test_a_look_says_the_same_and_sees_the_closest_pair(pair):
    """A sample of pairs of so many particles does not hold the closest ones: that is no hole."""
    data, _ = pair
    found = tl.inspect(data)
    assert any("one run of two snapshots" in said for said in found.findings)
    assert not any("closer than" in said for said in found.findings)
    shifts = data.positions[0, 0][:, None] - data.positions[0, 0][None]
    apart = np.sqrt(((shifts - SIDE * np.round(shifts / SIDE)) ** 2).sum(axis=2)) + SIDE * np.eye(PARTICLES)
    assert found.distances is not None
    assert found.distances[0] <= apart.min() * (1 + 1e-12)
