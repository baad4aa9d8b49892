"""The paper's tables and figures, from simulation to picture: one module each, all on the public interface.

A module has a ``TITLE``, says with ``parts(context)`` what has to be computed (pieces of work that are kept on disk, so
that an interrupted run goes on where it was) and makes of it a :class:`trackless.reproduce.sections.Section` with
``section(context)``.
"""

from __future__ import annotations

EXPERIMENTS = (
    "method_comparison",
    "boundary",
    "recovery",
    "all_methods",
    "sample_size",
    "discrete_bias",
    "condition_numbers",
    "error_bound",
    "non_radial",
    "complexity",
)
"""In the order of the page; ``trackless reproduce NAME``."""
