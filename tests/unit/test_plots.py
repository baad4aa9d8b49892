"""Pictures: what was learnt, and what was not, look different."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import trackless as tl
from trackless.plots import fit_figure, slope


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


def test_on_a_line_the_data_do_not_seem_to_thin_out_at_distance_0():
    potential = tl.models.reference().interaction
    distances = np.abs(np.random.default_rng(0).normal(size=20000))
    heights = []
    for dim in (1, 2):
        axis = slope(Figure().subplots(), {"learnt": potential}, distances, dim=dim)
        hill = axis.collections[-1].get_paths()[0].vertices
        bottom = axis.get_ylim()[0]
        height = hill[:, 1] - bottom
        heights.append(height[hill[:, 0] < 0.01].max() / height.max())
    assert heights[0] > 0.97
    assert heights[1] < 0.7


def test_curves_that_could_not_be_told_apart_are_refused():
    potential = tl.models.reference().interaction
    curves = {f"fit {k}": potential for k in range(6)}
    with pytest.raises(tl.InputError, match="at most 5 can be told apart in one picture, got 6"):
        slope(Figure().subplots(), curves, np.linspace(0.1, 2.0, 50))


def test_dates_of_fonts_are_nobodys_concern(tmp_path):
    """The prime of V' is from a font that was made before there were dates; users see what a new process says."""
    script = (
        "from matplotlib.figure import Figure; from trackless.plots import save_figure; figure = Figure(); "
        "figure.subplots().set_title(\"$V'$\"); save_figure(figure, 'figure.pdf')"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (tmp_path / "figure.pdf").exists()
    assert done.stderr == ""


def test_a_map_is_veiled_where_there_were_hardly_any_data():
    data = tl.simulate(tl.models.anisotropic(), runs=10, step=2e-3, observe_every=0.02)
    fitted = tl.SelfTest(tl.TensorSplines(6), None, sigma=1.0, regularization=1e-3).fit(data)
    figure = fit_figure({"learnt": fitted}, data)
    axis = figure.axes[1]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["hardly any data there"]
    (key,) = axis.child_axes
    assert key.get_ylabel() == "$V$, lowest at 0"
    figure.canvas.draw()
    ticks = key.get_yticks()
    assert np.allclose(ticks, np.round(ticks, 1))
    assert ticks.max() <= key.get_ylim()[1]
