"""Products of many rows, summed over columns: the quadratic part of every moment."""

from __future__ import annotations

from numba import njit

from trackless._kernels import FAST


@njit(fastmath=FAST)
def add_products(rows, columns, sums):
    """sums[a, b] += sum over columns of rows[a] rows[b], in 4 x 4 tiles up to the diagonal.

    Both arrays have a multiple of 4 rows; the spare ones stay 0.
    """
    size = sums.shape[0]
    for a in range(0, size, 4):
        for b in range(0, a + 1, 4):
            t00 = t01 = t02 = t03 = t10 = t11 = t12 = t13 = 0.0
            t20 = t21 = t22 = t23 = t30 = t31 = t32 = t33 = 0.0
            for c in range(columns):
                a0, a1, a2, a3 = rows[a, c], rows[a + 1, c], rows[a + 2, c], rows[a + 3, c]
                b0, b1, b2, b3 = rows[b, c], rows[b + 1, c], rows[b + 2, c], rows[b + 3, c]
                t00 += a0 * b0
                t01 += a0 * b1
                t02 += a0 * b2
                t03 += a0 * b3
                t10 += a1 * b0
                t11 += a1 * b1
                t12 += a1 * b2
                t13 += a1 * b3
                t20 += a2 * b0
                t21 += a2 * b1
                t22 += a2 * b2
                t23 += a2 * b3
                t30 += a3 * b0
                t31 += a3 * b1
                t32 += a3 * b2
                t33 += a3 * b3
            tile = ((t00, t01, t02, t03), (t10, t11, t12, t13), (t20, t21, t22, t23), (t30, t31, t32, t33))
            for i in range(4):
                for j in range(4):
                    sums[a + i, b + j] += tile[i][j]
