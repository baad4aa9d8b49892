"""Plain NumPy twins of the numba kernels: the formulas of MATH sections 1 and 2, written out and slow."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np

from trackless._kernels.simulation import OCTAVE, SlopeTable
from trackless.potentials import Centered, PiecewiseCubic, Stretched
from trackless.quadrature import RULES, STRIDES, every_rule, weights
from trackless.space import displacement
from trackless.tables import tabulated
from trackless.tensor_splines import TensorSpline, TensorSplines

# Families -> one potential per function, exactly the tabulated one


def functions_of(basis):
    """The functions of a closed family as NumPy potentials, from the same piecewise cubics that kernels read."""
    if basis is None:
        return []
    if isinstance(basis, TensorSplines):
        return [basis.combine(unit) for unit in np.eye(basis.size)]
    if hasattr(basis, "pieces"):
        return [_placed(cubic, basis.center) for cubic in _cubics(basis.pieces())]
    found = []
    stretch_of = lambda f: f.stretch if isinstance(f, Stretched) else None  # noqa: E731
    for stretch, members in groupby(basis.functions, stretch_of):
        profiles = [f.inner if stretch is not None else f for f in members]
        cubics = _cubics(tabulated(profiles, *basis.reach))
        if stretch is not None:
            found += [Stretched(cubic, stretch) for cubic in cubics]
        else:
            found += [_placed(cubic, basis.center) for cubic in cubics]
    return found


def _cubics(pieces):
    return [PiecewiseCubic(pieces.edges, pieces.coef[:, k]) for k in range(pieces.coef.shape[1])]


def _placed(cubic, center):
    return cubic if center is None else Centered(cubic, center)


# Moments


def forces(x, external, interaction, scale, box=None):
    """F of one snapshot ``x`` (N, dim): gradients (N, dim, K) of every function at every particle."""
    force = np.zeros((*x.shape, len(external) + len(interaction)))
    for k, psi in enumerate(external):
        force[:, :, k] = psi.gradient(x)
    i, j = np.nonzero(~np.eye(len(x), dtype=bool))
    for k, phi in enumerate(interaction, start=len(external)):
        np.add.at(force[:, :, k], i, scale * phi.gradient(displacement(x[i], x[j], box)))
    return force


def snapshot_sums(x, external, interaction, scale, box=None):
    """N G, its pair part, N delta and N h of one snapshot ``x`` (N, dim); ``scale`` is 1/N or 1."""
    n, dim = x.shape
    size = len(external) + len(interaction)
    force, delta, h = forces(x, external, interaction, scale, box), np.zeros(size), np.zeros(size)
    for k, psi in enumerate(external):
        delta[k], h[k] = psi.laplacian(x).sum(), psi(x).sum()
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    z = displacement(x[i], x[j], box)
    pushes = np.zeros((len(z), dim, len(interaction)))
    for k, phi in enumerate(interaction, start=len(external)):
        pushes[:, :, k - len(external)] = scale * phi.gradient(z)
        delta[k], h[k] = scale * phi.laplacian(z).sum(), 0.5 * scale * phi(z).sum()
    return (np.einsum("ika,ikb->ab", force, force), np.einsum("pka,pkb->ab", pushes, pushes), delta, h)


def second_derivatives(x, external, interaction, scale, k, box=None, h=1e-6):
    """The part of N delta along direction ``k`` of one snapshot, from gradients a little apart: (K,)."""
    step = h * np.eye(x.shape[1])[k]
    i, j = np.nonzero(~np.eye(len(x), dtype=bool))
    z = displacement(x[i], x[j], box)
    places = [(psi, x, 1.0) for psi in external] + [(phi, z, scale) for phi in interaction]
    rises = [c * (f.gradient(at + step) - f.gradient(at - step))[:, k].sum() for f, at, c in places]
    return np.array(rises) / (2 * h)


def usual_energy(energy, external, index, frames):
    """Energies of one frame, as if it had its run's mean number of particles and pairs."""
    counts, n = np.array([len(x) for x in frames]), len(frames[index])
    singles, pairs = counts.mean() / max(n, 1), (counts * (counts - 1)).mean() / max(n * (n - 1), 1)
    return np.concatenate([singles * energy[:external], pairs * energy[external:]])


def moments_of(snapshots, external, interaction, coupling="mean", windows=1, per_direction=False):
    """The arrays of Moments with one block per run, from closed families, as a dict."""
    psi, phi = functions_of(external), functions_of(interaction)
    size, rules = len(psi) + len(phi), (len(STRIDES), len(RULES))
    shape = (snapshots.runs, windows)
    sums = {
        "quadratic": np.zeros((*shape, *rules, size, size)),
        "pair": np.zeros((*shape, len(phi), len(phi))),
        "diffusion": np.zeros((*shape, *rules, snapshots.dim if per_direction else 1, size)),
        "energy": np.zeros((*shape, size)),
        "weight": np.zeros((*shape, *rules)),
    }
    for m in range(snapshots.runs):
        times = snapshots.times_of(m)
        frames = [np.asarray(snapshots.frame(m, i), float) for i in range(len(times))]
        scales = [1 / len(x) if coupling == "mean" else 1.0 for x in frames]
        parts = [snapshot_sums(x, psi, phi, scale, snapshots.box) for x, scale in zip(frames, scales, strict=True)]
        cuts = np.linspace(0, len(times) - 1, windows + 1).round().astype(int)
        for w in range(windows):
            inside = range(cuts[w], cuts[w + 1] + 1)
            table = every_rule(times[inside])
            for weight, i in zip(np.moveaxis(table, -1, 0), inside, strict=True):
                quadratic, pair, delta, _ = parts[i]
                sums["quadratic"][m, w] += weight[..., None, None] * quadratic
                sums["pair"][m, w] += weight[0, RULES.index("trapezoid")] * pair
                if per_direction:
                    settings = (frames[i], psi, phi, scales[i])
                    delta = [second_derivatives(*settings, k, snapshots.box) for k in range(snapshots.dim)]
                sums["diffusion"][m, w] += weight[..., None, None] * np.atleast_2d(delta)
                sums["weight"][m, w] += weight * len(frames[i])
            first, last = (usual_energy(parts[i][3], len(psi), i, frames) for i in (cuts[w], cuts[w + 1]))
            sums["energy"][m, w] = last - first
    return sums


def self_test_loss(external, interaction, data, sigma, coupling="mean", rule="trapezoid"):
    """MATH section 2, per particle and time; energies as if a run always had its mean number of particles and pairs."""
    total, weight = 0.0, 0.0
    for run in range(data.runs):
        step = weights(data.times_of(run), rule)
        frames = [np.asarray(data.frame(run, k), float) for k in range(len(step))]
        singles = [len(x) for x in frames]
        pairs = [n * (n - 1) for n in singles]
        for k, x in enumerate(frames):
            c = 1 / len(x) if coupling == "mean" else 1.0
            dissipation, spread, energy, pair_energy = 0.0, 0.0, 0.0, 0.0
            for i in range(len(x)):
                force = np.zeros(data.dim)
                if external is not None:
                    force += external.gradient(x[i])
                    spread += float(external.laplacian(x[i]))
                    energy += float(external(x[i]))
                for j in range(len(x)):
                    if interaction is not None and j != i:
                        force += c * interaction.gradient(x[i] - x[j])
                        spread += c * float(interaction.laplacian(x[i] - x[j]))
                        pair_energy += 0.5 * c * float(interaction(x[i] - x[j]))
                dissipation += force @ force
            total += step[k] * (0.5 * dissipation - 0.5 * sigma**2 * spread)
            if k in (0, len(frames) - 1):
                usual = energy * np.mean(singles) / max(singles[k], 1) + pair_energy * np.mean(pairs) / max(pairs[k], 1)
                total += -usual if k == 0 else usual
        weight += step @ singles
    return total / weight


# Matching and motion


def squared_distances(x, y, box=None):
    """|x_i - y_j|^2 to the nearest image, (n, m)."""
    return (displacement(x[:, None], y[None, :], box) ** 2).sum(axis=-1)


def log_sum_exp(a, axis):
    top = a.max(axis=axis, keepdims=True)
    return (top + np.log(np.exp(a - top).sum(axis=axis, keepdims=True))).squeeze(axis)


def transport_plan(cost, epsilon, sweeps=20_000, tolerance=1e-11):
    """The entropic plan exp((f_i + g_j - cost_ij) / epsilon), (n, m), by Sinkhorn's sweeps in the logarithmic domain.

    Every particle of the smaller snapshot gives all of its weight away, every one of the larger takes at most 1:
    where columns are more, their dual variables g are at most 0, and 0 where a column is not full.
    """
    if cost.shape[0] > cost.shape[1]:
        return transport_plan(cost.T, epsilon, sweeps, tolerance).T
    g = np.zeros(cost.shape[1])
    for _ in range(sweeps):
        f = -epsilon * log_sum_exp((g - cost) / epsilon, axis=1)
        new = -epsilon * log_sum_exp((f[:, None] - cost) / epsilon, axis=0)
        if cost.shape[0] < cost.shape[1]:
            new = np.minimum(new, 0.0)
        done = np.abs(new - g).max() <= tolerance * epsilon
        g = new
        if done:
            break
    else:
        raise AssertionError("the twin did not converge: choose a larger epsilon")
    f = -epsilon * log_sum_exp((g - cost) / epsilon, axis=1)
    return np.exp((f[:, None] + g - cost) / epsilon)


def motion_of(snapshots, external, interaction, coupling="mean", windows=1, partner_of=None):
    """What moments with matching hold under the left rule, with one block per run, as a dict.

    ``partner_of(x, y)`` says where the particles of a snapshot are in the next one (-1: nowhere); by default
    they keep their index. Only particles with a partner count.
    """
    psi, phi = functions_of(external), functions_of(interaction)
    shape, size = (snapshots.runs, windows), len(psi) + len(phi)
    names = ("weight", "particles", "matched", "right", "variation")
    sums = {"quadratic": np.zeros((*shape, size, size)), "work": np.zeros((*shape, size))}
    sums |= {name: np.zeros(shape) for name in names}
    for m in range(snapshots.runs):
        times = snapshots.times_of(m)
        cuts = np.linspace(0, len(times) - 1, windows + 1).round().astype(int)
        for i, dt in enumerate(np.diff(times)):
            at = m, int(np.searchsorted(cuts, i, side="right")) - 1
            x, y = (np.asarray(snapshots.frame(m, k), float) for k in (i, i + 1))
            partner = np.arange(len(x)) if partner_of is None else partner_of(x, y)
            kept = np.flatnonzero(partner >= 0)
            force = forces(x, psi, phi, 1 / len(x) if coupling == "mean" else 1.0, snapshots.box)[kept]
            moved = displacement(y[partner[kept]], x[kept], snapshots.box)
            sums["quadratic"][at] += dt * np.einsum("ika,ikb->ab", force, force)
            sums["work"][at] += np.einsum("ika,ik->a", force, moved)
            sums["weight"][at] += dt * len(kept)
            sums["particles"][at] += len(x)
            sums["matched"][at] += len(kept)
            sums["right"][at] += np.sum(partner[kept] == kept)
            sums["variation"][at] += np.sum(moved**2) / dt
    return sums


# Simulation


def table_gradient(table, z):
    """Gradients at ``z`` (..., dim) of a potential as the simulation kernel reads it."""
    if not isinstance(table, SlopeTable):
        cells = table.table.cells
        upper = table.table.lower + cells / table.table.cells_per_unit
        return TensorSpline(table.table.lower, upper, table.coef.reshape(cells + 3)).gradient(z)
    total = np.zeros_like(z)
    for squares, coef in zip(table.squares, table.coef, strict=True):
        s = (squares * z**2).sum(axis=-1)
        mantissa, exponent = np.frexp(s)  # s = mantissa 2^exponent with mantissa in [1/2, 1)
        cell = ((exponent + 1022) * 2**OCTAVE + ((2 * mantissa - 1) * 2**OCTAVE).astype(int)) - table.first_cell
        cell = np.clip(cell, 0, len(coef) - 1)
        total += squares * z * (coef[cell, 0] + s * (coef[cell, 1] + s * coef[cell, 2]))[..., None]
    return total


def force_on(x, external, interaction, scale, box=None):
    """grad V(X_i) + scale sum_{j != i} grad Phi(X_i - X_j) from two tables; ``interaction`` may be None."""
    origin = getattr(external, "origin", 0.0)
    total = table_gradient(external, x - origin)
    if interaction is not None:
        z = displacement(x[:, None], x[None, :], box)
        pushes = table_gradient(interaction, z)
        pushes[np.arange(len(x)), np.arange(len(x))] = 0.0
        total += scale * pushes.sum(axis=1)
    return total


def euler_step(x, normals, force, sigma, h):
    """Euler-Maruyama: X - h F(X) + sigma sqrt(h) Z."""
    return x - h * force(x) + sigma * np.sqrt(h) * normals


def heun_step(x, normals, force, sigma, h):
    """Heun: the drift is the mean of those at both ends of an Euler step with the same noise."""
    trial = euler_step(x, normals, force, sigma, h)
    return x - 0.5 * h * (force(x) + force(trial)) + sigma * np.sqrt(h) * normals


# Random numbers; a state is a list of four Python ints, changed in place

WORD = (1 << 64) - 1
LAYERS = 256
TAIL = 3.6541528853610088
AREA = 0.00492867323399


def _rotated(x, k):
    return ((x << k) | (x >> (64 - k))) & WORD


def next_bits(state):
    """xoshiro256++ by Blackman and Vigna."""
    s0, s1, s2, s3 = state
    result = (_rotated((s0 + s3) & WORD, 23) + s0) & WORD
    s2, s3 = s2 ^ s0, s3 ^ s1
    state[:] = [s0 ^ s3, s1 ^ s2, s2 ^ ((s1 << 17) & WORD), _rotated(s3, 45)]
    return result


def next_uniform(state):
    return ((next_bits(state) >> 12) + 0.5) / 2**52


def _density(x):
    return math.exp(-0.5 * x * x)


def _edges():
    """Right edges of the ziggurat's layers: each layer has area AREA, the lowest one the tail besides."""
    edges = [AREA / _density(TAIL), TAIL]
    while len(edges) < LAYERS:
        edges.append(math.sqrt(-2 * math.log(AREA / edges[-1] + _density(edges[-1]))))
    return [*edges, 0.0]


EDGES = _edges()


def next_normal(state):
    """A normal deviate: |x| uniform in a layer, accepted under the density; the sign is bit 8."""
    sign = None
    while True:
        bits = next_bits(state)
        layer, magnitude = bits & 255, bits >> 12
        if sign is None:
            sign = -1.0 if bits >> 8 & 1 else 1.0
        x = magnitude / 2**52 * EDGES[layer]
        if magnitude < int(EDGES[layer + 1] / EDGES[layer] * 2**52):
            return sign * x
        if layer == 0:
            while True:
                x = -math.log(next_uniform(state)) / TAIL
                if -2 * math.log(next_uniform(state)) > x * x:
                    return sign * (x + TAIL)
        low, high = _density(EDGES[layer]), _density(EDGES[layer + 1])
        if low + next_uniform(state) * (high - low) < _density(x):
            return sign * x


def normals(state, *shape):
    return np.array([next_normal(state) for _ in range(math.prod(shape))]).reshape(shape)


def shuffled(state, n):
    """Fisher and Yates."""
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = int(next_uniform(state) * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


# Test functions that vanish


def smooth_step(t):
    """The quintic step and its two derivatives."""
    t = np.clip(t, 0.0, 1.0)
    return t**3 * (10 - 15 * t + 6 * t**2), 30 * t**2 * (1 - t) ** 2, 60 * t * (1 - t) * (1 - 2 * t)


def mask_values(x, mask):
    """chi (N,), its gradient (N, dim) and its Laplacian (N,)."""
    below, above = x - mask.lower, mask.upper - x
    value, first, second = smooth_step(np.minimum(below, above) / mask.ramp)
    first = first / mask.ramp * np.where(below < above, 1.0, -1.0)
    second = second / mask.ramp**2
    others = np.stack([np.delete(value, k, axis=1).prod(axis=1) for k in range(x.shape[1])], axis=1)
    return value.prod(axis=1), first * others, (second * others).sum(axis=1)


def masked_snapshot(x, external, interaction, scale, mask, box=None):
    """N h (K,), N delta (K,), gradients (N, dim, K) of masked test functions and forces (N, dim, K) of one snapshot."""
    n, dim = x.shape
    size = len(external) + len(interaction)
    energy, diffusion, test = np.zeros(size), np.zeros(size), np.zeros((n, dim, size))
    chi, slope, bend = mask_values(x, mask)
    for k, psi in enumerate(external):
        energy[k] = (chi * psi(x)).sum()
        test[:, :, k] = chi[:, None] * psi.gradient(x) + psi(x)[:, None] * slope
        mixed = (slope * psi.gradient(x)).sum(axis=1)
        diffusion[k] = (chi * psi.laplacian(x) + 2 * mixed + psi(x) * bend).sum()
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    away = displacement(x[i], x[j], box)
    r = np.linalg.norm(away, axis=1)
    omega, omega_slope, omega_bend = smooth_step((r - mask.nearest) / mask.nearest_ramp)
    along = (omega_slope / mask.nearest_ramp / r)[:, None] * away  # gradient of omega
    bent = omega_bend / mask.nearest_ramp**2 + (dim - 1) * omega_slope / mask.nearest_ramp / r
    level = chi[i] * chi[j] * omega
    tilt = chi[j][:, None] * (omega[:, None] * slope[i] + chi[i][:, None] * along)
    curve = chi[j] * (omega * bend[i] + 2 * (slope[i] * along).sum(axis=1) + chi[i] * bent)
    for k, phi in enumerate(interaction, start=len(external)):
        value, gradient = phi(away), phi.gradient(away)
        energy[k] = 0.5 * scale * (level * value).sum()
        np.add.at(test[:, :, k], i, scale * (level[:, None] * gradient + value[:, None] * tilt))
        mixed = (tilt * gradient).sum(axis=1)
        diffusion[k] = scale * (level * phi.laplacian(away) + 2 * mixed + curve * value).sum()
    return energy, diffusion, test, forces(x, external, interaction, scale, box)
