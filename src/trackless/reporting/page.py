"""The page: content as HTML. Styles and scripts are written into it, so that it needs nothing else.

Whatever comes from a user's files goes through :func:`text` or :func:`embedded`; a policy in the page's head lets the
browser run nothing but our own script and load nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from trackless.belonging import SHARED
from trackless.reporting import figures
from trackless.reporting.words import number, sentence, text
from trackless.validation import UNASKED

COMPARED = {
    "everything": "all of it together, by the topic that is farthest off",
    "pairs": "how many pairs of particles are how far from each other",
    "places": "how many particles are how far from the centre, their mean position and their spread",
    "motion": "how far the centre of mass moves, and how far particles get from where any was before: mostly σ",
}
MANY = 2  # sentences, which become a list if they are more
SCRIPTS = ("axes.js", "plot.js", "curves.js", "maps.js", "animation.js", "page.js")


def page(content: dict[str, Any]) -> str:
    """The page of a report as text, for what :func:`trackless.reporting.content.collect` says.

    Examples
    --------
    >>> import trackless as tl
    >>> from trackless.reporting.content import collect
    >>> model = tl.models.reference()
    >>> data = tl.simulate(model, runs=60, duration=0.3, step=1e-3)
    >>> fitted = tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    >>> made = page(collect(fitted, data, title="<b>Mine</b>", simulate=False))
    >>> "<h1>&lt;b&gt;Mine&lt;/b&gt;</h1>" in made
    True
    """
    style, script = _asset("report.css"), "\n".join(_asset(name) for name in SCRIPTS)
    drawn = {name: content[name] for name in ("potentials", "comparisons", "animation")}
    return Template(_asset("report.html")).substitute(
        title=text(content["title"]),
        source=_source(content["title"], content["source"], content["seen"]),
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}",
        style=style,
        script=script,
        data=embedded(drawn),
        equation=_equation(content["coupling"], *content["learnt"]),
        verdict=_verdict(content["warnings"], content["passed"], content["untested"]),
        facts="".join(
            f"<div><dt>{text(a)}</dt><dd>{_value(b)} <span>{text(c)}</span></dd></div>" for a, b, c in content["facts"]
        ),
        units=_units(content["seen"]),
        potentials="".join(figures.potential(one) for one in content["potentials"]),
        comparison=_comparison(content),
        animation=figures.animation(content["animation"]),
        limits=_limits(content),
        settings=_settings(content),
        software=text(content["software"]),
    )


def embedded(content: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element or begin another."""
    plain = json.dumps(content, separators=(",", ":"), allow_nan=False)  # all else than ASCII is written as an escape
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", plain)


@cache
def _asset(name: str) -> str:
    return (files("trackless.reporting") / "assets" / name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


def _source(title: str, names: list[str], seen: bool | str | None) -> str:
    """Where the data are from, unless the title says it already, and whether they are those of the fit."""
    named = bool(names) and not (len(names) == 1 and names[0] in title)
    said = f"Data: {text(', '.join(names))}. " if named else ""
    if seen == SHARED:
        said += "These data share snapshots with those of the fit: agreement with them is no proof."
    said += "These are not the snapshots of the fit." if seen is False else ""
    return f'<p class="source">{said.strip()}</p>\n' if said else ""


def _value(value: str) -> str:
    """A fact; a p-value is typeset as in sentences, and stays on its line."""
    return f"<b>{number(value)}</b>" if value.startswith("p ") else text(value)


def _units(seen: bool | str | None) -> str:
    """In which units everything is, and what of the facts is of these data where they are others."""
    said = [
        "Lengths and times are in the units of the data, energies (<i>V</i>, <i>Φ</i>) in squares of these lengths per "
        "time: those of particles with a friction of 1."
    ]
    if seen is False or seen == SHARED:
        said.append(
            "Runs, particles, time, space and the residual test are of the data shown here; the noise and the "
            "parameters are those of the fit, from its own data."
        )
    return f'<p class="note">{" ".join(said)}</p>'


def _equation(coupling: str, external: bool, interaction: bool) -> str:
    """The equation of motion that was fitted."""
    mean = "(1/<i>N</i>) " if coupling == "mean" else ""
    spoken = "d X i equals" + (" minus grad V of X i d t" if external else "")
    terms = "−∇<i>V</i>(<i>X<sub>i</sub></i>) d<i>t</i>" if external else ""
    if interaction:
        terms += (
            f" − {mean}Σ<sub><i>j</i>≠<i>i</i></sub> ∇<i>Φ</i>(<i>X<sub>i</sub></i> − <i>X<sub>j</sub></i>) d<i>t</i>"
        )
        spoken += f" minus {'the mean' if mean else 'the sum'} over the others of grad Phi of X i minus X j, d t"
    return (
        f'<p class="equation" role="math" aria-label="{spoken}, plus sigma d W i">d<i>X<sub>i</sub></i> = {terms} + '
        "<i>σ</i> d<i>W<sub>i</sub></i></p>"
    )


def _verdict(warnings: list[dict[str, str]], passed: list[str], untested: list[str]) -> str:
    """Warnings first; then what was tested; and why nothing was, where a validation could ask nothing."""
    parts = []
    if warnings:
        rows = "".join(
            f"<li><strong>{sentence(one['headline'])}</strong> {sentence(one['detail'])}</li>" for one in warnings
        )
        parts.append(f'<div class="panel warning" role="note"><h2>Read this first</h2><ul>{rows}</ul></div>')
    if passed:
        head = "Nothing speaks against this fit" if not warnings else "What speaks for it"
        rows = "".join(f"<li>{sentence(one)}</li>" for one in passed)
        parts.append(f'<div class="panel good"><h2>{head}</h2><ul>{rows}</ul></div>')
    if untested:
        rows = "".join(f"<li>{sentence(one)}</li>" for one in untested)
        head = "Nothing could be asked" if untested[0] == UNASKED else "Too little could be asked"
        parts.append(f'<div class="panel"><h2>{head}</h2><ul>{rows}</ul></div>')
    elif not warnings and not passed:
        said = "Whether the model is right was not tested: below, its predictions stand beside the data."
        parts.append(f'<div class="panel"><h2>Not tested</h2><ul><li>{said}</li></ul></div>')
    return "".join(parts)


def _comparison(content: dict[str, Any]) -> str:
    cards = "".join(figures.comparison(one, number) for number, one in enumerate(content["comparisons"]))
    cards = figures.single(content["single"]) + cards if content["single"] else cards
    return f'{_said(content["comparison_sentences"])}{_p_values(content)}<div class="cards">{cards}</div>'


def _p_values(content: dict[str, Any]) -> str:
    """p-values, what each of them is about, and how small they can be."""
    if not content["p_values"]:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{number(value)}</td>'
        f'<td class="words">{text(COMPARED.get(name, ""))}</td></tr>'
        for name, value in content["p_values"]
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("compared", "p-value"))
    head += '<th scope="col" class="words">what it is about</th>'
    note = (
        "A p-value is how often a right model is at least as far off as this one. The smallest that so many "
        f"simulations can give is {number(content['smallest_p'])}, which stands for that or less."
    )
    return (
        f'<div class="scroll values"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="note">{note}</p>'
    )


def _limits(content: dict[str, Any]) -> str:
    parts = []
    for head, sentences in (
        ("Decided on the way, and left out", content["decisions"]),
        ("What the data cannot tell", content["identifiability"]),
        ("Noise", [content["noise"]]),
    ):
        if sentences:
            parts.append(f"<h3>{head}</h3><ul>{''.join(f'<li>{sentence(one)}</li>' for one in sentences)}</ul>")
    if content["numbers"]:
        rows = "".join(
            f'<tr><th scope="row">{text(a)}</th><td>{text(b)}</td><td class="words">{text(c)}</td></tr>'
            for a, b, c in content["numbers"]
        )
        parts.append(
            '<details><summary>In numbers</summary><div class="scroll">'
            f"<table><tbody>{rows}</tbody></table></div></details>"
        )
    return "".join(parts)


def _settings(content: dict[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td class="words"><code>{text(value)}</code></td></tr>'
        for name, value in content["settings"]
    )
    return (
        f'<pre tabindex="0"><code>{text(content["code"])}</code></pre><details><summary>All settings</summary>'
        f'<div class="scroll" tabindex="0"><table><tbody>{rows}</tbody></table></div></details>'
    )


def _said(sentences: list[str]) -> str:
    if len(sentences) > MANY:
        return f"<ul>{''.join(f'<li>{sentence(one)}</li>' for one in sentences)}</ul>"
    return "".join(f"<p>{sentence(one)}</p>" for one in sentences)
