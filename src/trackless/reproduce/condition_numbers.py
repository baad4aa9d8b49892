"""Tables 5 and 7 and Figure 4 of the paper: condition numbers of the normal matrix and its blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trackless.accumulation import accumulate
from trackless.plots import COLORS, whole_ticks
from trackless.reproduce.protocol import BOUNDARY, RADIAL, Context, Part, chunks, model_of, seed_of
from trackless.reproduce.published import published
from trackless.reproduce.sections import Claim, Section, Table
from trackless.solvers import condition_numbers

TITLE = "Condition numbers (Tables 5 and 7, Figure 4)"
Array = NDArray[np.float64]
BLOCKS = ("all", "external", "interaction")
SYMBOLS = {"all": r"$\kappa_*$", "external": r"$\kappa_{VV}$", "interaction": r"$\kappa_{\Phi\Phi}$"}
STEP = 1e-3  # the singular model keeps 1e-4
INTERVAL = 1e-2
SAME_RATE = 0.15
STRESSED = ("conditioning", "singularity")
SCALE = 0.25  # of the functions of Phi, in the reading that comes closest to the paper's numbers


def parts(context: Context) -> list[Part]:
    cells = [("reference", dim, n) for dim in context.protocol.dimensions for n in context.protocol.particles]
    cells += [(name, 2, n) for name in BOUNDARY for n in context.protocol.particles]
    return [
        Part(
            f"{name}, d = {dim}, N = {n}: condition numbers",
            context.store.has(_key(name, dim, n, _step(name))),
            partial(numbers_of, context, name, dim, n),
        )
        for name, dim, n in cells
    ] + [
        Part(
            "reference: condition numbers, small steps",
            context.store.has(_key("reference", 2, 10, 1e-4)),
            partial(numbers_of, context, "reference", 2, 10, 1e-4),
        )
    ]


def numbers_of(context: Context, name: str, dim: int, particles: int, step: float | None = None) -> dict[str, Array]:
    """Condition numbers of A and its blocks, and the largest eigenvalue."""
    step = step or _step(name)
    return context.store.arrays(
        _key(name, dim, particles, step), partial(_computed, context, name, dim, particles, step)
    )


def section(context: Context) -> Section:
    sizes, dims = context.protocol.particles, context.protocol.dimensions
    grid = {(dim, n): numbers_of(context, "reference", dim, n) for dim in dims for n in sizes}
    models = {(name, n): numbers_of(context, name, 2, n) for name in RADIAL for n in sizes}
    tables = (_grid_table(grid, dims, sizes), _model_table(models, sizes))
    small, usual = numbers_of(context, "reference", 2, 10, 1e-4), grid[2, 10]
    text = (
        f"True functions, left rule, dt = {INTERVAL:g}. Beyond ten particles there are fewer runs (as many particles "
        "in all), which is enough for averages; steps are 1e-3, but 1e-4 for the singular model. For the reference "
        f"model with ten particles that makes kappa {float(usual['all']):.1f} instead of {float(small['all']):.1f}.",
        f"The largest eigenvalue at d = 2, N = 10 is {float(usual['largest']):.2f} in these functions; the paper "
        f"prints {published('condition_grid', 'largest_eigenvalue', dim=2).mean:g} and must have scaled something.",  # type: ignore[union-attr]
        _why_models_differ(models, sizes),
        _largest_difference(grid),
    )
    figures = {"condition_numbers": _figure(grid, dims, sizes)}
    claims = (*_claims(grid, dims, sizes), *(() if context.quick else _table_claims(grid, models, sizes)))
    return Section(TITLE, text, tables, figures, claims)


def _scaled(models: dict, name: str, particles: int) -> float:
    """The condition number with the functions of Phi multiplied by ``SCALE``."""
    matrix = models[name, particles]["matrix"]
    basis = model_of(name).external_basis
    assert basis is not None
    scale = np.where(np.arange(len(matrix)) < basis.size, 1.0, SCALE)
    return float(np.linalg.cond(matrix * np.outer(scale, scale)))


def _why_models_differ(models: dict, sizes: tuple[int, ...]) -> str:
    """Condition numbers hang on the units of the functions, of which the paper says nothing."""

    def off(name: str, ours: Callable[[str, int], float]) -> str:
        """The paper's numbers over ours: from the smallest to the largest."""
        paper = {n: p.mean for n in sizes if (p := published("condition_models", "all", model=name, particles=n))}
        ratios = [theirs / ours(name, n) for n, theirs in paper.items()]
        return f"{min(ratios):.2g} to {max(ratios):.2g}"

    plain = "; ".join(f"{name} {off(name, lambda m, n: float(models[m, n]['all']))}" for name in BOUNDARY)
    after = "; ".join(f"{name} {off(name, lambda m, n: _scaled(models, m, n))}" for name in BOUNDARY)
    return (
        f"Of the other models the paper's condition numbers are larger than ours, by these factors: {plain}. They hang "
        "on the units of the functions, of which the paper says nothing: with the functions of Phi multiplied by "
        f"{SCALE:g} the factors are {after}. No single factor gives all of the paper's numbers."
    )


def _largest_difference(grid: dict) -> str:
    """Between ours and the paper's numbers of the reference model."""
    ratios = {
        (dim, n, block): float(numbers[block]) / p.mean
        for (dim, n), numbers in grid.items()
        for block in BLOCKS
        if (p := published("condition_grid", block, dim=dim, particles=n)) is not None
    }
    (dim, n, block), ratio = max(ratios.items(), key=lambda item: abs(np.log(item[1])))
    within = sum(abs(np.log(each)) < np.log(1.1) for each in ratios.values())
    part = {"all": "all of A", "external": "the V block", "interaction": "the Phi block"}[block]
    return (
        f"Of the reference model {within} of {len(ratios)} condition numbers are within a tenth of the paper's; the "
        f"farthest, of {part} at d = {dim} and N = {n}, is {ratio:.2f} times it."
    )


def slope(values: list[float], sizes: tuple[int, ...]) -> float:
    """Rate in N: log-log regression."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _grid_table(grid: dict, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Table:
    rows = []
    for n in sizes:
        row = [str(n)]
        for dim in dims:
            paper = [published("condition_grid", block, dim=dim, particles=n) for block in BLOCKS]
            row += [" / ".join("" if p is None else f"{p.mean:g}" for p in paper) if any(paper) else ""]
            row += [" / ".join(f"{float(grid[dim, n][block]):.3g}" for block in BLOCKS)]
        rows.append(tuple(row))
    rates = ["rate in N"]
    for dim in dims:
        paper = [published("condition_grid", f"{block}_slope", dim=dim) for block in BLOCKS]
        rates += [" / ".join("" if p is None else f"{p.mean:g}" for p in paper) if any(paper) else ""]
        rates += [" / ".join(f"{slope([float(grid[dim, n][b]) for n in sizes], sizes):.1f}" for b in BLOCKS)]
    columns = ("N", *(f"d = {dim}, {who}" for dim in dims for who in ("paper", "ours")))
    return Table(
        "condition_numbers", "Reference model: all of A / its V block / its Phi block", columns, [*rows, tuple(rates)]
    )


def _model_table(models: dict, sizes: tuple[int, ...]) -> Table:
    rows = []
    for name in RADIAL:
        row: list[object] = [name]
        for n in sizes:
            paper = published("condition_models", "all", model=name, particles=n)
            row += [None if paper is None else paper.mean, float(models[name, n]["all"])]
        paper = published("condition_models", "all_slope", model=name)
        row += [None if paper is None else paper.mean, slope([float(models[name, n]["all"]) for n in sizes], sizes)]
        rows.append(tuple(row))
    columns = ("model", *(f"N = {n}, {who}" for n in sizes for who in ("paper", "ours")), "rate, paper", "rate, ours")
    return Table("condition_models", "All models, d = 2", columns, rows)


def _claims(grid: dict, dims: tuple[int, ...], sizes: tuple[int, ...]) -> list[Claim]:
    rates = {
        (dim, block): slope([float(grid[dim, n][block]) for n in sizes], sizes) for dim in dims for block in BLOCKS
    }
    steepest = max(rates[dim, "all"] for dim in dims)
    return [
        Claim(
            "The condition number of the V block does not depend on N",
            all(abs(rates[dim, "external"]) < 0.15 for dim in dims),
            ", ".join(f"d = {dim}: rate {rates[dim, 'external']:.2f}" for dim in dims),
        ),
        Claim(
            "Condition numbers grow at most like N",
            steepest < 1.15,
            ", ".join(f"d = {dim}: rate {rates[dim, 'all']:.2f}" for dim in dims),
        ),
    ]


def _table_claims(grid: dict, models: dict, sizes: tuple[int, ...]) -> list[Claim]:
    """What the paper says of twenty dimensions, and of the other models."""
    dim, most, huge = 20, max(sizes), 1e6
    whole, pairs = (float(grid[dim, most][block]) for block in ("all", "interaction"))
    usual = 10
    ratios = [float(models[m, usual]["all"]) / float(models["reference", usual]["all"]) for m in STRESSED]
    rates = {name: slope([float(models[name, n]["all"]) for n in sizes], sizes) for name in RADIAL}
    again = {name: slope([_scaled(models, name, n) for n in sizes], sizes) for name in BOUNDARY}
    theirs = {name: p.mean for name in RADIAL if (p := published("condition_models", "all_slope", model=name))}
    return [
        Claim(
            f"At d = {dim} and N = {most} the condition numbers of the Phi block and of all of A exceed 10^6",
            min(whole, pairs) > huge,
            f"the Phi block {pairs:.2g}, all of A {whole:.2g}",
        ),
        Claim(
            "The condition number of the conditioning model is three orders of magnitude above that of the reference "
            "model, that of the singular one two",
            all(np.log10(ratio) > orders - 0.5 for ratio, orders in zip(ratios, (3, 2), strict=True)),
            f"{ratios[0]:.0f} and {ratios[1]:.0f} times at N = {usual}; these hang on the units of the functions",
        ),
        Claim(
            "Condition numbers of the other models grow with N at the rates of Table 5, that of the singular one not "
            "at all",
            all(abs(rates[name] - rate) < SAME_RATE for name, rate in theirs.items()),
            "rates, paper and ours: "
            + ", ".join(f"{name} {rate:g} and {rates[name]:.2f}" for name, rate in theirs.items())
            + f"; with the functions of Phi multiplied by {SCALE:g}: "
            + ", ".join(f"{name} {rate:.2f}" for name, rate in again.items()),
        ),
    ]


def _figure(grid: dict, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Figure:
    result = Figure(figsize=(12, 3.8), layout="constrained")
    axes = result.subplots(1, 3)
    for axis, block in zip(axes, BLOCKS, strict=True):
        for color, dim in zip(COLORS, dims, strict=False):
            values = [float(grid[dim, n][block]) for n in sizes]
            axis.plot(sizes, values, "o-", color=color, label=f"d = {dim}")
            axis.annotate(f"{slope(values, sizes):.1f}", (sizes[-1], values[-1]), xytext=(5, -3), color=color,
                          textcoords="offset points", fontsize=8)  # fmt: skip
            paper = [(n, p.mean) for n in sizes if (p := published("condition_grid", block, dim=dim, particles=n))]
            if paper:
                axis.plot(*zip(*paper, strict=True), ls="", marker="o", mfc="none", mec=color, ms=10, alpha=0.6)
        if block != "external":  # which does not grow
            first = float(grid[dims[0], sizes[0]][block])
            axis.plot(sizes, first * np.array(sizes) / sizes[0], color="0.6", ls="--", lw=1, label="~ N")
        axis.set(xscale="log", yscale="log", xlabel="particles N", title=SYMBOLS[block], xlim=(None, 1.6 * sizes[-1]))
        whole_ticks(axis, sizes).grid(alpha=0.3)
    axes[0].set_ylabel("condition number")
    result.legend(
        *axes[-1].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9,
        title="open symbols: the\npaper's; numbers: rates", title_fontsize=9,
    )  # fmt: skip
    return result


def _step(name: str) -> float:
    return 1e-4 if name == "singularity" else STEP


def _key(name: str, dim: int, particles: int, step: float) -> str:
    return f"conditions-{name}-{dim}-{particles}-{step:g}"


def _computed(context: Context, name: str, dim: int, particles: int, step: float) -> dict[str, float | Array]:
    model = model_of(name)
    runs = max(50, round(context.protocol.runs * min(1.0, 10 / particles)))
    seed = seed_of("conditions", name, dim) + 1000 * particles
    total, bases = None, (model.external_basis, model.interaction_basis)
    for piece in chunks(model, runs, INTERVAL, seed, step=step, particles=particles, dim=dim):
        moments = accumulate(piece, *bases, windows=1, blocks=1)
        bases = moments.external, moments.interaction  # all pieces on the functions of the first
        total = moments if total is None else total + moments
    assert total is not None
    equations = total.normal_equations(1.0, "left")
    largest = float(np.linalg.eigvalsh(equations.matrix)[-1])
    return condition_numbers(equations) | {"largest": largest, "matrix": equations.matrix}
