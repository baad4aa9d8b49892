"""Fitted estimators and moments as plain data: one NPZ archive of arrays and a JSON text, no code.

A file is a zip archive: ``content.json`` is readable by hand, every array is a ``.npy`` member that the text
refers to by name. Only the classes listed here are ever built from it.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trackless import (
    basis,
    by_species,
    centers,
    comparison,
    debiasing,
    evidence,
    fitting,
    goodness,
    networks,
    noise,
    observation,
    potentials,
    priors,
    radial_splines,
    residuals,
    resolution,
    shapes,
    solvers,
    tensor_splines,
    waves,
)
from trackless._errors import InputError
from trackless.estimators.labeled import LabeledMLE
from trackless.estimators.neural import NeuralSelfTest
from trackless.estimators.self_test import SelfTest
from trackless.estimators.sinkhorn import SinkhornMLE
from trackless.files.atomic import replacing
from trackless.moments import Moments
from trackless.tables import tabulated

FORMAT = "trackless result"
SAVED_BLOCKS = 64  # of a fit's moments
VERSION = 5  # 2: moments may hold displacements; 3: pair parts by one rule; 4: diffusion in parts; 5: observation,
# numbers of particles, species
_MODULES = (
    shapes, potentials, networks, basis, radial_splines, tensor_splines, by_species, solvers, priors, evidence,
    resolution, centers, comparison, fitting, residuals, noise, debiasing, goodness, observation, waves,
)  # fmt: skip
_DATACLASSES: dict[str, type] = {
    cls.__name__: cls
    for module in _MODULES
    for cls in vars(module).values()
    if isinstance(cls, type) and is_dataclass(cls) and cls.__module__ == module.__name__
}
_DATACLASSES["Moments"] = Moments
_ESTIMATORS: dict[str, type] = {cls.__name__: cls for cls in (SelfTest, LabeledMLE, SinkhornMLE, NeuralSelfTest)}


def save(result: Any, path: str | Path, overwrite: bool = False) -> None:
    """Write a fitted estimator or moments to ``path``; :func:`load` reads it back.

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
    content = {"format": FORMAT, "version": VERSION, "result": _plain(result, arrays)}
    with replacing(path, overwrite) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.json", json.dumps(content, indent=1))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())


def load(path: str | Path) -> Any:
    """Read what ``fitted.save(path)`` or :func:`save` wrote. Nothing in the file is executed."""
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(archive.read("content.json"))
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError, NotImplementedError) as error:
        raise InputError(f"{path}: not a result saved by trackless ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: not a result saved by trackless")
    if content.get("version") != VERSION:
        raise InputError(f"{path}: saved in version {content.get('version')}, this one reads {VERSION}")
    try:
        return _built(content["result"], arrays)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{path}: the file is damaged ({error!r})") from None


def _plain(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """JSON for a value; arrays go into ``arrays`` and are referred to by name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
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
        return arrays[value["array"]]
    if "map" in value:
        return {k: _built(v, arrays) for k, v in value["map"].items()}
    name = value["type"]
    parts = {k: _built(v, arrays) for k, v in value.items() if k not in ("type", "state")}
    if name == "RadialFunctions":
        return basis.RadialFunctions(**parts)
    if name in _ESTIMATORS:
        return _built_estimator(_ESTIMATORS[name], value["state"], arrays)
    if name not in _DATACLASSES:
        raise InputError(f"the file holds an unknown kind of object, {name!r}")
    return _DATACLASSES[name](**parts)


def _built_estimator(cls: type, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    estimator = cls()
    for key, item in state.items():
        setattr(estimator, key, _built(item, arrays))
    estimator._set_potentials()
    return estimator
