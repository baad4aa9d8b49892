"""Fitted estimators and moments as plain data: one NPZ archive of arrays and a JSON text, no code.

A file is a zip archive: ``content.json`` is readable by hand, every array is a ``.npy`` member that the text
refers to by name. Only the classes listed here are ever built from it, with attributes that they have.
"""

from __future__ import annotations

import io
import json
import tokenize
import zipfile
import zlib
from dataclasses import fields, is_dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from trackless import (
    __version__,
    basis,
    by_species,
    centers,
    comparison,
    debiasing,
    evidence,
    fitting,
    fluctuations,
    goodness,
    networks,
    noise,
    observation,
    potentials,
    priors,
    radial_splines,
    recognition,
    residuals,
    resolution,
    shapes,
    solvers,
    tensor_splines,
    waves,
)
from trackless._errors import InputError, NotAResult
from trackless.estimators.labeled import LabeledMLE
from trackless.estimators.neural import NeuralSelfTest
from trackless.estimators.self_test import SelfTest
from trackless.estimators.sinkhorn import SinkhornMLE
from trackless.files.atomic import replacing
from trackless.files.solutions import check_solution
from trackless.files.source import reason
from trackless.files.upgrades import OLDEST, upgraded
from trackless.moments import Moments
from trackless.tables import tabulated
from trackless.watching import Watched

FORMAT = "trackless result"
SAVED_BLOCKS = 64  # of a fit's moments
TRIANGLE = 8  # rows from which on only one half of a symmetric matrix is saved
VERSION = 8  # 2: moments may hold displacements; 3: pair parts by one rule; 4: diffusion in parts; 5: observation,
# numbers of particles, species; 6: halves of symmetric matrices; 7: single frames; 8: their times, and
# parts of comparisons; what an older one lacks is added by `upgrades`
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first time that a zip archive can name
LARGEST, LARGEST_TEXT = 4_000_000_000, 100_000_000  # bytes of an unpacked file, and of the text in it
_UNREADABLE = (KeyError, ValueError, RecursionError, MemoryError, OverflowError, SyntaxError, tokenize.TokenError)
_MODULES = (
    shapes, potentials, networks, basis, radial_splines, tensor_splines, by_species, solvers, priors, evidence,
    resolution, centers, comparison, fitting, residuals, noise, fluctuations, debiasing, goodness, observation, waves,
    recognition,
)  # fmt: skip
_DATACLASSES: dict[str, type] = {
    cls.__name__: cls
    for module in _MODULES
    for cls in vars(module).values()
    if isinstance(cls, type) and is_dataclass(cls) and cls.__module__ == module.__name__
}
_DATACLASSES |= {"Moments": Moments, "Watched": Watched}
_ESTIMATORS: dict[str, type] = {cls.__name__: cls for cls in (SelfTest, LabeledMLE, SinkhornMLE, NeuralSelfTest)}


def save(result: Any, path: str | Path, overwrite: bool = False, compress: bool = True) -> None:
    """Write a fitted estimator or moments to ``path``; :func:`load` reads it back.

    The same result gives the same file, byte for byte. Moments hardly become smaller when they are compressed, which
    takes much longer than writing them.

    Examples
    --------
    >>> import tempfile, pathlib, trackless as tl
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=20, duration=0.1, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "fit.trackless"
    >>> fitted.save(file)
    >>> bool((tl.load(file).coef_ == fitted.coef_).all())
    True
    """
    arrays: dict[str, np.ndarray] = {}
    content = {"format": FORMAT, "version": VERSION, "trackless": __version__, "result": _plain(result, arrays)}
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with replacing(path, overwrite) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_member("content.json"), json.dumps(content, indent=1), method)
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(_member(f"{name}.npy"), buffer.getvalue(), method)


def _member(name: str) -> zipfile.ZipInfo:
    """A member of an archive that does not say when it was written: the same result gives the same bytes."""
    return zipfile.ZipInfo(name, LONG_AGO)


def load(path: str | Path) -> Any:
    """Read what ``fitted.save(path)`` or :func:`save` wrote. Nothing in the file is executed.

    Files of earlier versions are read from version 4 on (their fits do not know the number of particles). Files that
    unpack to more than 4 GB are refused, and so are fits that were changed after they were saved.
    """
    if not isinstance(path, (str, PathLike)):
        raise InputError(f"load: expected the name of a file that fitted.save(...) wrote, got {path!r}")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive, path)
            if "positions.npy" in archive.namelist():
                raise NotAResult(f"{path}: not a result saved by trackless, but snapshots, which tl.read reads")
            content = json.loads(archive.read("content.json"))
            version = _checked_version(content, path)
            arrays = {
                name.removesuffix(".npy"): _array(archive.read(name))
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except InputError:
        raise
    except (*_UNREADABLE, zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError) as error:
        raise NotAResult(f"{path}: not a result saved by trackless ({reason(error)})") from None
    try:
        return _built(upgraded(content["result"], arrays, version), arrays)
    except InputError as error:
        raise InputError(f"{path}: the file is damaged: {error}") from None
    except (*_UNREADABLE, TypeError, AttributeError, IndexError, AssertionError) as error:
        raise InputError(f"{path}: the file is damaged ({type(error).__name__}: {reason(error)})") from None


def _check_sizes(archive: zipfile.ZipFile, path: str | Path) -> None:
    """Refuse to unpack what no fit needs; no more is unpacked of a member than the archive says it has."""
    sizes = {member.filename: member.file_size for member in archive.infolist()}
    if sizes.get("content.json", 0) > LARGEST_TEXT or sum(sizes.values()) > LARGEST:
        raise InputError(
            f"{path}: unpacked it would have {sum(sizes.values()):,} bytes, {sizes.get('content.json', 0):,} of them "
            f"text; at most {LARGEST:,} and {LARGEST_TEXT:,} are read, because no fit is as large"
        )


def _checked_version(content: Any, path: str | Path) -> int:
    """The version of a file, if this trackless reads it."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise NotAResult(f"{path}: not a result saved by trackless")
    version, maker = content.get("version"), content.get("trackless")
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError(f"{path}: the file is damaged (its version is {version!r})")
    who = f"trackless {maker}" if isinstance(maker, str) else "trackless"
    if version > VERSION:
        raise InputError(
            f"{path}: saved by a newer {who}, in version {version} of the format; trackless {__version__} reads up to "
            f"{VERSION}: update it"
        )
    if version < OLDEST:
        raise InputError(
            f"{path}: saved by an older {who}, in version {version} of the format; trackless {__version__} reads "
            f"{OLDEST} to {VERSION}: fit again, or load it with the trackless that saved it"
        )
    if not isinstance(content.get("result"), dict):
        raise InputError(f"{path}: the file is damaged (it holds no result); copy it again")
    return version


def _array(content: bytes) -> np.ndarray:
    """An array of an NPY file in memory, no larger than the file says it is long; never a pickle."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array in another format than ours")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in "biufSU":  # nothing that is saved has objects, fields, dates or complex numbers
        raise ValueError(f"an array of {dtype}")
    rest = content[stream.tell() :]
    if prod(shape) * dtype.itemsize != len(rest):  # before memory is asked for
        raise ValueError(f"an array of shape {shape} in {len(rest)} bytes")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")


def _plain(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """JSON for a value; arrays go into ``arrays`` and are referred to by name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        size = value.shape[-1] if value.ndim > 1 else 0
        if size >= TRIANGLE and value.shape[-2] == size and np.array_equal(value, np.swapaxes(value, -1, -2)):
            arrays[name] = value[..., *np.tril_indices(size)]  # moments are mostly these, and hardly compressible
            return {"array": name, "symmetric": size}
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple | list):
        return [_plain(item, arrays) for item in value]
    if isinstance(value, dict):
        return {"map": {str(k): _plain(v, arrays) for k, v in value.items()}}
    if isinstance(value, basis.RadialFunctions):
        reach = value.reach or (0.0 if value._finite_at_zero() else 1e-2, 10.0)
        functions = [_plain(_saveable(f, reach), arrays) for f in value.functions]
        rest = {
            "names": list(value.names),
            "center": _plain(value.center, arrays),
            "reach": _plain(value.reach, arrays),
        }
        return {"type": "RadialFunctions", "functions": functions, **rest}
    name = type(value).__name__
    if _DATACLASSES.get(name) is type(value):
        return {"type": name, **{f.name: _plain(getattr(value, f.name), arrays) for f in fields(value)}}
    if _ESTIMATORS.get(name) is type(value):
        state = {k: v for k, v in vars(value).items() if k not in ("external_", "interaction_")}
        if isinstance(state.get("moments_"), Moments):  # enough to bootstrap; all would be larger than the data
            state["moments_"] = state["moments_"].coarsened(SAVED_BLOCKS)
        for role in ("external", "interaction"):  # pairs of species are no names of a JSON object
            state[role] = by_species.as_basis(state[role])
        return {"type": name, "state": {k: _plain(v, arrays) for k, v in state.items()}}
    raise InputError(f"cannot save a {name} as plain data")


def _saveable(function: Any, reach: tuple[float, ...]) -> Any:
    """A given callable has no place in a file: it is saved as the piecewise cubic that kernels use."""
    if isinstance(function, potentials.RadialFunction):
        pieces = tabulated([function], *reach)
        return potentials.PiecewiseCubic(pieces.edges, pieces.coef[:, 0])
    return function


def _built(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return tuple(_built(item, arrays) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = arrays[value["array"]]
        return _whole(array, value["symmetric"]) if "symmetric" in value else array
    if "map" in value:
        return {k: _built(v, arrays) for k, v in value["map"].items()}
    name = value["type"]
    parts = {k: _built(v, arrays) for k, v in value.items() if k not in ("type", "state")}
    if name == "RadialFunctions":
        return basis.RadialFunctions(**parts)
    if name in _ESTIMATORS:
        return _built_estimator(_ESTIMATORS[name], value["state"], arrays)
    if name not in _DATACLASSES:
        raise InputError(f"it holds an unknown kind of object, {name!r}")
    made = _DATACLASSES[name](**parts)
    if isinstance(made, Moments):
        _check_moments(made)
    return made


def _check_moments(moments: Moments) -> None:
    """Refuse sums that are no numbers, or do not belong together: they would fail, or mislead, where they are used."""
    blocks, windows, size = moments.blocks, moments.windows, moments.size
    both = (blocks, windows)
    shapes = {
        "quadratic": (*both, None, None, size, size), "pair": (*both, None, None), "energy": (*both, size),
        "diffusion": (*both, None, None, None, size), "weight": (*both, None, None), "span": (*both, 2),
        "work": (*both, None), "tally": (*both, None), "runs": (blocks,), "particles": (blocks, 2),
    }  # fmt: skip
    for name, expected in shapes.items():
        array = getattr(moments, name)
        if array.dtype.kind not in "iuf" or array.ndim != len(expected):
            raise ValueError(f"{name} is an array of {array.dtype} {array.shape}")
        if any(length is not None and length != n for n, length in zip(array.shape, expected, strict=True)):
            raise ValueError(f"{name} is an array of shape {array.shape}, expected {expected}")


def _whole(half: np.ndarray, size: Any) -> np.ndarray:
    """Symmetric matrices (..., size, size) of their lower triangles (..., size (size + 1) / 2)."""
    if not isinstance(size, int) or half.ndim < 1 or size * (size + 1) // 2 != half.shape[-1]:
        raise ValueError(f"half a matrix of {size!r} rows in an array of shape {half.shape}")
    rows, columns = np.tril_indices(size)
    whole = np.empty((*half.shape[:-1], size, size), half.dtype)
    whole[..., rows, columns] = whole[..., columns, rows] = half
    return whole


def _built_estimator(cls: type, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    estimator = cls()
    settings = estimator.get_params(deep=False)
    for key, item in state.items():
        if key not in settings and (key.startswith("_") or not key.endswith("_")):
            raise InputError(f"a {cls.__name__} has no {key!r}")
        setattr(estimator, key, _built(item, arrays))
    check_solution(estimator)
    estimator._set_potentials()
    return estimator
