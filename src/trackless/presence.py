"""Is a potential there at all? What a Bayes factor says, in one of three ways, and the same ways everywhere.

Clearly there; not decided, with the odds and which way they lean; or clearly not needed. A factor below 20 to 1 is no
word against a potential: 16 to 1 is for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trackless.basis import members_of
from trackless.estimators.least_squares import ranges_by_kinds
from trackless.evidence import log_bayes_factor, log_bayes_factor_of_all
from trackless.intensity import Sigma
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


def weighed(fitted: Any, resolved: bool) -> tuple[tuple[Any, Any], list[str]]:
    """Log Bayes factors of V and Phi (by species a tuple of them) of a fit by evidence, and what they say in words."""
    families = (fitted.external_basis_, fitted.interaction_basis_)
    units, known = fitted._units(fitted.moments_), fitted.posterior_
    if known is None:
        return (None, None), []
    factors: tuple[list[float], list[float]] = ([], [])
    sentences = []
    for member, seen in zip(members_of(families), ranges_by_kinds(families, fitted.explored_), strict=True):
        natural = _natural(fitted.sigma_, seen)
        factor = log_bayes_factor(units, families, known, member.role, member.kinds, natural)
        factors[member.role].append(factor)
        sentences.append(presence_of(member.role, member.kinds, factor, resolved))
    every = factors[0] + factors[1]
    if len(every) > 1 and max(every) < STRONG and log_bayes_factor_of_all(units, known) >= STRONG:
        sentences.append(
            "but there is a force: either potential can stand in for the other; leave one out if you know that it is "
            "not there (external=None, interaction=None)"
        )
    by_species = [family is not None and family.species is not None for family in families]
    found = [tuple(own) if several else (own or [None])[0] for own, several in zip(factors, by_species, strict=True)]
    return (found[0], found[1]), sentences


def _natural(sigma: Sigma, explored: Any) -> tuple[float, float] | None:
    """The energy of the noise, sigma^2/2 (kT, in a fluid), and the distance over which a potential is explored."""
    energy = 0.5 * float(np.mean(np.square(sigma)))
    distance = float(np.mean(np.subtract(explored[1], explored[0]))) if explored is not None else 0.0
    return (energy, distance) if energy > 0 and distance > 0 else None


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
