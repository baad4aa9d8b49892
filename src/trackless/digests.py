"""A short text for a value: the same for equal values in every process, and for others a different one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np


def digest(value: Any) -> str:
    """Of numbers, text, arrays, containers and objects made of them; functions count by what they are.

    Examples
    --------
    >>> import numpy as np
    >>> digest([1, "a", np.arange(3.0)]) == digest([1, "a", np.arange(3.0)])
    True
    >>> digest(1) == digest(1.0)
    False
    """
    found = hashlib.blake2b(digest_size=12)
    known: dict[int, tuple[Any, bytes]] = {}
    for part in _bytes_of(value, known):
        found.update(part)
    return found.hexdigest()


def _bytes_of(value: Any, known: dict[int, tuple[Any, bytes]]) -> Iterable[bytes]:
    yield f"<{type(value).__name__}".encode()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield repr(value).encode()
    elif isinstance(value, (np.ndarray, np.generic)):
        yield f"{value.dtype}{value.shape}".encode()
        if id(value) not in known:  # tasks share their weights
            known[id(value)] = value, hashlib.blake2b(np.ascontiguousarray(value).data, digest_size=12).digest()
        yield known[id(value)][1]
    else:
        for part in _inside(value):
            yield from _bytes_of(part, known)
    yield b">"


def _inside(value: Any) -> Iterable[Any]:
    """What a value is made of."""
    if hasattr(value, "__code__"):
        return _of_function(value)
    if isinstance(value, Mapping):
        return (part for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if hasattr(value, "fingerprint"):  # data
        return (value.fingerprint(),)
    if is_dataclass(value) and not isinstance(value, type):
        return (getattr(value, field.name) for field in fields(value))
    if hasattr(value, "__qualname__"):  # a class, a method of C
        return (value.__qualname__,)
    return (vars(value) if hasattr(value, "__dict__") else repr(value),)


def _of_function(value: Any) -> Iterable[Any]:
    """Its name; of those that are not ours also its code, and what it was made with."""
    if value.__module__.startswith("trackless."):
        return value.__module__, value.__qualname__
    code, closed = value.__code__, [cell.cell_contents for cell in value.__closure__ or ()]
    constants = [repr(constant) for constant in code.co_consts if not hasattr(constant, "co_code")]
    return value.__module__, value.__qualname__, code.co_code.hex(), constants, value.__defaults__, closed
