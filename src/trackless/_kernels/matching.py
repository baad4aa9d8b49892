"""Matching consecutive snapshots: who went where, by labels, exact assignment or entropic transport.

Entropic transport with cost |x - y|^2 and regularisation epsilon is the matrix P = exp((f + g - cost) / epsilon)
with unit row and column sums. Its kernel is taken relative to the dual variables of the exact assignment: then
no entry exceeds 1, one in each row equals 1, and nothing can overflow or vanish however small epsilon or far the
particles (what the logarithmic domain is for, without logarithms in the iteration); and because entries that are
numerically 0 are left out, a sweep costs no more than the number of candidates for a match. Two million pairs of
10 particles take 3 s on two cores; a NumPy loop over pairs in the logarithmic domain, to the same tolerance, would take
1500 times as long (``trackless benchmark``).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from trackless._kernels import FAST
from trackless._kernels.assignment import assign

LABELS, ASSIGNMENT, SINKHORN, BARYCENTRIC = range(4)
FARTHEST = 1e150  # distances are cut here, so that their squares stay finite
NEGLIGIBLE = 46.0  # entries below exp(-46) = 1e-20 of a matched one are left out
EXTREME = 1e40  # scalings beyond this or its inverse are multiplied into the kernel, and start again from 1
HALF = 0.5  # a particle counts as matched if at least this share of it found a partner


@njit(nogil=True, cache=True)
def match_frames(
    points, starts, first, second, lengths, method, epsilon, farthest, tolerance, sweeps, partner, moved, squared,
    share, right,
):  # fmt: skip
    """Match the particles of many pairs of snapshots.

    Parameters
    ----------
    points : (P, dim)
        Positions; snapshot s is ``points[starts[s]:starts[s + 1]]``.
    first, second : (pairs,) int
        The snapshots of each pair; no snapshot is the first of two pairs.
    lengths : (dim,)
        Periods; 0 where there is none.
    method : int
        LABELS, ASSIGNMENT, SINKHORN (plan, then the permutation with the largest sum of its entries) or
        BARYCENTRIC (mean target under the plan).
    epsilon : (pairs,)
        Regularisation of the plan, in units of squared distance.
    farthest : float
        A longer move counts as this long, and is dropped if chosen.
    tolerance, sweeps : float, int
        The plan is done when its sums are within ``tolerance`` of 1, or after so many sweeps.
    partner : (P,) int, all -1; written for particles of first snapshots
        Index in the second snapshot; stays -1 for what was dropped, and under BARYCENTRIC.
    moved, squared, share, right : (P, dim), (P,), (P,), (P,), all 0; written likewise
        Displacement, mean squared displacement, 1 if the particle was matched (0: dropped), and the share of it
        that was matched to the particle with the same index.

    Returns
    -------
    int
        Number of pairs whose plan did not reach the tolerance.
    """
    dim = points.shape[1]
    largest = 1
    for s in range(starts.shape[0] - 1):
        largest = max(largest, starts[s + 1] - starts[s])
    side = 1 if method == LABELS else largest
    cost = np.empty((side, side))
    coordinates = np.empty((2, dim, largest))
    target, source = np.arange(largest), np.empty(side, np.int64)
    of_row, of_column = np.empty(side), np.empty(side)
    room = (np.empty(side), np.empty(side, np.int64), np.empty(side, np.bool_), np.empty(side, np.int64))
    row_start, column_start = np.empty(side + 1, np.int64), np.empty(side + 1, np.int64)
    values, columns_of = np.empty(1), np.empty(1, np.int32)
    entry_of, row_of = np.empty(1, np.int32), np.empty(1, np.int32)
    scalings = np.empty((4, side))
    unfinished = 0
    for p in range(first.shape[0]):
        a, b = starts[first[p]], starts[second[p]]
        n, m = starts[first[p] + 1] - a, starts[second[p] + 1] - b
        if method == LABELS:
            follow(points, a, b, n, True, target, lengths, farthest, partner, moved, squared, share, right)
            continue
        if n == 0 or m == 0:
            continue
        forward = n <= m  # rows are the smaller snapshot, and every row gets a partner
        here, there = (a, b) if forward else (b, a)
        rows, columns = (n, m) if forward else (m, n)
        squared_distances(points, here, rows, there, columns, lengths, farthest, coordinates, cost)
        assign(cost, rows, columns, target, source, of_row, of_column, room)
        if method != ASSIGNMENT:
            needed = count_entries(cost, rows, columns, target, of_row, of_column, epsilon[p], row_start)
            if needed > values.shape[0]:
                values, columns_of = np.empty(2 * needed), np.empty(2 * needed, np.int32)
                entry_of, row_of = np.empty(2 * needed, np.int32), np.empty(2 * needed, np.int32)
            fill_entries(cost, rows, columns, target, of_row, of_column, epsilon[p], values, columns_of)
            group_by_column(rows, columns, row_start, columns_of, column_start, entry_of, row_of)
            unfinished += not scale_to_plan(
                rows, columns, target, row_start, columns_of, values, column_start, entry_of, row_of, of_column,
                epsilon[p], tolerance, sweeps, scalings,
            )  # fmt: skip
        if method == BARYCENTRIC:
            follow_plan(
                points, a, n, b, rows, forward, row_start, columns_of, values, lengths, farthest, moved, squared,
                share, right,
            )  # fmt: skip
            continue
        if method == SINKHORN:
            # The permutation with the largest sum of P keeps the largest expected number of right matches.
            # (The one with the largest sum of log P would be the exact assignment again.)
            for i in range(rows):
                for j in range(columns):
                    cost[i, j] = 0.0
                for e in range(row_start[i], row_start[i + 1]):
                    cost[i, columns_of[e]] = -values[e]
            assign(cost, rows, columns, target, source, of_row, of_column, room)
        follow(points, a, b, rows, forward, target, lengths, farthest, partner, moved, squared, share, right)
    return unfinished


@njit(fastmath=FAST)
def squared_distances(points, here, rows, there, columns, lengths, farthest, coordinates, cost):
    """cost[i, j] = |x_i - y_j|^2 to the nearest image, at most farthest^2."""
    dim = points.shape[1]
    for k in range(dim):
        for i in range(rows):
            coordinates[0, k, i] = points[here + i, k]
        for j in range(columns):
            coordinates[1, k, j] = points[there + j, k]
    limit = farthest * farthest
    for i in range(rows):
        for k in range(dim):
            length = lengths[k]
            x = coordinates[0, k, i]
            if length > 0.0:
                for j in range(columns):
                    apart = coordinates[1, k, j] - x
                    apart -= length * np.rint(apart / length)
                    cost[i, j] = apart * apart if k == 0 else cost[i, j] + apart * apart
            else:
                for j in range(columns):
                    apart = coordinates[1, k, j] - x
                    cost[i, j] = apart * apart if k == 0 else cost[i, j] + apart * apart
        for j in range(columns):
            cost[i, j] = min(cost[i, j], limit)


@njit
def count_entries(cost, rows, columns, target, of_row, of_column, epsilon, row_start):
    """Number of kernel entries worth keeping; the first entry of each row goes into ``row_start``."""
    limit = NEGLIGIBLE * epsilon
    total = 0
    for i in range(rows):
        row_start[i] = total
        for j in range(columns):
            total += cost[i, j] - of_row[i] - of_column[j] <= limit or j == target[i]
    row_start[rows] = total
    return total


@njit
def fill_entries(cost, rows, columns, target, of_row, of_column, epsilon, values, columns_of):
    """The kernel exp(-(cost - of_row - of_column) / epsilon), row by row."""
    limit = NEGLIGIBLE * epsilon
    entry = 0
    for i in range(rows):
        for j in range(columns):
            excess = cost[i, j] - of_row[i] - of_column[j]
            if excess <= limit or j == target[i]:
                # rounding must not push a matched entry away from 1, however small epsilon
                values[entry] = 1.0 if j == target[i] or excess <= 0.0 else np.exp(-excess / epsilon)
                columns_of[entry] = j
                entry += 1


@njit
def group_by_column(rows, columns, row_start, columns_of, column_start, entry_of, row_of):
    """For each column its entries and their rows."""
    for j in range(columns + 1):
        column_start[j] = 0
    for e in range(row_start[rows]):
        column_start[columns_of[e] + 1] += 1
    for j in range(columns):
        column_start[j + 1] += column_start[j]
    for i in range(rows):
        for e in range(row_start[i], row_start[i + 1]):
            j = columns_of[e]
            entry_of[column_start[j]] = e
            row_of[column_start[j]] = i
            column_start[j] += 1
    for j in range(columns, 0, -1):
        column_start[j] = column_start[j - 1]
    column_start[0] = 0


@njit(fastmath=FAST)
def scale_to_plan(
    rows, columns, target, row_start, columns_of, values, column_start, entry_of, row_of, of_column, epsilon,
    tolerance, sweeps, scalings,
):  # fmt: skip
    """Scale the kernel in ``values`` to the plan: row sums 1, column sums 1 (at most 1 if columns are more).

    Scaling rows and columns in turn (Sinkhorn) is coordinate ascent of the dual problem. It is slow to carry weight
    between a row and the column it is matched to, so every sweep first ascends along those directions, each exactly:
    the row times s and its column divided by s, where s^2 is what others have in the column over what the row has
    elsewhere (Osborne's balancing). At the reference model's dt = 0.001 five sweeps do what 1000 did not.
    Where columns are more, the multiplier of a column has one sign, which bounds its scaling. Rows sum to 1 exactly
    in the end. Returns whether rows and columns were within the tolerance before the last scaling.
    A chain of particles that all moved by one place has scalings that grow along it; EXTREME keeps them finite.
    """
    by_row, by_column, totals, limits = scalings[0], scalings[1], scalings[2], scalings[3]
    for i in range(rows):
        by_row[i] = 1.0
    for j in range(columns):
        by_column[j] = 1.0
        limits[j] = np.inf if rows == columns else np.exp(min(-of_column[j] / epsilon, 700.0))
    reached = False
    largest = 1.0
    for sweep in range(sweeps):
        if largest > EXTREME:
            for i in range(rows):
                for e in range(row_start[i], row_start[i + 1]):
                    values[e] *= by_row[i] * by_column[columns_of[e]]
                by_row[i] = 1.0
            for j in range(columns):
                limits[j] /= by_column[j]
                by_column[j] = 1.0
        largest = 1.0
        for i in range(rows):
            at = target[i]
            elsewhere, others = 0.0, 0.0
            for e in range(row_start[i], row_start[i + 1]):
                if columns_of[e] != at:
                    elsewhere += values[e] * by_column[columns_of[e]]
            for c in range(column_start[at], column_start[at + 1]):
                if row_of[c] != i:
                    others += values[entry_of[c]] * by_row[row_of[c]]
            elsewhere *= by_row[i]
            others *= by_column[at]
            if elsewhere + others > 0.1 * tolerance:
                s = np.sqrt(max(others, 1e-12) / max(elsewhere, 1e-12))
                s = max(s, by_column[at] / limits[at])
                by_row[i] *= s
                by_column[at] /= s
        for j in range(columns):
            totals[j] = 0.0
        worst = 0.0
        for i in range(rows):
            total = 0.0
            for e in range(row_start[i], row_start[i + 1]):
                total += values[e] * by_column[columns_of[e]]
            worst = max(worst, abs(by_row[i] * total - 1.0))
            by_row[i] = 1.0 / total
            largest = max(largest, total, by_row[i])
            for e in range(row_start[i], row_start[i + 1]):
                totals[columns_of[e]] += values[e] * by_row[i]
        for j in range(columns):
            filled = by_column[j] * totals[j]
            if filled > 1.0 or rows == columns:
                worst = max(worst, abs(filled - 1.0))
        if worst <= tolerance:
            reached = True
            break
        if sweep < sweeps - 1:
            for j in range(columns):
                if totals[j] > 0.0:
                    by_column[j] = min(1.0 / totals[j], limits[j])
    for i in range(rows):
        for e in range(row_start[i], row_start[i + 1]):
            values[e] *= by_row[i] * by_column[columns_of[e]]
    return reached


@njit(fastmath=FAST)
def follow(points, a, b, rows, forward, target, lengths, farthest, partner, moved, squared, share, right):
    """Write where the matched particles went, and drop those that went too far."""
    dim = points.shape[1]
    limit = farthest * farthest
    for i in range(rows):
        j = target[i]
        f, t = (a + i, b + j) if forward else (a + j, b + i)
        distance = 0.0
        for k in range(dim):
            apart = points[t, k] - points[f, k]
            if lengths[k] > 0.0:
                apart -= lengths[k] * np.rint(apart / lengths[k])
            moved[f, k] = apart
            distance += apart * apart
        if distance <= limit:
            partner[f] = t - b
            squared[f] = distance
            share[f] = 1.0
            right[f] = 1.0 if i == j else 0.0
        else:
            for k in range(dim):
                moved[f, k] = 0.0


@njit(fastmath=FAST)
def follow_plan(
    points, a, n, b, rows, forward, row_start, columns_of, values, lengths, farthest, moved, squared, share, right
):
    """Write the mean displacement of each particle under the plan; too little matched within reach: dropped."""
    dim = points.shape[1]
    limit = farthest * farthest
    apart = np.empty(dim)
    for i in range(rows):
        for e in range(row_start[i], row_start[i + 1]):
            j = columns_of[e]
            f, t = (a + i, b + j) if forward else (a + j, b + i)
            distance = 0.0
            for k in range(dim):
                apart[k] = points[t, k] - points[f, k]
                if lengths[k] > 0.0:
                    apart[k] -= lengths[k] * np.rint(apart[k] / lengths[k])
                distance += apart[k] * apart[k]
            if distance <= limit:
                for k in range(dim):
                    moved[f, k] += values[e] * apart[k]
                squared[f] += values[e] * distance
                share[f] += values[e]
                right[f] += values[e] * (i == j)
    for f in range(a, a + n):
        scale = 1.0 / share[f] if share[f] >= HALF else 0.0
        for k in range(dim):
            moved[f, k] *= scale
        squared[f] *= scale
        right[f] *= scale
        share[f] = 1.0 if scale > 0.0 else 0.0
