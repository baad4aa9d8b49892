"""results/: CSV files, figures, and a page to read from top to bottom, made of the sections that are there."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from trackless._errors import InputError
from trackless.files.atomic import replacing
from trackless.reproduce import EXPERIMENTS
from trackless.reproduce.protocol import FULL, QUICK
from trackless.reproduce.provenance import PROTOCOLS
from trackless.reproduce.sections import Claim, Section

CONTENT, PAGE = "sections.json", "README.md"
NEEDED = {"about", "title", "text", "tables", "figures", "counts", "claims"}
HEADING = "# The paper's tables and figures, computed again"
SUMMARIES = {
    "agree": "Under the paper's protocol {number} of {total} cells ({share}) of labeled MLE, Sinkhorn MLE and "
    "self-test least squares are within twice the combined standard deviation (of single trials) of the published "
    "mean ({each}); of the others it is measured, below their tables, what they hang on.",
    "alike": "That is the scatter of one set of runs. Of the means over all sets {number} of {total} ({share}) are "
    "within two standard errors of each other: small differences of protocol, which the paper leaves open, show there.",
    "won": "At its best ours is better than the paper's best method without labels, or within two standard errors of "
    "it, in {number} of {total} cells ({share}) of Tables 2 and 4: true functions against true functions, `tl.fit` "
    "against networks.{but}",
    "steps": "There ours has as many runs, but other ones, simulated accurately. Estimated in the same way from a set "
    "of runs simulated in steps of 1e-4, as the paper's, it is better or within two standard errors in {number} of "
    "{total} ({share}).",
}
"""What is counted over all tables, in sentences."""
INTRODUCTION = """
Y. Wei and F. Lu, *Learning interacting particle systems from unlabeled data* (2026). Everything below was simulated,
fitted and drawn by `trackless reproduce`; only the paper's own numbers were taken from elsewhere (they are in
`src/trackless/reproduce/published.csv`). Errors are relative L2(rho) errors of gradients in %.

Three numbers stand beside each other: the **paper's**; **ours under the paper's protocol** (the same estimators, steps
of 1e-4, L-curve, {trials} sets of {runs} runs); and **ours at its best**, which may do anything but look at the truth:
it is fitted to the same number of runs, simulated accurately, with the cubic rule, without the times that the snapshots
do not resolve, with bias removed by simulation at coarse intervals (but for the smoothness and the singular model,
whose forces need steps so small that it would take ten minutes a set), and without a basis through `tl.fit`, which is
told what the paper's networks are told: sigma, and that potentials are radial. Sets at its best: {best_trials}, of
{runs} runs each. Errors are weighted with the density of 1000 runs at dt = 0.001 (the paper's has 20 000).
"""
QUICK_LOOK = """**This is a quick look** (`--quick`), with far fewer runs than the paper had: it shows that everything
works and in which order the methods come, not whether numbers agree, and nothing below is a verdict.
`trackless reproduce all` computes the real page.
"""
RULE = (
    "What the paper says is asked of its own protocol, in all the cells that it is said of: it does not hold where the "
    "means over the sets contradict it by more than two standard errors. In brackets is what was measured, also "
    "otherwise."
)
HEADS = {
    False: ("It holds:", "It does not hold here:"),
    True: ("So it looks here, too:", "So few runs do not show it:"),
}
"""Over claims that hold and that do not, on the real page and in a quick look."""


def write_section(folder: Path, name: str, section: Section, about: dict[str, Any]) -> None:
    """Its tables and figures as files, and its text for the page."""
    for table in section.tables:
        with replacing(folder / f"{table.name}.csv", overwrite=True) as temporary:
            temporary.write_text(table.csv())
    for file, figure in section.figures.items():
        for ending in ("png", "pdf"):
            with replacing(folder / f"{file}.{ending}", overwrite=True) as temporary:
                figure.savefig(temporary, dpi=160)
    content = _content(folder)
    content[name] = {
        "about": about,
        "title": section.title,
        "text": list(section.text),
        "tables": [{"name": table.name, "markdown": table.markdown()} for table in section.tables],
        "figures": list(section.figures),
        "counts": {kind: list(count) for kind, count in section.counts.items()},
        "lost": list(section.lost),
        "claims": [[claim.text, bool(claim.holds), claim.evidence] for claim in section.claims],
    }
    with replacing(folder / CONTENT, overwrite=True) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n")


def check_page(folder: Path) -> None:
    """Refuse, before any work, a folder whose page is not ours: it would be written over."""
    page = folder / PAGE
    if not _content(folder) and page.exists() and not page.read_text(errors="replace").startswith(HEADING):
        raise InputError(f"{page} is none of this program's pages and would be written over; give another --output")


def protocol_on(folder: Path) -> str | None:
    """Which protocol the page in a folder was computed with, "quick" or "full"; None where there is no page."""
    return next((_protocol(section) for section in _content(folder).values()), None)


def write_page(folder: Path) -> Path:
    """The page of all sections that are there."""
    content = _content(folder)
    there = [name for name in EXPERIMENTS if name in content]
    quick = protocol_on(folder) == PROTOCOLS[True]
    claims = [Claim(*claim) for name in there for claim in content[name]["claims"]]
    lines = [
        HEADING, INTRODUCTION.format(**asdict(QUICK if quick else FULL)), *([QUICK_LOOK] if quick else []),
        *_in_short([content[name] for name in there], quick),
        *_conclusions(claims, HEADS[quick], () if quick else (RULE, "")),
    ]  # fmt: skip
    for name in there:
        lines += _section(content[name], name)
    page = folder / PAGE
    with replacing(page, overwrite=True) as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n")
    return page


def _in_short(sections: list[dict[str, Any]], quick: bool) -> list[str]:
    """How often ours is as published, and how often it is better, over all tables; what it took."""
    lines = []
    lost = [said for section in sections for said in section.get("lost", ())]
    but = f" The others are {'; '.join(lost)}." if lost else ""
    for kind, said in SUMMARIES.items() if not quick else ():
        counts = [section["counts"][kind] for section in sections if kind in section["counts"]]
        if counts:
            number, total = np.sum(counts, axis=0).tolist()
            share = f"{number / max(total, 1):.0%}"
            each = ", ".join(_count_of(section, kind) for section in sections if kind in section["counts"])
            lines.append(f"- {said.format(number=number, total=total, share=share, but=but, each=each)}")
    costs = [section["about"] for section in sections]
    minutes = sum(cost.get("own minutes", cost["minutes"]) for cost in costs)  # older pages do not know their own
    memory = max((section["about"]["peak memory"] for section in sections), default=0.0)
    machine = ", ".join({section["about"]["machine"]: None for section in sections})
    spent = f"{minutes / 60:.1f} hours" if minutes >= 60 else f"{minutes:.0f} minutes"
    lines.append(f"- Computed in {spent} on {machine}; peak memory {memory:.1f} GB.")
    return ["## In short", "", *lines, ""]


def _count_of(section: dict[str, Any], kind: str) -> str:
    """Of one section, by the table that its title names in brackets."""
    number, total = section["counts"][kind]
    table = section["title"].partition("(")[2].partition(",")[0].rstrip(")") or section["title"]
    return f"{table}: {number} of {total}"


def _conclusions(claims: list[Claim], heads: tuple[str, str], rule: tuple[str, ...]) -> list[str]:
    lines = ["## What the paper concludes, and whether it is so", "", *rule]
    for title, chosen in zip(heads, ([c for c in claims if c.holds], [c for c in claims if not c.holds]), strict=True):
        if chosen:
            lines += [title, "", *(f"- {claim.text} ({claim.evidence})" for claim in chosen), ""]
    return lines


def _section(content: dict[str, Any], name: str) -> list[str]:
    about = content["about"]
    lines = [f"## {content['title']}", ""]
    for paragraph in content["text"]:
        lines += [paragraph, ""]
    for figure in content["figures"]:
        lines += [f"![{content['title']}]({figure}.png)", ""]
    for table in content["tables"]:
        lines += [table["markdown"], "", f"[{table['name']}.csv]({table['name']}.csv)", ""]
    where = f"trackless {about['version']}, commit {about['commit']}"
    minutes, own = about["minutes"], about.get("own minutes", about["minutes"])
    shared = "" if own == minutes else f" ({own} without what sections above needed, too)"
    cost = f"{about['machine']}, {minutes} minutes{shared}, peak memory {about['peak memory']} GB"
    return [*lines, f"*`trackless reproduce {name}`, {about['date']}, {where}; {cost}.*", ""]


def _protocol(section: dict[str, Any]) -> str:
    return section["about"].get("protocol", PROTOCOLS[False])  # older pages do not say: only full ones were kept


def _content(folder: Path) -> dict[str, Any]:
    path = folder / CONTENT
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text())
        if isinstance(content, dict) and all(section.keys() >= NEEDED for section in content.values()):
            return content
    except (OSError, ValueError, AttributeError):  # not text, not JSON, or JSON of something else
        pass
    raise InputError(f"{path} is damaged, or not of this program; delete it (--resume then writes it again), or give "
                     "another --output")  # fmt: skip
