"""Python modules that are written for others: a docstring that says what was done, and numbers."""

from __future__ import annotations

from textwrap import fill

import numpy as np

from trackless.exporting.learnt import Learnt
from trackless.exporting.names import comment
from trackless.potentials import Array


def module_text(learnt: Learnt, what: str, body: str) -> str:
    """A docstring with everything that the header of an export says, and the body."""
    lines = [f"{comment(line).rstrip('.')}." for line in learnt.header()]
    # the one thing that ends a docstring, or starts an escape in it
    said = [fill(line.replace("\\", "/").replace('"""', "'''"), 110) for line in (what, *lines)]
    return '"""' + "\n\n".join(said) + '\n"""\n' + body


def numbers(values: Array) -> str:
    """A list of numbers in full precision, a few in a line."""
    flat = [repr(value) for value in np.asarray(values, float).tolist()]
    return "[\n" + "".join(f"        {', '.join(flat[k : k + 5])},\n" for k in range(0, len(flat), 5)) + "    ]"
