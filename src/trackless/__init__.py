"""trackless: learn the forces between particles without tracking them.

Public names load on first use, so that importing the package costs almost nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "BySpecies": "by_species",
    "GaussianRBF": "basis",
    "InputError": "_errors",
    "LabeledMLE": "estimators.labeled",
    "Matching": "matching",
    "Model": "models",
    "Moments": "moments",
    "NeuralSelfTest": "estimators.neural",
    "Observation": "observation",
    "RadialFunctions": "basis",
    "RadialSplines": "radial_splines",
    "SelfTest": "estimators.self_test",
    "SinkhornMLE": "estimators.sinkhorn",
    "Snapshots": "snapshots",
    "TensorSplines": "tensor_splines",
    "accumulate": "accumulation",
    "compare": "comparison",
    "concatenate": "joining",
    "export": "exporting",
    "fit": "fitting",
    "get_memory": "_memory",
    "get_threads": "_threads",
    "gradient_errors": "scoring",
    "inspect": "inspection",
    "load": "files",
    "models": "models",
    "motion": "waves",
    "read": "files",
    "report": "reporting",
    "save": "files",
    "set_memory": "_memory",
    "set_threads": "_threads",
    "simulate": "simulation",
    "using": "scale",
    "validate": "validation",
    "write": "files",
}

__all__ = [
    "BySpecies",
    "GaussianRBF",
    "InputError",
    "LabeledMLE",
    "Matching",
    "Model",
    "Moments",
    "NeuralSelfTest",
    "Observation",
    "RadialFunctions",
    "RadialSplines",
    "SelfTest",
    "SinkhornMLE",
    "Snapshots",
    "TensorSplines",
    "__version__",
    "accumulate",
    "compare",
    "concatenate",
    "export",
    "fit",
    "get_memory",
    "get_threads",
    "gradient_errors",
    "inspect",
    "load",
    "models",
    "motion",
    "read",
    "report",
    "save",
    "set_memory",
    "set_threads",
    "simulate",
    "using",
    "validate",
    "write",
]

if TYPE_CHECKING:
    from trackless import models as models
    from trackless._errors import InputError as InputError
    from trackless._memory import get_memory as get_memory
    from trackless._memory import set_memory as set_memory
    from trackless._threads import get_threads as get_threads
    from trackless._threads import set_threads as set_threads
    from trackless.accumulation import accumulate as accumulate
    from trackless.basis import GaussianRBF as GaussianRBF
    from trackless.basis import RadialFunctions as RadialFunctions
    from trackless.by_species import BySpecies as BySpecies
    from trackless.comparison import compare as compare
    from trackless.estimators.labeled import LabeledMLE as LabeledMLE
    from trackless.estimators.neural import NeuralSelfTest as NeuralSelfTest
    from trackless.estimators.self_test import SelfTest as SelfTest
    from trackless.estimators.sinkhorn import SinkhornMLE as SinkhornMLE
    from trackless.exporting import export as export
    from trackless.files import load as load
    from trackless.files import read as read
    from trackless.files import save as save
    from trackless.files import write as write
    from trackless.fitting import fit as fit
    from trackless.inspection import inspect as inspect
    from trackless.joining import concatenate as concatenate
    from trackless.matching import Matching as Matching
    from trackless.models import Model as Model
    from trackless.moments import Moments as Moments
    from trackless.observation import Observation as Observation
    from trackless.radial_splines import RadialSplines as RadialSplines
    from trackless.reporting import report as report
    from trackless.scale import using as using
    from trackless.scoring import gradient_errors as gradient_errors
    from trackless.simulation import simulate as simulate
    from trackless.snapshots import Snapshots as Snapshots
    from trackless.tensor_splines import TensorSplines as TensorSplines
    from trackless.validation import validate as validate
    from trackless.waves import motion as motion


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trackless' has no attribute {name!r}")
    module = import_module(f"trackless.{_HOME[name]}")
    value = module if name == "models" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
