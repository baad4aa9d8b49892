"""The architecture as DESIGN says it: direction of imports, cheap import, public names, size of modules."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import trackless

PACKAGE = Path(trackless.__file__).parent
MODULES = {
    ".".join(("trackless", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
STATISTICS = (
    "moments", "pieces", "accumulation", "solvers", "estimators", "files", "exporting", "scoring", "validation",
    "prediction", "simulation",
)  # fmt: skip
ABOVE = ("cli", "demo", "plots", "prediction_plots", "reporting", "reproduce", "benchmarks")
LOOKING_UP = {"trackless.estimators.saving": {"reporting"}}  # `fitted.report(...)`, inside the method only


def imports_of(module, runtime_only=True):
    """Names of trackless modules that ``module`` imports anywhere, also inside functions."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in _nodes(ast.parse(path.read_text()), runtime_only):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively from {package}"
            found.add(node.module)
            # `from trackless import x` may import a module
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name in MODULES} - {module}


def _nodes(tree, runtime_only):
    for node in ast.iter_child_nodes(tree):
        if runtime_only and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _nodes(node, runtime_only)


def imports_at_once(module):
    """Names of trackless modules imported when ``module`` is."""
    names = {node.module for node in ast.parse(MODULES[module].read_text()).body if isinstance(node, ast.ImportFrom)}
    return names & set(MODULES)


def part_of(module):
    """The first name below trackless."""
    return module.split(".")[1] if "." in module else ""


def test_the_parser_sees_imports():
    assert "trackless.moments" in imports_of("trackless.solvers")
    assert "trackless.files.results" in imports_of("trackless.estimators.saving")  # inside a method
    assert len(MODULES) > 25


@pytest.mark.parametrize(
    "module",
    [
        "snapshots", "space", "potentials", "shapes", "basis", "tables", "tensor_splines", "exploration", "quadrature",
        "models", "matching", "networks", "species", "mixtures", "by_species", "composition", "spacing", "gaps",
        "coupling", "observables", "prospects", "snapshot_input", "observation", "waves", "_errors", "_threads",
        "_progress", "passes", "excerpts", "digests", "recognition",
    ],
)  # fmt: skip
def test_the_ground_floor_knows_nothing_of_statistics(module):
    known = {part_of(name) for name in imports_of(f"trackless.{module}")}
    assert not known & {*STATISTICS, *ABOVE}


@pytest.mark.parametrize("module", ["moments", "pieces", "accumulation", "solvers"])
def test_moments_know_nothing_of_estimators(module):
    known = {part_of(name) for name in imports_of(f"trackless.{module}")}
    assert not known & {"estimators", "files", "validation", *ABOVE}


@pytest.mark.parametrize("module", [name for name in MODULES if part_of(name) == "_kernels"])
def test_kernels_know_tables_only(module):
    known = {part_of(name) for name in imports_of(module)} - {""}
    assert known <= {"_kernels", "tables"}


@pytest.mark.parametrize("module", [name for name in MODULES if part_of(name) not in ABOVE])
def test_only_the_command_line_knows_what_is_above(module):
    known = {part_of(name) for name in imports_of(module)} & set(ABOVE)
    assert known == LOOKING_UP.get(module, set())
    assert not {part_of(name) for name in imports_at_once(module)} & set(ABOVE)


@pytest.mark.parametrize("module", [name for name in MODULES if part_of(name) == "cli"])
def test_the_command_line_imports_science_when_it_is_needed(module):
    tree = ast.parse(MODULES[module].read_text())
    at_once = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    at_once |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert not at_once & {"numpy", "matplotlib", "scipy", "numba", "jax"}
    assert not {part_of(name) for name in at_once if name in MODULES} & {*STATISTICS, *ABOVE} - {"cli"}


@pytest.mark.parametrize("module", [name for name in MODULES if part_of(name) != "training"])
def test_only_training_knows_jax(module):
    tree = ast.parse(MODULES[module].read_text())
    at_once = {(node.module or "").split(".")[0] for node in tree.body if isinstance(node, ast.ImportFrom)}
    at_once |= {alias.name.split(".")[0] for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert not at_once & {"jax", "equinox", "optax"}
    assert not [name for name in imports_at_once(module) if part_of(name) == "training"]


def test_there_are_no_import_cycles():
    """At the top level; an import inside a function is the one way to look upwards."""
    edges = {}
    for module, path in MODULES.items():
        names = set()
        for node in ast.parse(path.read_text()).body:
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                inner = f"{node.module}.{alias.name}"  # `from package import module`, or a name in a module
                names.add(inner if inner in MODULES else node.module)
        edges[module] = names & set(MODULES)
    done = set()

    def visit(module, path):
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for name in sorted(edges[module]):
                visit(name, (*path, module))
            done.add(module)

    for module in MODULES:
        visit(module, ())


def test_importing_the_package_costs_almost_nothing():
    heavy = {"numpy", "numba", "scipy", "matplotlib", "jax", "sklearn", "typer", "rich", "pandas"}
    code = f"import sys, trackless; print(*sorted({heavy!r} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == []


@pytest.mark.parametrize("name", trackless.__all__)
def test_public_names_resolve_and_are_documented(name):
    value = getattr(trackless, name)
    if name != "__version__":
        assert inspect.getdoc(value)
    assert name in dir(trackless)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'trackless' has no attribute 'nothing'"):
        _ = trackless.nothing


def test_names_for_type_checkers_are_the_lazy_ones():
    tree = ast.parse(MODULES["trackless"].read_text())
    blocks = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    declared = {}
    for node in blocks[0].body:
        for alias in node.names:
            assert alias.name == alias.asname, "a re-export is written `import name as name`"
            declared[alias.name] = node.module
    assert set(declared) == set(trackless._HOME)
    for name, home in trackless._HOME.items():
        expected = "trackless" if name == home else f"trackless.{home}"
        assert declared[name] == expected
        importlib.import_module(f"trackless.{home}")


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_small(module):
    assert len(MODULES[module].read_text().splitlines()) <= 400


@pytest.mark.parametrize("module", MODULES)
def test_modules_say_what_they_are_for(module):
    assert ast.get_docstring(ast.parse(MODULES[module].read_text()))
