"""Live data: new files of a folder are added to a fit as they come.

What was seen is kept in a state file, with all moments: it is written whole or not at all, so that watching can end at
any time and go on later, and every file counts once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from trackless._errors import InputError
from trackless.estimators.self_test import SelfTest
from trackless.joining import concatenate
from trackless.moments import Moments
from trackless.snapshots import Snapshots

QUIET = 5.0  # seconds without a change after which a file counts as complete when it is first seen
Stamp = tuple[int, int]  # size and time of the last change of a file


@dataclass(frozen=True)
class Watched:
    """What a folder came to so far.

    Attributes
    ----------
    settings : str
        What was asked for, to know it again.
    fit : SelfTest or None
    moments : Moments or None
        Of the fit, all of them.
    added, skipped : dict of str to (int, int)
        Files by name: size, and time of the last change, when they were read or refused.
    """

    settings: str
    fit: SelfTest | None = None
    moments: Moments | None = None
    added: dict[str, Stamp] = field(default_factory=dict)
    skipped: dict[str, Stamp] = field(default_factory=dict)


class Look(NamedTuple):
    """What a look at the folder found."""

    added: tuple[str, ...]
    """names of files that are part of the fit now"""
    told: tuple[str, ...]
    """what is wrong with others, said once"""
    waiting: int
    """files that are still being written"""


class Watch:
    """A folder, and the fit of all that is in it.

    Parameters
    ----------
    folder : Path
    read : callable (path) -> Snapshots
    known : callable (path) -> bool
        Whether a file is one that can be read, by its name.
    first : callable (Snapshots) -> SelfTest
        The fit of the first files; later ones are added to it.
    watched : Watched
        What there is already.
    """

    def __init__(
        self,
        folder: Path,
        read: Callable[[Path], Snapshots],
        known: Callable[[Path], bool],
        first: Callable[[Snapshots], SelfTest],
        watched: Watched,
    ) -> None:
        self.folder, self.watched = folder, watched
        self._read, self._known, self._first = read, known, first
        self._seen: dict[str, Stamp] = {}  # at the last look
        self._pending: dict[str, Stamp] = {}  # good files that are not enough for a fit yet
        if watched.fit is not None and watched.moments is not None:
            watched.fit.moments_ = watched.moments

    @property
    def fit(self) -> SelfTest | None:
        """Of everything that was added, None before there is one."""
        return self.watched.fit

    def look(self) -> Look:
        """Add the files that are new and complete."""
        told: list[str] = []
        stamps, complete = dict(self._stamps()), {}
        for name, stamp in stamps.items():
            earlier = self.watched.added.get(name)
            if earlier is not None:
                if tuple(earlier) != stamp and self._seen.get(name) != stamp:
                    told.append(f"{self.folder / name}: it has changed since it was added; what it was then counts")
            elif tuple(self.watched.skipped.get(name, ())) != stamp and self._is_complete(name, stamp):
                complete[name] = stamp
        waiting = [
            name
            for name, stamp in stamps.items()
            if name not in self.watched.added
            and name not in complete
            and tuple(self.watched.skipped.get(name, ())) != stamp
        ]
        self._seen = stamps
        added = self._added(complete, told) if complete and complete != self._pending else ()
        return Look(added, tuple(told), len(waiting))

    def _stamps(self) -> Iterator[tuple[str, Stamp]]:
        for path in sorted(self.folder.iterdir()):
            if path.name.startswith(".") or not self._known(path):
                continue
            try:
                status = path.stat()
            except OSError:  # gone again
                continue
            yield path.name, (status.st_size, status.st_mtime_ns)

    def _is_complete(self, name: str, stamp: Stamp) -> bool:
        """Whether nobody is writing to a file: it has not changed since the last look, or for long."""
        return self._seen.get(name) == stamp or time.time() - stamp[1] / 1e9 > QUIET

    def _added(self, complete: dict[str, Stamp], told: list[str]) -> tuple[str, ...]:
        """Names of those that could be read and belong to the others."""
        before = len(told)
        added = self._begin(complete, told) if self.fit is None else self._go_on(complete, told)
        if added or len(told) > before:
            fit = self.fit
            self.watched = replace(
                self.watched,
                moments=fit.moments_ if fit is not None else None,
                added=self.watched.added | {name: complete[name] for name in added},
            )
        return added

    def _readable(self, complete: dict[str, Stamp], told: list[str]) -> Iterator[tuple[str, Snapshots]]:
        for name, stamp in complete.items():
            try:
                snapshots = self._read(self.folder / name)
            except (InputError, OSError) as error:
                self._skip(name, stamp, error, told)
                continue
            yield name, snapshots

    def _skip(self, name: str, stamp: Stamp, error: Exception, told: list[str]) -> None:
        path = str(self.folder / name)
        told.append(f"{'' if path in str(error) else f'{path}: '}{error}")
        self.watched = replace(self.watched, skipped=self.watched.skipped | {name: stamp})

    def _begin(self, complete: dict[str, Stamp], told: list[str]) -> tuple[str, ...]:
        """The first fit, of all files that go with the first one."""
        together: Snapshots | None = None
        names = []
        for name, snapshots in self._readable(complete, told):
            try:
                together = snapshots if together is None else concatenate([together, snapshots])
            except InputError as error:
                self._skip(name, complete[name], error, told)
                continue
            names.append(name)
        if together is None:
            return ()
        try:
            fit = self._first(together)
        except InputError as error:  # perhaps they are not enough yet
            self._pending = {name: complete[name] for name in names}
            told.append(f"no fit of {', '.join(names)} yet: {error}")
            return ()
        self.watched = replace(self.watched, fit=fit)
        return tuple(names)

    def _go_on(self, complete: dict[str, Stamp], told: list[str]) -> tuple[str, ...]:
        names, fit = [], self.fit
        assert fit is not None
        for name, snapshots in self._readable(complete, told):
            try:
                fit.partial_fit(snapshots)
            except InputError as error:
                self._skip(name, complete[name], error, told)
                continue
            names.append(name)
        return tuple(names)
