"""Figures of the page: what stands around each plot, and the table behind it. Scripts draw the plots themselves."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

from trackless.reporting.words import sentence, text

LENGTHS = "lengths are in units of the data"
UNITS = f"{LENGTHS}, potentials in squares of its lengths per time"
ROWS = 21  # of a table behind a plot; the whole is in its CSV file


def potential(one: dict[str, Any]) -> str:
    """The card of a potential."""
    if one["form"] == "none":
        head = f"<figcaption><h3>{_name(one)}</h3></figcaption>"
        return f'<figure class="card {one["role"]}">{head}<p>{sentence(one["sentence"])}</p></figure>'
    return _radial(one) if one["form"] == "radial" else _map(one)


def _unseen(one: dict[str, Any]) -> str:
    return f'<p class="note">{sentence(one["outside"])}</p>' if one["outside"] else ""


def _name(one: dict[str, Any]) -> str:
    return f"{text(one['title'])} <var>{one['letter']}</var>"


def _radial(one: dict[str, Any]) -> str:
    legend = '<li class="line">learnt</li>'
    legend += '<li class="band">95 % band</li>' if one["banded"] else ""
    legend += '<li class="hill">where the data were</li>'
    place = ""
    if one["center"] is not None:
        place = f" about ({', '.join(f'{x:.4g}' for x in one['center'])})"
    low, high = one["ends"]
    label = f"{one['title']}, {one['letter']}, against the distance, from {low:.3g} to {high:.3g}"
    slider = _slider(f"Read {one['title']} at a distance", len(one["columns"]["r"]))
    said = UNITS + ("; lower and upper: ends of the 95 % band" if one["banded"] else "")
    files = _files(one["title"], said)
    return _card(
        one["id"], one["role"], _name(one) + place, legend, label, slider, _table(one), files, _unseen(one),
    )  # fmt: skip


def _map(one: dict[str, Any]) -> str:
    legend = '<li class="key">size of the slope</li><li class="veil">pale: hardly any data</li>'
    label = f"{one['title']}, {one['letter']}, as a map of the plane"
    sliders = "".join(
        _slider(f"Read {one['title']} at {name}", len(one[axis]), name)
        for axis, name in zip("xy", one["axes"], strict=True)
    )
    files = _files(one["title"], UNITS)
    classes = f"{one['role']} map"
    return _card(one["id"], classes, _name(one), legend, label, sliders, _grid_table(one), files, _unseen(one))


def comparison(one: dict[str, Any], number: int) -> str:
    """The card of an observed and a predicted density."""
    legend = '<li class="points">observed</li>'
    if one["predicted"] is not None:
        legend += f'<li class="line">predicted</li><li class="band">{one["within"]} range</li>'
    rows = zip(
        *(_numbers(one[name]) for name in ("observed", "predicted", "lower", "upper") if one[name] is not None),
        strict=True,
    )
    edges = one["edges"]
    ranges = [f"{_short(a)} to {_short(b)}" for a, b in pairwise(edges)]
    head = ["distance", "observed", "predicted", f"{one['within']} from", f"{one['within']} to"][
        : 5 if one["predicted"] is not None else 2
    ]
    table = _rows(head, [[name, *row] for name, row in zip(ranges, rows, strict=True)])
    slider = _slider(f"Read {one['label']} at a distance", len(one["observed"]))
    label = f"{one['label']}: observed" + (" and predicted density" if one["predicted"] is not None else " density")
    said = LENGTHS
    if one["predicted"] is not None:
        said += f"; lower and upper: ends of the range that holds a right model in {one['within']} of cases"
    files = _files(one["label"], said)
    return _card(f"comparison-{number}", "predicted", text(one["label"]), legend, label, slider, table, files)


def single(shown: dict[str, Any]) -> str:
    """The card of single numbers: each as observed on the range that is predicted."""
    head = ["number", "observed on the range", "observed", f"{shown['within']} from", f"{shown['within']} to"]
    top = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    rows = "".join(
        f'<tr><th scope="row">{sentence(one["text"]).removesuffix(".")}</th><td>{_mark(one)}</td>'
        + "".join(f"<td>{text(_short(one[name]))}</td>" for name in ("observed", "lower", "upper"))
        + "</tr>"
        for one in shown["rows"]
    )
    title = "Farthest off, and motion" if shown["failed"] else "Motion"
    legend = f'<li class="points">observed</li><li class="band">predicted, {shown["within"]} range</li>'
    return f"""
<figure class="card predicted single" id="single">
<figcaption><h3>{title}</h3></figcaption>
<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table></div>
<ul class="legend">{legend}</ul>
</figure>"""


def _mark(one: dict[str, Any]) -> str:
    """A range, and a point where the observed number is; hidden from readers of the numbers beside it."""
    return (
        '<svg class="mark" viewBox="-5 -1 10 2" width="120" height="24" aria-hidden="true">'
        '<rect class="band" x="-1" y="-0.7" width="2" height="1.4"/>'
        f'<circle class="point" cx="{one["off"]:.3f}" cy="0" r="0.35"/></svg>'
    )


def _files(title: str, said: str) -> str:
    """How files of a figure are called, and what the first line of a table says."""
    name = re.sub("[^a-z0-9]+", "-", title.lower()).strip("-") or "values"
    return f'data-file="{name}" data-said="{text(said)}"'


def _card(
    name: str, classes: str, title: str, legend: str, label: str, slider: str, table: str, files: str, note: str = ""
) -> str:
    return f"""
<figure class="card {classes}" id="{name}" {files}>
<figcaption><h3>{title}</h3>
<p class="tools"><button type="button" data-save="csv">CSV</button>
<button type="button" data-save="svg">SVG</button></p></figcaption>
<p class="readout">&nbsp;</p>
<div class="plot" role="img" aria-label="{text(label)}"></div>
{slider}
<ul class="legend">{legend}</ul>{note}
<details><summary>Table of values</summary><div class="scroll" tabindex="0">{table}</div></details>
</figure>"""


def _slider(label: str, count: int, shown: str = "") -> str:
    mark = f"<span>{shown}</span>" if shown else ""
    ends = f'min="0" max="{count - 1}" value="{count // 2}"'
    return f'<label class="cursor">{mark}<input type="range" {ends} aria-label="{text(label)}"></label>'


def _table(one: dict[str, Any]) -> str:
    columns, letter = one["columns"], one["letter"]
    names = {"r": one["distance"], "profile": letter, "slope": f"{letter}′"}
    chosen = np.unique(np.linspace(0, len(columns["r"]) - 1, ROWS).round().astype(int)).tolist()
    head = [names["r"]]
    body = [[_short(columns["r"][k])] for k in chosen]
    for name in ("slope", "profile"):
        head += [names[name], "95 % band"] if one["banded"] else [names[name]]
        for row, k in zip(body, chosen, strict=True):
            row.append(_short(columns[name][k]))
            if one["banded"]:
                lower, upper = columns[f"{name}_lower"][k], columns[f"{name}_upper"][k]
                row.append("unknown" if lower is None or upper is None else f"{_short(lower)} to {_short(upper)}")
    return _rows(head, body)


def _grid_table(one: dict[str, Any]) -> str:
    """Values on every eighth column and row of the map."""
    xs, ys = (list(range(0, len(one[axis]), 9)) for axis in ("x", "y"))
    first, second = one["axes"]
    head = [f"{one['letter']} at {second} \\ {first}", *(_short(one["x"][i]) for i in xs)]
    body = [[_short(one["y"][j]), *(_short(one["columns"]["value"][j][i]) for i in xs)] for j in reversed(ys)]
    return _rows(head, body)


def _rows(head: list[str], body: list[list[str]]) -> str:
    top = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    rows = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>{"".join(f"<td>{text(cell)}</td>" for cell in row[1:])}</tr>'
        for row in body
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _numbers(values: list[float | None]) -> list[str]:
    return [_short(value) for value in values]


def _short(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}".replace("-", "−")


def animation(shown: dict[str, Any]) -> str:
    """Two pictures side by side, and what plays them."""
    last = len(shown["times"]) - 1
    panels = "".join(
        f"<figure><figcaption>{name}</figcaption>"
        f'<canvas data-frames="{key}" role="img" aria-label="{name} particles"></canvas></figure>'
        for key, name in (("observed", "Observed"), ("simulated", "Simulated"))
        if shown[key] is not None
    )
    kinds = "".join(f'<li class="kind-{k % 5}">{text(name)}</li>' for k, name in enumerate(shown["species"]))
    said = " ".join(sentence(one) for one in shown["sentences"])
    controls = f"""
<div class="player">
<button type="button" id="play">Play</button>
<input type="range" id="scrub" min="0" max="{last}" value="0" aria-label="Time of the snapshot">
<output id="time" for="scrub"></output>
</div>"""
    legend = f'<ul class="legend">{kinds}</ul>' if kinds else ""
    return f'<div class="movie">{panels}</div>{controls if last else ""}{legend}<p class="note">{said}</p>'
