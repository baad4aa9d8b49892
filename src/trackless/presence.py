"""Is a potential there at all? What a Bayes factor says, in one of three ways, and the same ways everywhere.

Clearly there; not decided, with the odds and which way they lean; or clearly not needed. A factor below 20 to 1 is no
word against a potential: 16 to 1 is for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trackless.mixtures import Kinds, in_words, listed

STRONG = 3.0  # log Bayes factor from which on a potential counts as seen, or as not needed (20 to 1)
EVEN = 0.4  # below, odds (of 1.5 to 1) lean to neither side
OVERWHELMING = 100 * np.log(10)  # no reader needs more digits


def presence(name: str, factor: float, resolved: bool = True) -> str:
    """What a log Bayes factor for a potential against none says, in words.

    Parameters
    ----------
    name : str
        "interaction" or "external potential", and of which kinds.
    factor : float
    resolved : bool
        Whether the snapshots are known to be close enough in time.

    Examples
    --------
    >>> presence("interaction", 160.0)
    'there is an interaction: Bayes factor 10^69 against none'
    >>> presence("interaction", 4429.0)
    'there is an interaction: overwhelming (Bayes factor above 10^100)'
    >>> presence("external potential", 2.77)
    'an external potential is likely, but not decided: odds are 15 to 1 for it (20 to 1 would be clear)'
    >>> presence("interaction", -1.62)
    'no interaction can be seen, but that is not decided: odds are 5.1 to 1 against one (20 to 1 would be clear)'
    >>> presence("interaction", 0.1)
    'no interaction can be seen, and none is ruled out: odds are even'
    >>> presence("interaction", -4.0)
    'no interaction is needed: odds are 54 to 1 against one'
    """
    if factor >= OVERWHELMING:
        return f"there is an {name}: overwhelming (Bayes factor above 10^100)"
    if factor >= STRONG:
        return f"there is an {name}: Bayes factor {_odds(factor)} against none"
    clear = f"({np.exp(STRONG):.0f} to 1 would be clear)"
    if factor > EVEN:
        return f"an {name} is likely, but not decided: odds are {_odds(factor)} to 1 for it {clear}"
    if factor >= -EVEN:
        return f"no {name} can be seen, and none is ruled out: odds are even"
    if factor > -STRONG:
        return f"no {name} can be seen, but that is not decided: odds are {_odds(factor)} to 1 against one {clear}"
    if not resolved:  # what integrals over coarse intervals get wrong may look like the absence of a potential
        return (
            f"no {name} can be seen, but that is not decided: odds are {_odds(factor)} to 1 against one, if the "
            "snapshots are close enough in time, which is not known"
        )
    return f"no {name} is needed: odds are {_odds(factor)} to 1 against one"


def presence_of(role: int, kinds: Kinds, factor: float, resolved: bool = True) -> str:
    """The same of V (role 0) or Phi (1), of some kinds."""
    name = ("external potential", "interaction")[role]
    return presence(f"{name} {('for', 'of')[role]} {in_words(kinds)}" if kinds else name, factor, resolved)


def factors_of(fitted: Any) -> Iterator[tuple[int, Kinds, float]]:
    """Role, kinds and log Bayes factor of each potential of a fit that was asked for them."""
    findings = getattr(fitted, "findings_", None)
    if findings is None:
        return
    for role, own in enumerate((fitted.external_, fitted.interaction_)):
        factors = findings.log_bayes_factors[role]
        each = factors if isinstance(factors, tuple) else (factors,)
        for (kinds, _), factor in zip(listed(own), each, strict=False):
            if factor is not None:
                yield role, kinds, factor


def leans_towards(factor: float) -> bool:
    """Whether the odds are for a potential, though not clearly."""
    return EVEN < factor < STRONG


def _odds(factor: float) -> str:
    """Odds on the side that they lean to; never rounded up to those that would be clear."""
    size = abs(factor)
    if size > 9:
        return f"10^{size / np.log(10):.0f}"
    odds = float(np.exp(size))
    return f"{np.floor(odds):.0f}" if odds >= 10 else f"{odds:.2g}"
