"""Packages that only some formats need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trackless._errors import InputError


def needed(module: str, extra: str, path: object) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(
            f"{path}: this format needs the package {module.partition('.')[0]}; pip install 'trackless[{extra}]'"
        ) from None
