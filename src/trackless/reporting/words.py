"""Sentences as a page shows them: symbols instead of their names, escaped."""

from __future__ import annotations

import re
from html import escape

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SHOUTED = r"\b[A-Z]{2,}(?:[ -][A-Z]{2,})+\b"  # what stands out in a terminal stands in a coloured box here
SYMBOLS = (
    (r"\bsigma\^2\b(?!=)", "σ²"),
    (r"\bsigma\b(?!\^)(?!=)", "σ"),  # sigma='diagonal' is something to type
    (r"\bPhi\b", "Φ"),
    (r"(?<=[VΦ])'", "′"),
    (r" \+- ", "\u00a0±\u00a0"),
    (r"(?<=\d) ?%", "\u00a0%"),  # nobody wants to read a lone % on the next line
)


def text(words: object) -> str:
    """Words of whatever origin, so that a browser shows them and does nothing else with them.

    Examples
    --------
    >>> text("<script>alert('a & b')</script>")
    '&lt;script&gt;alert(&#x27;a &amp; b&#x27;)&lt;/script&gt;'
    """
    readable = str(words).encode("utf-8", "replace").decode()  # file names may hold bytes that are no text
    return escape(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", readable))


def number(value: str) -> str:
    r"""A number, or words with one, with symbols, on one line; escaped.

    Examples
    --------
    >>> number("p = 8.4e-12")
    'p\xa0=\xa08.4\xa0×\xa010⁻¹²'
    """
    return text(_typeset(value).replace(" ", "\u00a0"))


def _typeset(words: str) -> str:
    """Powers of ten as they are written by hand."""
    words = re.sub(r"\b10\^(-?\d+)", lambda found: f"10{found[1].translate(RAISED)}", words)
    power = r"(?<=\d)e([+-]\d\d+)\b"
    return re.sub(power, lambda found: f"\u00a0×\u00a010{str(int(found[1])).translate(RAISED)}", words)


def sentence(words: str) -> str:
    r"""What a fit said, as a sentence with symbols; escaped.

    Examples
    --------
    >>> sentence("sigma = 1.01 +- 0.02, Phi' is known")
    'σ = 1.01\xa0±\xa00.02, Φ′ is known.'
    >>> sentence("there is an interaction: Bayes factor 10^69 against none")
    'There is an interaction: Bayes factor 10⁶⁹ against none.'
    >>> sentence("THE MODEL DOES NOT FIT: inertia")
    'The model does not fit: inertia.'
    >>> sentence("p = 2e-05")
    'P = 2\xa0×\xa010⁻⁵.'
    """
    words = re.sub(SHOUTED, lambda found: found[0].lower(), words)
    for pattern, symbol in SYMBOLS:
        words = re.sub(pattern, symbol, words)
    words = _typeset(words).strip()
    if not words.startswith("σ"):
        words = words[:1].upper() + words[1:]
    return text(words if words.endswith((".", "!", "?")) else f"{words}.")
