"""Compiled kernels are kept somewhere, wherever the package is installed."""

import stat
from pathlib import Path

import numba
import pytest
from numba.core import config as numba_settings

from trackless import _kernels


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """Numba finds no folder of its own, and the temporary folder is ours."""

    def refuse(**options):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(numba, "njit", refuse)
    monkeypatch.setattr(numba_settings, "CACHE_DIR", "")
    monkeypatch.setattr(_kernels.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(_kernels.tempfile, "mkdtemp", lambda prefix: str(tmp_path / "another"))
    return tmp_path


def test_they_go_to_a_temporary_folder_that_nobody_else_can_write_to(nowhere):
    _kernels._keep_compiled_kernels()
    chosen = Path(numba_settings.CACHE_DIR)
    assert chosen.parent == nowhere
    assert chosen.name.startswith("trackless-kernels-")
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o700
    _kernels._keep_compiled_kernels()
    assert Path(numba_settings.CACHE_DIR) == chosen  # found again by the next process


def test_a_folder_that_others_can_write_to_is_not_trusted(nowhere):
    _kernels._keep_compiled_kernels()
    Path(numba_settings.CACHE_DIR).chmod(0o777)
    _kernels._keep_compiled_kernels()
    assert Path(numba_settings.CACHE_DIR).name == "another"


def test_without_any_folder_it_is_said_which_one_to_give(nowhere, monkeypatch):
    monkeypatch.setattr(_kernels.tempfile, "gettempdir", lambda: str(nowhere / "missing"))
    with pytest.raises(OSError, match=r"set NUMBA_CACHE_DIR to a folder that may be written to: '.*missing'"):
        _kernels._keep_compiled_kernels()
