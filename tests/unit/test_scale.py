"""dask.distributed: real workers in processes of their own, one of which is killed."""

import builtins
import os
import signal

import numpy as np
import pytest
from terminal import trackless

import trackless as tl
from trackless import _progress, passes, pieces, scale

distributed = pytest.importorskip("distributed")
MODEL = tl.models.reference()
FAMILIES = tl.RadialSplines(6, lower=0.0, upper=3.0), tl.RadialSplines(9, lower=0.0, upper=5.0)
ARRAYS = ("quadratic", "pair", "diffusion", "energy", "weight", "runs", "particles", "span")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=4,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as started:
        yield started


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as connected:
        yield connected


@pytest.fixture(scope="module")
def data():
    return tl.simulate(MODEL, runs=160, duration=1.0, step=0.01, observe_every=0.01)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(pieces, "BATCH_POINTS", 4_000)


def assert_same(found, expected):
    """Up to rounding: processes that compiled a kernel each for themselves may differ in the last bit."""
    for name in ARRAYS:
        here = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), here, rtol=0, atol=1e-12 * np.abs(here).max(), err_msg=name)


@pytest.mark.slow
def test_four_workers_give_the_same_moments(data, client):
    assert_same(tl.accumulate(data, *FAMILIES, client=client), tl.accumulate(data, *FAMILIES))
    here, there = (tl.accumulate(data, *FAMILIES, blocks=1, client=one) for one in (None, client))
    for name in ("quadratic", "pair", "diffusion", "energy", "weight"):  # blocks that many batches add to
        a, b = getattr(here, name), getattr(there, name)
        assert np.abs(a - b).max() <= 1e-14 * np.abs(a).max()


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(data, cluster, client):
    here = tl.accumulate(data, *FAMILIES)
    killed = []

    def kill_one(items, description, total):
        for item in items:
            if not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)
            yield item

    with _progress.shown_by(kill_one):
        there = tl.accumulate(data, *FAMILIES, client=client)
    assert killed
    assert_same(there, here)


@pytest.mark.slow
def test_data_in_files_are_read_by_the_workers(data, client, tmp_path, monkeypatch):
    np.save(tmp_path / "data.npy", data.positions)
    stored = tl.read(tmp_path / "data.npy", dt=0.01, lazy=True)
    assert stored.in_files
    monkeypatch.setattr(passes, "Excerpt", None)  # nothing is sent
    open_ = tl.RadialSplines(6), tl.RadialSplines(9)
    assert_same(tl.accumulate(stored, *open_, client=client), tl.accumulate(data, *open_))


@pytest.mark.slow
def test_simulation_bootstrap_and_fit_on_a_cluster(data, client, tmp_path):
    settings = {"runs": 600, "duration": 0.1, "step": 1e-2, "observe_every": 1e-2, "seed": 3}
    far = tl.simulate(MODEL, **settings, client=client)
    np.testing.assert_allclose(far.positions, tl.simulate(MODEL, **settings).positions, rtol=0, atol=1e-10)
    fits = [tl.fit(data[:40], 1.0, *FAMILIES, center=None, client=one) for one in (None, client)]
    np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, rtol=1e-6, atol=1e-6)  # solving enlarges rounding
    drawn = fits[0].bootstrap(30)
    with tl.using(client):
        np.testing.assert_allclose(fits[0].bootstrap(30), drawn, rtol=1e-10)


@pytest.mark.slow
def test_the_command_line_uses_a_cluster(data, cluster, tmp_path):
    np.save(tmp_path / "data.npy", data.positions)
    families = ("--method", "self-test", "--external", "splines:6", "--interaction", "splines:9", "--sigma", "1")
    for name, more in (("here", ()), ("there", ("--dask", cluster.scheduler_address))):
        ended = trackless("fit", "data.npy", "--dt", "0.01", "-o", name, *families, *more, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    here, there = (tl.load(tmp_path / name) for name in ("here", "there"))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_errors_of_workers_are_those_of_the_data(data, client):
    positions = np.array(data.positions)
    positions[120, 40, 3, 0] = np.inf
    with pytest.raises(tl.InputError, match="run 120, frame 40, particle 3"):
        tl.accumulate(tl.Snapshots(positions, data.times), *FAMILIES, client=client)


def test_what_is_no_client_is_refused(data):
    with pytest.raises(tl.InputError, match=r"client: expected a dask\.distributed\.Client, got str"):
        tl.accumulate(data[:2], *FAMILIES, client="tcp://127.0.0.1:8786")


def test_addresses_without_a_scheduler_are_named(monkeypatch):
    monkeypatch.setattr(scale, "PATIENCE", "1 s")
    with pytest.raises(tl.InputError, match=r"tcp://127\.0\.0\.1:9: no dask scheduler answers"), scale.connected(
        "tcp://127.0.0.1:9"
    ):  # fmt: skip
        pass


def test_without_dask_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.partition(".")[0] in ("dask", "distributed"):
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(tl.InputError, match=r"pip install 'trackless\[dask\]'"), scale.connected("tcp://somewhere:1"):
        pass
