"""Damaged files of every kind: data are read whole and finite, or one line says what is wrong; nothing else.

``python tests/fuzz/fuzz_files.py 10000 --seed 0`` prints what came of so many files, and keeps those that broke it.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fuzz_damage import OF_ARCHIVES, OF_BYTES, OF_TEXT, odd_array
from fuzz_limits import Broken, limited, open_files

import trackless as tl
from trackless import _progress, pieces
from trackless.files import checkpoints
from trackless.survey import check_finite

SECONDS = 20.0  # that one file may take; none is larger than some kilobytes
ENDINGS = (
    ".csv", ".tsv", ".txt", ".csv.gz", ".lammpstrj", ".lammpstrj.gz", ".xyz", ".extxyz", ".xyz.gz", ".gsd", ".npz",
    ".npy", ".h5", ".zarr", ".parquet",
)  # fmt: skip
WRONG_ENDINGS = (*ENDINGS, ".dump", ".hdf5", ".gz", ".pkl", ".trackless", ".png", ".CSV", "")
KINDS = (*ENDINGS, "wrong ending", "folder", "fit", "moments", "watch", "checkpoint")
TEXT = (".csv", ".tsv", ".txt", ".lammpstrj", ".xyz", ".extxyz")
BOXED = (".npz", ".h5", ".zarr", ".lammpstrj", ".lammpstrj.gz", ".extxyz", ".gsd")


@dataclass
class Outcome:
    """What came of some files.

    Attributes
    ----------
    counts : Counter of (kind, "read" or "refused")
    broken : list of (kind, number, what happened)
    longest : tuple (seconds, kind, number)
    messages : Counter of the first words of what was said
    """

    counts: Counter = field(default_factory=Counter)
    broken: list[tuple[str, int, str]] = field(default_factory=list)
    longest: tuple[float, str, int] = (0.0, "", -1)
    messages: Counter = field(default_factory=Counter)


class Seeds:
    """Good files of every kind, as bytes, or as a dict of bytes where they are folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, int], bytes | dict[str, bytes]] = {}
        self._makers: dict[str, Callable[[Path, int], None]] = {
            ".txt": lambda path, kind: _renamed(path, ".tsv", kind),
            ".npy": lambda path, kind: np.save(path, data_of(kind, regular=True).positions),
            ".gsd": _write_gsd,
            "fit": lambda path, kind: _fitted(kind).save(path),
            "moments": lambda path, kind: tl.save(_moments(), path),
            "watch": _write_watch,
            "checkpoint": lambda path, kind: _write_checkpoint(path),
        }

    def of(self, kind: str, variant: int) -> bytes | dict[str, bytes]:
        if (kind, variant) not in self._made:
            plain = kind.removesuffix(".gz")
            path = self._folder / f"seed{len(self._made)}{plain if plain.startswith('.') else '.trackless'}"
            maker = self._makers.get(plain)
            if maker is not None:
                maker(path, variant)
            else:
                tl.write(
                    data_of(variant, boxed=plain in BOXED, single=plain in (".lammpstrj", ".xyz", ".extxyz")), path
                )
            content = _content(path)
            if kind.endswith(".gz"):
                assert isinstance(content, bytes)
                content = gzip.compress(content, mtime=0)
            self._made[kind, variant] = content
        return self._made[kind, variant]


def data_of(variant: int, regular: bool = False, boxed: bool = False, single: bool = False) -> tl.Snapshots:
    """A small data set: even or not, of one to three dimensions, with or without a box, labels and kinds."""
    generator = np.random.default_rng(variant)
    dim, runs = 1 + variant % 3, 1 if single else 2
    sides = (3.0, 4.0, 5.5)[:dim] if boxed and variant % 2 else None
    if regular or variant % 4 < 2:
        positions = generator.random((runs, 4, 5, dim)) * 2.5
        kinds = np.array(list("aabba")) if variant % 4 == 1 and not regular else None
        return tl.Snapshots(positions, np.arange(4) * 0.1, sides, variant % 4 == 1 and not regular, kinds)
    frames = [[generator.random((n, dim)) * 2.5 for n in (3, 2, 4)] for _ in range(runs)]
    return tl.Snapshots(frames, [np.arange(3) * 0.1] * runs, sides)


def fuzz(count: int, seed: int, folder: Path, kinds: tuple[str, ...] = KINDS, first: int = 0) -> Outcome:
    """Damage ``count`` files one after the other, and read each."""
    outcome, seeds = Outcome(), Seeds(_made(folder / "seeds"))
    at_first = open_files()
    for number in range(first, first + count):
        generator = np.random.default_rng((seed, number))
        kind = kinds[number % len(kinds)]
        where = _made(folder / "file")
        start = time.perf_counter()
        try:
            said = _one(kind, where, seeds, generator)
        except Broken as broken:
            outcome.broken.append((kind, number, str(broken)))
            shutil.copytree(where, folder / "broken" / f"{number}")
        else:
            outcome.counts[kind, "refused" if said else "read"] += 1
            outcome.messages[_pattern(said, where)] += bool(said)
        outcome.longest = max(outcome.longest, (time.perf_counter() - start, kind, number))
        shutil.rmtree(where)
    if open_files() > at_first + 20:
        outcome.broken.append(("all", count, f"{open_files() - at_first} files were left open"))
    return outcome


def _one(kind: str, where: Path, seeds: Seeds, generator: np.random.Generator) -> str:
    """Write a damaged file and use it; what was said of it, empty if it was read."""
    variant = int(generator.integers(12))
    if kind == "checkpoint":
        content = seeds.of(kind, 0)
        path = where / "kept"
        _write(path, _damaged(content, OF_BYTES, generator))  # with right checksums it would not be damage
        return _said(lambda: _go_on(path), path)
    if kind in ("fit", "moments", "watch"):
        path = where / "damaged.trackless"
        _write(path, _damaged(seeds.of(kind, variant if kind == "fit" else 0), OF_ARCHIVES, generator))
        return _said(lambda: _loaded(path), path)
    if kind == "folder":
        path = where / "data"
        ending = (".csv", ".npz", ".xyz", ".lammpstrj", ".parquet", ".h5")[generator.integers(6)]
        for k in range(3):
            content = seeds.of(ending, variant)
            hurt = _damaged(content, _kinds_of_damage(ending), generator) if generator.random() < 0.4 else content
            name = f"run{k}{ending if generator.random() < 0.9 else '.csv'}"
            _write(path / (name if generator.random() < 0.9 else "." + name), hurt)
    else:
        ending = ENDINGS[generator.integers(len(ENDINGS))] if kind == "wrong ending" else kind
        content = _damaged(seeds.of(ending, variant), _kinds_of_damage(ending), generator)
        if ending in (".npy", ".npz") and generator.random() < 0.2:
            content = odd_array(generator)
        name = WRONG_ENDINGS[generator.integers(len(WRONG_ENDINGS))] if kind == "wrong ending" else kind
        path = where / f"data{name}"
        _write(path, content)
    needed = path.suffix in (".npy", ".gsd")  # these hold no times; the others do
    options: dict = {"dt": 0.1} if needed != (generator.random() < 0.08) else {}
    if generator.random() < 0.1:
        options["box"] = 6.0
    lazy = generator.random() < 0.3
    return _said(lambda: _read(path, options, lazy=lazy or None), path, "positions:" if lazy else "")


def _said(use: Callable[[], None], path: Path, otherwise: str = "") -> str:
    """The message with which a file is refused, empty where it is taken."""
    try:
        with limited(SECONDS):
            try:
                use()
            except tl.InputError as error:
                said = str(error)
            else:
                return ""
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"{type(error).__name__}: {error}\n{_place(error)}") from error
    begins = said.startswith(str(path)) or (otherwise and said.startswith(otherwise))
    if not begins or not said.replace(str(path), "").isprintable() or len(said) > 1500:
        raise Broken(f"not a line about the file: {said!r}")
    return said


def _read(path: Path, options: dict, lazy: bool | None) -> None:
    """Read it, and look at all that is in it."""
    snapshots = tl.read(path, lazy=lazy, **options)
    if not isinstance(snapshots, tl.Snapshots):
        raise Broken(f"it gives a {type(snapshots).__name__}")
    check_finite(snapshots)
    for run in range(snapshots.runs):
        times = snapshots.times_of(run)
        if not (np.isfinite(times).all() and (np.diff(times) > 0).all()):
            raise Broken(f"it gives times {times}")
        for index in range(len(times)):
            frame = snapshots.frame(run, index)
            if not np.isfinite(frame).all() or frame.ndim != 2 or frame.shape[1] != snapshots.dim:
                raise Broken(f"it gives a frame of shape {frame.shape} that is not all finite")


def _loaded(path: Path) -> None:
    found = tl.load(path)
    if type(found).__name__ not in ("SelfTest", "Moments", "Watched", "LabeledMLE"):
        raise Broken(f"it gives a {type(found).__name__}")
    repr(found)


# A checkpoint is of a job; what it holds must change nothing of the job's result.

_EXTERNAL, _INTERACTION = tl.RadialSplines(5, lower=0.0, upper=3.0), tl.RadialSplines(7, lower=0.0, upper=5.0)
_expected: list[tl.Moments] = []


def _accumulated(**options: object) -> tl.Moments:
    data = tl.Snapshots(np.random.default_rng(1).normal(size=(20, 6, 5, 2)), dt=0.1)
    return tl.accumulate(data, _EXTERNAL, _INTERACTION, blocks=3, windows=1, **options)  # type: ignore[arg-type]


def _go_on(path: Path) -> None:
    _expected.extend([] if _expected else [_accumulated()])
    with _small_parts():
        found = _accumulated(checkpoint=path)
    for name in ("quadratic", "pair", "diffusion", "energy", "weight", "runs", "span"):
        here = getattr(_expected[0], name)
        if np.abs(getattr(found, name) - here).max() > 1e-9 * np.abs(here).max():
            raise Broken(f"a damaged checkpoint changes {name}")


class _small_parts:
    """Checkpoints after every batch of a few points."""

    def __enter__(self) -> None:
        self.usual = pieces.TASK_POINTS, pieces.BATCH_POINTS, checkpoints.EVERY, checkpoints.SHARE
        pieces.TASK_POINTS, pieces.BATCH_POINTS, checkpoints.EVERY, checkpoints.SHARE = 50, 200, 0.0, np.inf

    def __exit__(self, *_: object) -> None:
        pieces.TASK_POINTS, pieces.BATCH_POINTS, checkpoints.EVERY, checkpoints.SHARE = self.usual


class _Stopped(Exception):
    pass


def _write_checkpoint(path: Path) -> None:
    def until(items: Iterator, description: object, total: int) -> Iterator:
        for k, item in enumerate(items):
            if k == 2:
                raise _Stopped
            yield item

    with _small_parts(), _progress.shown_by(until):  # type: ignore[arg-type]
        try:
            _accumulated(checkpoint=path)
        except _Stopped:
            return
    raise AssertionError("it was not interrupted")


def _write_watch(path: Path, kind: int) -> None:
    from trackless.watching import Watch, Watched

    folder = _made(path.with_suffix(".d"))
    tl.write(data_of(1, regular=True), folder / "run.npz")
    watching = Watch(folder, tl.read, lambda one: one.suffix == ".npz", lambda data: _fitted(1), Watched("options"))
    watching.look()
    watching.look()
    assert watching.watched.added
    tl.save(watching.watched, path)


def _moments() -> tl.Moments:
    return _accumulated().coarsened(2)


def _fitted(kind: int) -> tl.SelfTest:
    model = tl.models.reference()
    data = tl.simulate(model, runs=24, duration=0.1, step=1e-3, particles=4)
    if kind % 2:
        return tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data)
    splines = tl.RadialSplines(5), tl.RadialSplines(6)
    return tl.SelfTest(*splines, sigma=1.0, regularization="evidence").fit(data)


def _write_gsd(path: Path, kind: int) -> None:
    import gsd.hoomd

    with gsd.hoomd.open(str(path), "w") as opened:
        for k in range(3):
            frame = gsd.hoomd.Frame()
            frame.configuration.step, frame.configuration.box = k, [9, 9, 9, 0, 0, 0]
            frame.particles.N, frame.particles.position = 4, np.random.default_rng((kind, k)).random((4, 3))
            if kind % 2:
                frame.particles.types, frame.particles.typeid = ["a", "b"], [0, 1, 0, 1]
            opened.append(frame)


def _renamed(path: Path, ending: str, kind: int) -> None:
    other = path.with_suffix(ending)
    tl.write(data_of(kind), other)
    other.rename(path)


def _kinds_of_damage(ending: str) -> tuple:
    return OF_ARCHIVES if ending == ".npz" else OF_TEXT if ending in TEXT else OF_BYTES


def _damaged(
    content: bytes | dict[str, bytes], ways: tuple, generator: np.random.Generator
) -> bytes | dict[str, bytes]:
    if isinstance(content, bytes) and content.startswith(b"\x1f\x8b") and generator.random() < 0.6:
        inner = OF_TEXT[generator.integers(len(OF_TEXT))](gzip.decompress(content), generator)
        return gzip.compress(inner, mtime=0)
    if isinstance(content, bytes):
        return ways[generator.integers(len(ways))](content, generator)
    changed = dict(content)
    for _ in range(generator.integers(1, 3)):
        name = sorted(changed)[generator.integers(len(changed))]
        kind = generator.integers(8)
        if kind == 0 and len(changed) > 1:
            del changed[name]
        elif kind == 1:
            changed[f"{name}.extra"] = changed[name]
        else:
            own = OF_TEXT if name.endswith(".json") else ways
            changed[name] = own[generator.integers(len(own))](changed[name], generator)
    return changed


def _content(path: Path) -> bytes | dict[str, bytes]:
    if path.is_file():
        return path.read_bytes()
    return {str(one.relative_to(path)): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def _write(path: Path, content: bytes | dict[str, bytes]) -> None:
    for name, part in content.items() if isinstance(content, dict) else [("", content)]:
        file = path / name if name else path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(part)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _place(error: Exception) -> str:
    """Where in trackless it comes from."""
    found, frame = "", error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        found = f"{code.co_filename}:{frame.tb_lineno} in {code.co_name}" if "trackless" in code.co_filename else found
        frame = frame.tb_next
    return found


def _pattern(said: str, where: Path) -> str:
    """A message without what differs from file to file."""
    words = said.replace(str(where), "").split(": ", 1)[-1].split()
    return " ".join(word for word in words[:9] if not any(letter.isdigit() or letter in "'\"" for letter in word))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="how many files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="begin with this one, to see it again")
    parser.add_argument("--keep", type=Path, help="where files that broke it are kept (default: a new folder)")
    parser.add_argument("--messages", action="store_true", help="print what was said, and how often")
    asked = parser.parse_args()
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="fuzz-files-"))
    start = time.perf_counter()
    outcome = fuzz(asked.count, asked.seed, folder, first=asked.first)
    for kind in KINDS:
        print(f"{kind:>14}: {outcome.counts[kind, 'read']:5d} read, {outcome.counts[kind, 'refused']:5d} refused")
    for said, times in outcome.messages.most_common() if asked.messages else ():
        print(f"{times:6d} {said}")
    read = sum(n for (_, what), n in outcome.counts.items() if what == "read")
    print(
        f"{asked.count} files in {time.perf_counter() - start:.0f} s: {read} read, "
        f"{sum(outcome.counts.values()) - read} refused in one line, {len(outcome.broken)} broke it; "
        f"longest {outcome.longest[0]:.2f} s ({outcome.longest[1]}, number {outcome.longest[2]})"
    )
    for kind, number, what in outcome.broken:
        print(f"{kind} {number}: {what}")
    if outcome.broken:
        print(f"kept in {folder / 'broken'}")
    return bool(outcome.broken)


if __name__ == "__main__":
    sys.exit(main())
