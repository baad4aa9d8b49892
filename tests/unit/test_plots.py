"""Pictures: what was learnt, and what was not, look different."""

import numpy as np
from matplotlib.figure import Figure

import trackless as tl
from trackless.plots import slope


def test_a_curve_is_faint_where_there_were_no_data():
    potential = tl.models.reference().interaction
    distances = np.linspace(1.0, 2.0, 500)
    axis = slope(Figure().subplots(), {"learnt": potential}, distances)
    lines = {line.get_label(): line for line in axis.get_lines()}
    drawn = {name: line.get_xdata()[np.isfinite(line.get_ydata())] for name, line in lines.items() if name[0] != "_"}
    assert drawn["learnt"].min() >= 1.0
    assert drawn["no data there"].max() < 1.01
    assert lines["no data there"].get_linestyle() == ":"
    everywhere = slope(Figure().subplots(), {"learnt": potential}, np.linspace(0.0, 2.0, 500))
    assert "no data there" not in [line.get_label() for line in everywhere.get_lines()]
