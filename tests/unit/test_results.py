"""Saved fits and moments: round trips, damage, and that nothing in a file is executed."""

import io
import json
import time
import zipfile
from typing import Any

import numpy as np
import pytest

import trackless as tl
from trackless.belonging import time_factor
from trackless.comparison import Comparison
from trackless.files import save
from trackless.potentials import Stretched
from trackless.shapes import Gaussian, Power


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fit_with(external, interaction, data=None):
    if data is None:
        data = tl.Snapshots(0.7 * np.random.default_rng(2).standard_normal((8, 5, 6, 2)), 0.1 * np.arange(5))
    return tl.SelfTest(external, interaction, sigma=1.0).fit(data)


FAMILIES = {
    "given functions": (tl.models.reference().external_basis, tl.models.reference().interaction_basis),
    "splines": (tl.RadialSplines(6, center="mean"), tl.RadialSplines(9, lower=0.0, cutoff=2.5, flat_center=True)),
    "knots": (tl.RadialSplines(knots=(0.0, 0.3, 0.7, 1.5)), None),
    "Gaussians": (tl.GaussianRBF(5), tl.GaussianRBF(6)),
    "tensor splines": (tl.TensorSplines(5), tl.TensorSplines(6)),
    "stretched": (tl.models.anisotropic().external_basis, tl.models.anisotropic().interaction_basis),
    "clamped": (None, tl.models.singularity().interaction_basis),
    "sums": (tl.RadialFunctions([2 * Power(2) + Gaussian(0.5, 0.2)], names=["both"], center=(0.1, 0.2)), None),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_fits_round_trip(name, tmp_path):
    fitted = fit_with(*FAMILIES[name])
    fitted.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.coef_, fitted.coef_)
    assert loaded.moments_.names == fitted.moments_.names
    x = np.random.default_rng(3).standard_normal((30, 2))
    for part in ("external_", "interaction_"):
        ours, theirs = getattr(fitted, part), getattr(loaded, part)
        assert type(ours) is type(theirs)
        if ours is not None:
            np.testing.assert_array_equal(ours(x), theirs(x))
            np.testing.assert_array_equal(ours.gradient(x), theirs.gradient(x))
    assert names(tmp_path) == ["fit.trackless"]


def test_moments_round_trip(tmp_path):
    moments = fit_with(*FAMILIES["splines"]).moments_
    save(moments, tmp_path / "moments.trackless")
    loaded = tl.load(tmp_path / "moments.trackless")
    assert isinstance(loaded, tl.Moments)
    np.testing.assert_array_equal(loaded.quadratic, moments.quadratic)
    assert (loaded + moments).runs.sum() == 2 * moments.runs.sum()
    np.testing.assert_array_equal(loaded.span, moments.span)


def test_given_callables_are_saved_as_what_kernels_use(tmp_path):
    fitted = fit_with(tl.RadialFunctions([lambda r: r**2, (np.cos, lambda r: -np.sin(r))], names=["a", "b"]), None)
    fitted.save(tmp_path / "fit.trackless")
    loaded = tl.load(tmp_path / "fit.trackless")
    r = np.linspace(0.05, 2.0, 100)
    np.testing.assert_allclose(loaded.external_.slope(r), fitted.external_.slope(r), rtol=1e-4, atol=1e-5)
    assert loaded.external_basis_.names == ("a", "b")


def test_singular_callables_can_be_saved(tmp_path):
    fitted = fit_with(None, tl.RadialFunctions([lambda r: 1 / r]))
    fitted.save(tmp_path / "fit.trackless")
    r = np.linspace(0.3, 2.0, 20)
    np.testing.assert_allclose(
        tl.load(tmp_path / "fit.trackless").interaction_.slope(r), fitted.interaction_.slope(r), rtol=1e-3
    )


def test_callables_inside_other_functions_are_refused(tmp_path):
    fitted = fit_with(tl.RadialFunctions([Stretched(tl.RadialFunctions([np.cos]).functions[0], (1.0, 0.5))]), None)
    with pytest.raises(tl.InputError, match="cannot save a"):
        fitted.save(tmp_path / "fit.trackless")
    assert names(tmp_path) == []


def test_results_are_not_overwritten(tmp_path):
    fitted = fit_with(*FAMILIES["splines"])
    fitted.save(tmp_path / "fit.trackless")
    with pytest.raises(tl.InputError, match="exists"):
        fitted.save(tmp_path / "fit.trackless")
    fitted.save(tmp_path / "fit.trackless", overwrite=True)


def test_any_changed_byte_is_an_input_error_or_harmless(tmp_path):
    fitted = fit_with(*FAMILIES["knots"])
    fitted.save(tmp_path / "fit.trackless")
    whole = (tmp_path / "fit.trackless").read_bytes()
    refused = 0
    for k in range(0, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[k] ^= 0xFF
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            loaded = tl.load(tmp_path / "damaged")
        except tl.InputError:
            refused += 1
        else:  # a byte of the archive that nobody reads
            np.testing.assert_array_equal(loaded.coef_, fitted.coef_)
    assert refused > 100


def with_state(content, name, value):
    content["result"]["state"][name] = value
    return content


def rewritten(source, target, change):
    """The archive with its text changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "content.json":
                content = json.dumps(change(json.loads(content))).encode()
            new.writestr(name, content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: {**content, "format": "something else"}, "not a result saved by trackless"),
        (
            lambda content: {**content, "version": 99, "trackless": "7.1"},
            r"saved by a newer trackless 7\.1, in version 99 .* trackless 0\.1\.0 reads up to 8: update it",
        ),
        (
            lambda content: {**content, "version": 3},
            r"saved by an older trackless 0\.1\.0, in version 3 .* reads 4 to 8: fit again, or load it with",
        ),
        (lambda content: {**content, "version": "five"}, "damaged .its version is 'five'"),
        (lambda content: {"format": content["format"], "version": 5}, "damaged .it holds no result"),
        (lambda content: with_state(content, "fit", 1), "damaged: a SelfTest has no 'fit'"),
        (lambda content: with_state(content, "__class__", 1), "damaged: a SelfTest has no '__class__'"),
        (lambda content: with_state(content, "coef_", [1.0]), "damaged"),
        (lambda content: {**content, "result": {"type": "Popen", "args": "ls"}}, "unknown kind of object, 'Popen'"),
        (lambda content: {**content, "result": {"type": "Power", "wrong": 1}}, "damaged"),
        (lambda content: {**content, "result": {"array": "array99"}}, "damaged"),
        (lambda content: ["no", "dictionary"], "not a result saved by trackless"),
    ],
)
def test_only_known_content_is_built(change, message, tmp_path):
    fit_with(*FAMILIES["knots"]).save(tmp_path / "fit.trackless")
    rewritten(tmp_path / "fit.trackless", tmp_path / "changed", change)
    with pytest.raises(tl.InputError, match=message):
        tl.load(tmp_path / "changed")


def test_results_hold_no_pickles(tmp_path):
    fit_with(*FAMILIES["given functions"]).save(tmp_path / "fit.trackless")
    with zipfile.ZipFile(tmp_path / "fit.trackless") as archive:
        assert {name.rsplit(".")[-1] for name in archive.namelist()} == {"json", "npy"}
        for name in archive.namelist():
            if name.endswith(".npy"):
                np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([None], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "pickled", "w") as archive:
        archive.writestr(
            "content.json", json.dumps({"format": "trackless result", "version": 5, "result": {"array": "array0"}})
        )
        archive.writestr("array0.npy", buffer.getvalue())
    with pytest.raises(tl.InputError, match="not a result saved by trackless"):
        tl.load(tmp_path / "pickled")


def archive_of(path, content, **arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.json", content)
        for name, data in arrays.items():
            archive.writestr(f"{name}.npy", data)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_absurd_sizes_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    from trackless.files import results

    text = json.dumps({"format": "trackless result", "version": 5, "result": {"array": "array0"}})
    archive_of(tmp_path / "bomb", text, array0=npy(np.zeros(300_000)))
    assert (tmp_path / "bomb").stat().st_size < 10_000
    np.testing.assert_array_equal(tl.load(tmp_path / "bomb"), np.zeros(300_000))
    monkeypatch.setattr(results, "LARGEST", 2_000_000)
    with pytest.raises(tl.InputError, match=r"unpacked it would have 2,400,.* at most 2,000,000"):
        tl.load(tmp_path / "bomb")
    archive_of(tmp_path / "talk", text + " " * 5000)
    monkeypatch.setattr(results, "LARGEST_TEXT", 4000)
    with pytest.raises(tl.InputError, match="of them text"):
        tl.load(tmp_path / "talk")


@pytest.mark.parametrize(
    "data",
    [
        npy(np.zeros(3)).replace(b"(3,)", b"(9,)"),
        npy(np.zeros(1000)).replace(b"(1000,), }        ", b"(99999999999999,), }"),
        npy(np.zeros(3))[:-1],
        npy(np.zeros(3)) + b"more",
        npy(np.zeros(3, dtype=[("a", float)])),
        b"no array",
    ],
)
def test_arrays_are_as_long_as_they_say(data, tmp_path):
    archive_of(
        tmp_path / "file", '{"format": "trackless result", "version": 5, "result": {"array": "array0"}}', array0=data
    )
    with pytest.raises(tl.InputError, match="not a result saved by trackless"):
        tl.load(tmp_path / "file")


def test_text_that_is_nested_too_deep(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    archive_of(tmp_path / "deep", '{"format": "trackless result", "version": 5, "result": ' + deep + "}")
    with pytest.raises(tl.InputError, match="not a result saved by trackless"):
        tl.load(tmp_path / "deep")


def test_arrays_by_columns_round_trip(tmp_path):
    save(np.asfortranarray(np.arange(6.0).reshape(2, 3)), tmp_path / "array")
    np.testing.assert_array_equal(tl.load(tmp_path / "array"), np.arange(6.0).reshape(2, 3))


def as_version_4(content):
    """What version 4 did not have, taken away."""
    state = content["result"]["state"]
    for name in ("ridge_weights_", "center_", "max_gap_", "observation"):
        state.pop(name, None)
    for name in ("particles", "observation"):
        del state["moments_"][name]
    return {key: value for key, value in content.items() if key != "trackless"} | {"version": 4}


def test_fits_of_version_4_are_read(tmp_path):
    fitted = fit_with(*FAMILIES["splines"])
    fitted.save(tmp_path / "fit.trackless")
    rewritten(tmp_path / "fit.trackless", tmp_path / "old", as_version_4)
    loaded = tl.load(tmp_path / "old")
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.coef_, fitted.coef_)
    np.testing.assert_array_equal(loaded.ridge_matrix(), fitted.ridge_matrix())
    assert loaded.bootstrap(3).shape == (3, len(fitted.coef_))
    assert loaded.moments_.number is None
    assert loaded.center_ is None
    with pytest.raises(tl.InputError, match="fit again with coupling='sum'"):
        loaded.converted("sum")
    loaded.save(tmp_path / "new")
    assert tl.load(tmp_path / "new").moments_.coarsened(2).number is None


def as_version_7(content):
    """What version 7 did not have, taken away."""
    state = content["result"]["state"]
    del state["frames_"]["times"], state["comparison_"]["parts"]
    return content | {"version": 7}


def test_fits_of_version_7_do_not_know_when_their_frames_were(tmp_path):
    model = tl.models.reference()
    data = tl.simulate(model, runs=8, duration=0.1, step=1e-3)
    fitted = tl.SelfTest(model.external_basis, None, sigma=1.0).fit(data)
    fitted.comparison_ = Comparison(("a", "b"), (1.0, 0.0), (0.0, 1.0), (0.0, 0.4), 5)  # as those of tl.fit are saved
    fitted.save(tmp_path / "fit.trackless")
    assert tl.load(tmp_path / "fit.trackless").comparison_ == fitted.comparison_
    rewritten(tmp_path / "fit.trackless", tmp_path / "old", as_version_7)
    loaded, slower = tl.load(tmp_path / "old"), tl.Snapshots(data.positions, 2 * np.asarray(data.times))
    assert loaded.frames_.shared_with(fitted.frames_) == len(fitted.frames_.particles)
    assert np.isnan(loaded.frames_.times).all()
    assert time_factor(loaded, slower) == 1.0
    assert time_factor(fitted, slower) == pytest.approx(2.0)
    assert loaded.comparison_.parts == 120


def test_the_text_is_readable_by_hand(tmp_path):
    fit_with(*FAMILIES["splines"]).save(tmp_path / "fit.trackless")
    with zipfile.ZipFile(tmp_path / "fit.trackless") as archive:
        text = archive.read("content.json").decode("ascii")
    assert '"trackless": "0.1.0"' in text
    assert '"sigma": 1.0' in text
    assert max(map(len, text.splitlines())) < 200


def test_symmetric_matrices_are_saved_by_half(tmp_path):
    data = tl.simulate(tl.models.reference(), runs=30, duration=0.2, step=1e-3)
    moments = tl.accumulate(data, tl.RadialSplines(10), tl.RadialSplines(30), "mean")
    save(moments, tmp_path / "moments.trackless")
    assert (tl.load(tmp_path / "moments.trackless").quadratic == moments.quadratic).all()
    with zipfile.ZipFile(tmp_path / "moments.trackless") as archive:
        assert sum(member.file_size for member in archive.infolist()) < 0.6 * moments.quadratic.nbytes

    def longer(content):
        content["result"]["quadratic"]["symmetric"] += 1
        return content

    rewritten(tmp_path / "moments.trackless", tmp_path / "damaged", longer)
    with pytest.raises(tl.InputError, match=r"damaged .*half a matrix of 41 rows"):
        tl.load(tmp_path / "damaged")


def test_a_damaged_header_of_an_array_is_an_error_of_the_file(tmp_path):
    """Whatever the parser of headers makes of it: numpy tokenizes them, and tokens may not end."""
    good, bad = tmp_path / "good.trackless", tmp_path / "bad.trackless"
    tl.SelfTest(tl.models.reference().external_basis, None, sigma=1.0).fit(
        tl.simulate(tl.models.reference(), runs=8, duration=0.1, step=1e-3)
    ).save(good)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b"{'descr'", b"(((descr'") if name.endswith(".npy") else content)
    with pytest.raises(tl.InputError, match=r"damaged|not a result"):
        tl.load(bad)


def with_array(source, target, name, change):
    """The archive with one array of the fit's state changed."""
    with zipfile.ZipFile(source) as old:
        member = json.loads(old.read("content.json"))["result"]["state"][name]["array"] + ".npy"
        with zipfile.ZipFile(target, "w") as new:
            for one in old.namelist():
                content = old.read(one)
                new.writestr(one, npy(change(np.load(io.BytesIO(content)))) if one == member else content)


def first_changed(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("coef_", first_changed(np.nan), r"coef_ has 1 of 5 entries that are not finite"),
        ("coef_", lambda coef: coef[:-1], r"coef_ has the shape \(4,\), expected \(5,\)"),
        ("coef_", lambda coef: coef.astype(str), "coef_ is an array of <U.*, expected numbers"),
        ("coef_", lambda coef: 1.001 * coef, "coef_ is not the solution .*changed after it was saved"),
        ("covariance_", lambda matrix: matrix[:2, :2], r"covariance_ has the shape \(2, 2\), expected \(5, 5\)"),
        ("covariance_", first_changed(np.inf), "covariance_ has 1 of 25 entries that are not finite"),
        ("covariance_", np.triu, "covariance_ is not symmetric"),
        ("covariance_", np.negative, ".*variances of at least 0"),
    ],
)
def test_solutions_that_cannot_be_are_refused(name, change, message, tmp_path):
    fit_with(*FAMILIES["knots"]).save(tmp_path / "fit.trackless")
    with_array(tmp_path / "fit.trackless", tmp_path / "changed", name, change)
    with pytest.raises(tl.InputError, match=f"changed: the file is damaged: {message}"):
        tl.load(tmp_path / "changed")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sigma_", "hello", "sigma_ is 'hello': expected a number, or one per direction"),
        ("sigma_", -1.0, "sigma_ is -1.0: expected a finite number of at least 0"),
        ("sigma_", float("nan"), "sigma_ is nan: expected a finite number of at least 0"),
        ("sigma_", [1.0, 2.0, 3.0], r"sigma_ is \(1.0, 2.0, 3.0\): expected one number, or 2 for 2 directions"),
        ("coupling", "banana", "coupling is 'banana', expected 'mean' or 'sum'"),
        ("coupling", "sum", "coupling is 'sum', but its moments are of 'mean'"),
        ("quadrature", "banana", "quadrature: .*'banana'"),
        ("regularization", "banana", "regularization: .*'banana'"),
    ],
)
def test_settings_and_noise_that_cannot_be_are_refused(name, value, message, tmp_path):
    fit_with(*FAMILIES["knots"]).save(tmp_path / "fit.trackless")
    rewritten(tmp_path / "fit.trackless", tmp_path / "changed", lambda content: with_state(content, name, value))
    with pytest.raises(tl.InputError, match=f"changed: the file is damaged: {message}"):
        tl.load(tmp_path / "changed")


def test_fits_without_a_part_are_named(tmp_path):
    fit_with(*FAMILIES["knots"]).save(tmp_path / "fit.trackless")

    def without(content):
        del content["result"]["state"]["sigma_"]
        return content

    rewritten(tmp_path / "fit.trackless", tmp_path / "changed", without)
    with pytest.raises(tl.InputError, match="damaged: a SelfTest without sigma_"):
        tl.load(tmp_path / "changed")


@pytest.mark.parametrize("setting", ["lcurve", "cv", "evidence", 0.01])
def test_solutions_of_all_kinds_are_known_from_changed_ones(setting, tmp_path):
    data = tl.Snapshots(0.7 * np.random.default_rng(2).standard_normal((8, 5, 6, 2)), 0.1 * np.arange(5))
    families = (tl.RadialSplines(6), tl.RadialSplines(8))
    fitted = tl.SelfTest(*families, sigma=1.0, regularization=setting).fit(data)
    for k, one in enumerate((fitted, fitted.converted("sum"))):
        one.save(tmp_path / f"fit{k}")
        np.testing.assert_array_equal(tl.load(tmp_path / f"fit{k}").coef_, one.coef_)
        with_array(tmp_path / f"fit{k}", tmp_path / f"changed{k}", "coef_", lambda coef: coef * 1.001)
        with pytest.raises(tl.InputError, match="changed after it was saved"):
            tl.load(tmp_path / f"changed{k}")


def test_names_of_files_are_names():
    no_name: Any = 3
    with pytest.raises(tl.InputError, match=r"load: expected the name of a file .* got 3"):
        tl.load(no_name)


def test_the_same_fit_gives_the_same_bytes(tmp_path, monkeypatch):
    fitted = fit_with(*FAMILIES["knots"])
    fitted.save(tmp_path / "one")
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    fitted.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
