"""The ingredients of the paper's error bound on the reference model: does coercivity hold, and how tight is it?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from trackless.reproduce.pool import pool_moments, pool_parts
from trackless.reproduce.protocol import Context, Part
from trackless.reproduce.sections import Claim, Section, Table

TITLE = "Ingredients of the error bound (section 4)"
PARTICLES = 10


def parts(context: Context) -> list[Part]:
    kept = context.store.has(_KEY)
    return [part._replace(done=part.done or kept) for part in pool_parts(context, "reference")]


def matrices(context: Context) -> dict[str, NDArray[np.float64]]:
    """A, c_N G_Phi ("pair"), the number of functions of V ("external") and of runs: they stay with the results."""

    def computed() -> dict[str, object]:
        trials = [
            pool_moments(context, "reference", trial)["self_test", _interval(context)]
            for trial in range(context.protocol.trials)
        ]
        moments = sum(trials[1:], trials[0])
        equations = moments.normal_equations(1.0, "trapezoid")
        return {"matrix": equations.matrix, "pair": moments.pair_matrix(), "external": equations.external,
                "runs": moments.runs.sum()}  # fmt: skip

    return context.store.arrays(_KEY, computed)


def _interval(context: Context) -> float:
    return min(dt for dt in context.protocol.intervals if dt > context.protocol.step)


_KEY = "error-bound"


def section(context: Context) -> Section:
    interval, found = _interval(context), matrices(context)
    matrix, pair, k = found["matrix"], found["pair"], int(found["external"])
    factor = (PARTICLES - 1) / PARTICLES**2
    diagonal = np.zeros_like(matrix)
    diagonal[:k, :k], diagonal[k:, k:] = matrix[:k, :k], pair
    # eq. compatibility_skeleton: |a^T B b| <= c_0 (a^T G_V a + c_N b^T G_Phi b), B the mixed block of A
    whitened = _root(matrix[:k, :k]) @ matrix[:k, k:] @ _root(pair)
    c_0 = 0.5 * float(np.linalg.svd(whitened, compute_uv=False)[0])
    smallest = float(eigh(matrix, diagonal, eigvals_only=True)[0])
    interaction = float(eigh(matrix[k:, k:], pair, eigvals_only=True)[0])
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    grams = float(np.linalg.eigvalsh(matrix[:k, :k])[0]), float(np.linalg.eigvalsh(pair)[0]) / factor
    floor = min(grams[0], factor * grams[1])
    rows = [
        ("lambda_min(A)", lowest, "smallest eigenvalue of the normal matrix"),
        ("lambda_min(G_V)", grams[0], "Gram matrix of V"),
        ("lambda_min(G_Phi)", grams[1], "Gram matrix of Phi"),
        ("c_N", factor, "(N - 1) / N^2"),
        ("c_0", c_0, "smallest constant for which the mixed term is bounded as assumed"),
        (
            "A_PhiPhi against c_N G_Phi",
            interaction,
            "at least 1 if triples add to pairs (lemma on interaction coercivity)",
        ),
        ("A against diag(G_V, c_N G_Phi)", smallest, "largest constant for which coercivity holds"),
        ("1 - c_0", 1 - c_0, "the constant of the proposition on joint coercivity"),
        ("1 - 2 c_0", 1 - 2 * c_0, "the constant that its proof gives: the mixed term counts twice"),
        ("(1 - c_0) min(...)", (1 - c_0) * floor, "its lower bound of lambda_min(A)"),
    ]
    table = Table("error_bound", "Reference model, d = 2, N = 10", ("what", "value", ""), rows)
    claims = (
        Claim(
            "Triples never take away what pairs tell of Phi (interaction coercivity)",
            interaction >= 1.0,
            f"A_PhiPhi is at least {interaction:.2f} times c_N G_Phi",
        ),
        Claim("V and Phi are weakly correlated: c_0 < 1", c_0 < 1.0, f"c_0 = {c_0:.2f}"),
        Claim(
            "Joint coercivity with the constant 1 - c_0",
            smallest >= 1 - c_0,
            f"the largest constant is {smallest:.3f}, 1 - c_0 is {1 - c_0:.3f}; the proof as written gives 1 - 2 c_0 = "
            f"{1 - 2 * c_0:.3f}",
        ),
        Claim(
            "The bound of lambda_min(A) by Gram matrices",
            lowest >= (1 - c_0) * floor,
            f"lambda_min(A) = {lowest:.4f}, bound {(1 - c_0) * floor:.4f}: {lowest / ((1 - c_0) * floor):.2f} times it",
        ),
    )
    text = (
        f"From all {int(found['runs'])} runs of the pool at dt = {interval:g}. The assumption bounds the mixed "
        "term of V and Phi by c_0 times the pure ones; in the quadratic form it counts twice, so the proof gives "
        "1 - 2 c_0 where the proposition says 1 - c_0.",
    )
    return Section(TITLE, text, (table,), {}, claims)


def _root(matrix: np.ndarray) -> np.ndarray:
    """Inverse square root."""
    sizes, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(sizes)) @ vectors.T
