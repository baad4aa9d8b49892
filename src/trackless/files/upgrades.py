"""Results that older versions saved, told as this one saves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
ANY_NUMBER = (0, np.iinfo(np.int64).max)  # fewest and most particles of a snapshot, where nobody counted them

USUAL_PARTS = 120  # that a comparison rests on


def _objects(value: Any, kinds: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """All objects of some kinds in a JSON value."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(part, kinds)
    if isinstance(value, dict) and value.get("type") in kinds:
        yield value


def _from_4(result: Any, arrays: Arrays) -> None:
    """Version 5: moments know numbers of particles (and how they were seen), fits know gaps, centres, ridge weights."""
    for moments in _objects(result, ("Moments",)):
        blocks = len(arrays[moments["runs"]["array"]])
        moments["particles"] = _added(arrays, np.tile(np.array(ANY_NUMBER, dtype=np.int64), (blocks, 1)))
    for estimator in _objects(result, ("SelfTest", "LabeledMLE", "SinkhornMLE")):
        state = estimator["state"]
        state["ridge_weights_"] = _added(arrays, np.ones(len(arrays[state["coef_"]["array"]])))
        if estimator["type"] == "SelfTest":
            state |= {"center_": None, "max_gap_": None}


def _added(arrays: Arrays, array: np.ndarray) -> dict[str, str]:
    name = f"added{len(arrays)}"
    arrays[name] = array
    return {"array": name}


def _from_5(result: Any, arrays: Arrays) -> None:
    """Version 6: symmetric matrices may be saved by half; whole ones are as they were."""


def _from_6(result: Any, arrays: Arrays) -> None:
    """Version 7: fits know some of their frames again, so that parts of their data are not taken for other data."""
    for estimator in _objects(result, ("SelfTest", "LabeledMLE", "SinkhornMLE", "NeuralSelfTest")):
        estimator["state"]["frames_"] = None


def _from_7(result: Any, arrays: Arrays) -> None:
    """Version 8: frames that are known have times, comparisons say how many parts they rest on."""
    for frames in _objects(result, ("KnownFrames",)):
        frames["times"] = _added(arrays, np.full(len(arrays[frames["particles"]["array"]]), np.nan))
    for comparison in _objects(result, ("Comparison",)):
        comparison["parts"] = USUAL_PARTS


UPGRADES: dict[int, Callable[[Any, Arrays], None]] = {4: _from_4, 5: _from_5, 6: _from_6, 7: _from_7}
"""Version -> what makes the next one of its content and arrays, in place."""
OLDEST = min(UPGRADES)


def upgraded(result: Any, arrays: Arrays, version: int) -> Any:
    """The content of a file of some version as the newest version has it."""
    for step in range(version, max(UPGRADES) + 1):
        UPGRADES[step](result, arrays)
    return result
