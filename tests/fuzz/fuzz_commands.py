"""Random command lines: right exit codes, one line that helps, nothing half-written; never a traceback.

``python tests/fuzz/fuzz_commands.py 2000 --seed 0`` prints what came of so many command lines, and those that broke it.
Options and their types are asked of the commands themselves, so that a new option is fuzzed without a word here.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import inspect
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints
from unittest import mock

import numpy as np
from fuzz_damage import OF_BYTES
from fuzz_limits import Broken, limited
from typer.models import OptionInfo

import trackless as tl
from trackless import cli

SECONDS = 90.0
MOST_MEMORY = 1000  # megabytes; compiling takes most of them
COMMANDS = {
    "inspect": 6, "fit": 8, "validate": 3, "report": 2, "export": 8, "simulate": 8, "watch": 3, "demo": 1, "benchmark": 1,
    "reproduce": 2, "": 1, "fti": 1,
}  # fmt: skip
REMEDIES = (
    "expected", "give", "choose", "use", "leave", "take", "write", "name", "copy", "allow", "create", "read", "make",
    "needs", "must", "--", "repair", "remove", "save", "convert", "try", "belong", "see", "install", "more", "smaller",
    "update", "delete", "or", "known:", "start", "saves", "file",
)  # fmt: skip
STRANGE_TEXT = (
    "", " ", "-", "--", "-1", "0", "nan", "inf", "-inf", "1e400", "1e-320", "9" * 30, "1_0", "٣", "½", "é", "日本語", "\u202e",
    "a\nb", "\x1b[31mred", "[bold]", "[/bold]", "%s", "{0}", "'", '"', "$HOME", "*", "~", "..", "/", "None", "True", ":", ",",
    "1:2", "2:1", "1,2", "1,,2", "=", "x=", "x=a,y=b", "auto", "none", "fit", "mean", "tcp://", "x" * 5000, "\udcff",
)  # fmt: skip
GOOD_TEXT = {
    "sigma": ("1.0", "0.5", "1.0,0.7", "diagonal", "0", "nan", "2"),
    "columns": ("x=x,y=y", "x=a,y=b", "run=run", "x"), "box": ("10", "10,20", "5,5,5", "-1", "0"),
    "max_gap": ("auto", "none", "0.5", "0.001", "-1"),
    "external": ("radial", "free", "none", "auto", "splines:5", "rbf:4", "tensor:4", "splines:0", "splines:-3", "cubic:5"),
    "interaction": ("radial", "none", "auto", "splines:6", "rbf:5", "splines:3000", "tensor:9", "splines"),
    "center": ("mean", "origin", "fit", "0,0", "1.5,-2", "1", "a,b"), "window": ("auto", "-1:1,-1:1", "0:1", "1:0,0:1"),
    "regularization": ("cv", "lcurve", "evidence", "0.1", "1e-9", "-1", "ridge"), "memory": ("2GB", "100MB", "1", "-1GB"),
    "reach": ("0.1:2", "2:0.1", "0:1", "1"), "title": ("A title", "<script>", "é"), "dask": ("nonsense", "tcp://", "1:2"),
    "dt": ("0.1", "0.01"), "cutoff": ("1.5", "0.2"), "exclude_below": ("0.05", "2"), "detection": ("0.9", "0", "1", "2"),
    "position_error": ("0.01", "5"), "max_distance": ("0.5", "1e-9"), "names": ("all", "sample-size", "nothing"),
}  # fmt: skip
NUMBERS = ("1", "0.5", "2", "0", "-1", "nan", "inf", "-inf", "1e-300", "1e300", "1e-9", "3")
WHOLE = ("1", "2", "3", "0", "-1", "-99999999999999999999", "99999999999999999999", "7")
# what decides how long a command works is never left to chance
BOUNDED: dict[tuple[str, str], tuple[str, ...]] = {
    ("simulate", "runs"): ("1", "2", "3", "0", "-4"), ("simulate", "particles"): ("1", "2", "5", "0"),
    ("simulate", "dim"): ("1", "2", "3", "5", "0"), ("simulate", "duration"): ("0.02", "0.05", "0", "-1", "nan", "inf"),
    ("simulate", "step"): ("1e-3", "5e-3", "0", "-1", "nan", "0.003"), ("simulate", "every"): ("1e-2", "5e-3", "0", "nan", "1"),
    ("demo", "runs"): ("2", "3", "20", "1", "0"), ("watch", "every"): ("0.1", "0", "-1", "nan"),
    ("validate", "replicates"): ("19", "20", "0", "18"), ("export", "points"): ("10", "50", "9", "1000001"),
}  # fmt: skip
ALWAYS = {
    "simulate": ["--runs", "2", "--particles", "3", "--duration", "0.02", "--step", "1e-3"],
    "demo": ["--runs", "20"], "watch": ["--once"], "validate": ["--replicates", "19"],
}  # fmt: skip


@dataclass
class Outcome:
    """What came of some command lines: counts by (command, exit code), those that broke it, the longest, what was said."""

    counts: Counter = field(default_factory=Counter)
    broken: list[tuple[int, str, str]] = field(default_factory=list)
    longest: tuple[float, int, str] = (0.0, -1, "")
    messages: dict[str, tuple[int, str]] = field(default_factory=dict)


@dataclass
class Line:
    """A command line, and what is known of it before it is typed."""

    words: list[str]
    wrong: bool = False
    """an option or value is not of its type, so that this must be refused as wrong usage"""


def fuzz(count: int, seed: int, folder: Path) -> Outcome:
    """Type ``count`` command lines, each in a folder of its own with the same files."""
    outcome, original = Outcome(), folder / "files"
    if not original.exists():
        make_files(original)
    commands = {command.callback.__name__: parameters_of(command.callback) for command in cli.app.registered_commands}
    started = Path.cwd()
    for number in range(count):
        generator = np.random.default_rng((seed, number))
        where = folder / "here"
        shutil.copytree(original, where)
        os.chdir(where)
        line = random_line(commands, generator)
        start = time.perf_counter()
        try:
            code, said = _typed(line, where)
        except Broken as broken:
            outcome.broken.append((number, _shown(line), str(broken)))
        else:
            outcome.counts[line.words[0] if line.words else "", code] += 1
            if said:
                outcome.messages.setdefault(said.split(": ", 2)[-1][:60], (number, said))
        finally:
            os.chdir(started)
            _writable_again(where)
            shutil.rmtree(where)
        outcome.longest = max(outcome.longest, (time.perf_counter() - start, number, _shown(line)))
    return outcome


@dataclass(frozen=True)
class Parameter:
    """An option or argument of a command: its name, how it is typed, and what it takes."""

    name: str
    names: tuple[str, ...]
    """--output, -o; none of an argument"""
    kind: Any
    several: bool
    required: bool


def parameters_of(command: Any) -> list[Parameter]:
    """What the signature of a command says."""
    hints, found = get_type_hints(command, include_extras=True), []
    for name, parameter in inspect.signature(command).parameters.items():
        kind, said = get_args(hints[name])[:2]
        kinds = [one for one in get_args(kind) if one is not type(None)] if isinstance(kind, UnionType) else [kind]
        several = get_origin(kinds[0]) is list
        names = ()
        if isinstance(said, OptionInfo):
            names = tuple(one for one in said.param_decls or () if one.startswith("-")) or (f"--{name.strip('_').replace('_', '-')}",)
        required = parameter.default is inspect.Parameter.empty
        found.append(Parameter(name, names, get_args(kinds[0])[0] if several else kinds[0], several, required))
    return found


def make_files(folder: Path) -> None:
    """Small files that commands may be given: data of several formats, fits, damaged ones, folders."""
    folder.mkdir(parents=True)
    model = tl.models.reference()
    data = tl.simulate(model, runs=12, duration=0.2, step=1e-3, particles=4, seed=1)
    few = data[:1].between(0.0, 0.05)
    for name in ("data.npz", "data.csv", "data.h5"):
        tl.write(data, folder / name)
    tl.write(few, folder / "few.extxyz")
    tl.write(tl.simulate(model, runs=4, duration=0.1, step=1e-3, particles=3, dim=3, labeled=True), folder / "three.npz")
    tl.write(tl.simulate(tl.models.mixture(), runs=6, duration=0.1, step=1e-3, particles={"a": 3, "b": 3}), folder / "two.npz")
    tl.write(tl.Snapshots([[np.ones((1, 1))] * 2], [[0.0, 1.0]]), folder / "still.npz")
    np.save(folder / "plain.npy", data.positions[:, :5])
    tl.SelfTest(model.external_basis, model.interaction_basis, sigma=1.0).fit(data).save(folder / "fit.trackless")
    tl.SelfTest(tl.RadialSplines(5), tl.RadialSplines(6), sigma=1.0, regularization="evidence").fit(data).save(
        folder / "splines.trackless"
    )
    tl.SelfTest(tl.TensorSplines(4), None, sigma=1.0).fit(data).save(folder / "free.trackless")
    generator = np.random.default_rng(0)
    for name in ("data.npz", "data.csv", "fit.trackless"):
        content = (folder / name).read_bytes()
        (folder / f"bad-{name}").write_bytes(OF_BYTES[0](content, generator))
    (folder / "empty.csv").write_text("")
    (folder / "runs").mkdir()
    for k in range(2):
        tl.write(data[k : k + 1], folder / "runs" / f"run{k}.csv")
    (folder / "empty").mkdir()
    (folder / "locked").mkdir()
    (folder / "there.png").write_bytes(b"a picture of somebody")


DATA = ("data.npz", "data.csv", "data.h5", "few.extxyz", "three.npz", "two.npz", "still.npz", "plain.npy", "runs")
FITS = ("fit.trackless", "splines.trackless", "free.trackless")
DOUBTFUL = (
    "bad-data.npz", "bad-data.csv", "bad-fit.trackless", "empty.csv", "empty", "missing.npz", "no/such/folder/x.csv",
    "there.png", "", ".", "/", "/dev/null", "/etc/shadow/x", "日本語.csv", "a\nb.npz", "x" * 300 + ".csv", "nul\0.npz",
    "[bold].npz", "-o", "data.npz/x", "\udcff.npz",
)  # fmt: skip
OUTPUTS = (
    "out.npz", "out.csv", "out.trackless", "out.html", "out.png", "out.pdf", "out.svg", "out.table", "out.py", "out", "out.h5",
    "out.extxyz", "out.lammpstrj", "out.zarr", "out.parquet", "out.md", "日本 é.npz", "there.png", "fit.trackless", "data.csv",
    "empty", "runs", "locked/out.npz", "no/such/folder/out.csv", "/proc/out.npz", "/dev/null", "data.npz/out", "", ".",
    "out.xyz.gz", "out.tsv", "x" * 300 + ".npz", "nul\0.csv", "[/bold].png", "a\nb.csv", "\udcff.csv",
)  # fmt: skip
FITTING = {
    "simulate": (".npz", ".csv", ".h5", ".tsv", ".extxyz", ".parquet"), "fit": (".trackless",), "watch": (".trackless",),
    "report": (".html",), "export": (".table", ".csv", ".py"), "demo": (".png", ".svg"), "benchmark": (".md",),
}  # fmt: skip


def random_line(commands: dict[str, list[Parameter]], generator: np.random.Generator) -> Line:
    """A command with some of its options; most are possible, some are not."""
    names, weights = list(COMMANDS), np.array(list(COMMANDS.values()), float)
    name = str(generator.choice(names, p=weights / weights.sum()))
    if name not in commands:
        words = [name] if name else [[], ["--version"], ["--help"], ["--nonsense"], [""]][generator.integers(5)]
        return Line(words, wrong=words in (["fti"], ["--nonsense"], [""]))
    line = Line([name, *ALWAYS.get(name, ())])
    doubt = generator.choice([0.0, 0.1, 0.4])  # what part of the values is odd
    expensive = name in ("benchmark", "reproduce")  # only ever asked for what is refused or listed
    for parameter in commands[name]:
        chance = 0.97 if parameter.required else 0.02 if parameter.name == "dask" else 0.12
        if generator.random() < chance and not (expensive and parameter.name in ("names", "output")):
            _add(line, name, parameter, doubt, generator)
    if generator.random() < 0.02:
        line.words.append("--help")
    if name == "benchmark":
        line.words += ["--output", ("there.png", "there.png/out.md", "empty", "/proc/out.md")[generator.integers(4)]]
        line.words = [word for word in line.words if word != "--force"]
    elif name == "reproduce":
        line.words += [["--list"], ["nonsense"], []][generator.integers(3)]
    if generator.random() < 0.03:
        line.words.append("--nonsense")
        line.wrong = True
    if generator.random() < 0.05:
        tail = line.words[1:]
        generator.shuffle(tail)
        line = Line([name, *tail])  # values without their options: what is right is not known any more
    return line


def _add(line: Line, command: str, parameter: Parameter, doubt: float, generator: np.random.Generator) -> None:
    """One option or argument with a value."""
    named = [parameter.names[generator.integers(len(parameter.names))]] if parameter.names else []
    if parameter.kind is bool:
        line.words += named
        return
    for _ in range(int(generator.choice([1, 1, 1, 2])) if parameter.several else 1):
        value, wrong = _value(command, parameter, doubt, generator)
        line.words += [*named, value]
        line.wrong |= wrong and bool(named)  # what begins with "-" is no argument, and counts as an option


def _value(command: str, parameter: Parameter, doubt: float, generator: np.random.Generator) -> tuple[str, bool]:
    """A value, and whether it is certainly none for this option."""

    def one(of: tuple[str, ...]) -> str:
        return of[generator.integers(len(of))]

    kind, name, odd = parameter.kind, parameter.name, generator.random() < doubt
    if (command, name) in BOUNDED:
        return one(BOUNDED[command, name]), False
    if kind is Path:
        if name in ("output", "figure", "checkpoint"):
            endings = (".png", ".svg") if name == "figure" else FITTING.get(command, ("",))
            return (one(OUTPUTS) if odd else f"out{one(endings)}"), False
        if odd:
            return one((*DOUBTFUL, *DATA, *FITS)), False
        if command == "watch":
            return "runs", False
        return one(FITS if name in ("fit", "fitted") else DATA), False
    if issubclass(kind, StrEnum):
        return ("nonsense", True) if odd else (one(tuple(kind)), False)
    if kind is int:
        return (one(("x", "1.5", "", "nan", "1e3")), True) if odd else (one(WHOLE), False)
    if kind is float:
        return (one(("x", "", "1,5", "--")), True) if odd else (one((*GOOD_TEXT.get(name, ()), *NUMBERS)), False)
    return (one(STRANGE_TEXT) if odd else one(GOOD_TEXT.get(name, STRANGE_TEXT))), False


def _typed(line: Line, where: Path) -> tuple[int, str]:
    """Type it; its exit code and what was said, or :class:`Broken`."""
    (where / "locked").chmod(0o500)
    before = _files(where)
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    try:
        with (
            limited(SECONDS, MOST_MEMORY),
            mock.patch.object(sys, "argv", ["trackless", *line.words]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                cli.main()
            except SystemExit as end:
                code = end.code
    except Broken:
        raise
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        inside = [one for one in traceback.extract_tb(error.__traceback__) if "/trackless/" in one.filename]
        place = f"{inside[-1].filename}:{inside[-1].lineno}" if inside else ""
        raise Broken(f"{type(error).__name__}: {error} ({place} {last.filename}:{last.lineno})") from error
    said, told = err.getvalue(), out.getvalue()
    code = 0 if code is None else code
    if code not in (0, 1, 2):
        raise Broken(f"exit code {code!r}: {said}")
    if "Traceback" in said + told or "Warning" in said:
        raise Broken(f"it shows {said + told}")
    if line.wrong and code == 1:
        raise Broken(f"exit code 1 for wrong usage: {said}")
    if line.wrong and code == 0 and not {"--help", "--version", "--list"} & set(line.words):
        raise Broken("exit code 0 for wrong usage")
    _check_said(int(code), said, told, line)
    _check_files(before, _files(where), int(code), line, where)
    return int(code), said if code else ""


def _check_said(code: int, said: str, told: str, line: Line) -> None:
    """A failure is one line (or the framework's box) that says what to do; a success says nothing of errors."""
    if code == 0:
        if "error:" in said:
            raise Broken(f"exit code 0, but {said}")
        if "--json" in line.words and "--help" not in line.words and told.strip() and "--version" not in line.words:
            for part in [told] if line.words[0] != "watch" else told.splitlines():
                json.loads(part, parse_constant=_no_constant)
        return
    if not said.startswith("error:"):
        if code == 2 and ("Usage:" in said or "─ Error ─" in said):
            return
        raise Broken(f"exit code {code}, said: {said!r}")
    message = said.removesuffix("\n")
    if "\n" in message or not message.replace("\t", " ").isprintable():
        raise Broken(f"not one line: {message!r}")
    words = set(message.replace(";", " ").replace(",", " ").replace(".", " ").split())
    if len(message) > 6500 or not (words & set(REMEDIES) or "--" in message):
        raise Broken(f"names no remedy: {message[:600]!r}")


def _no_constant(name: str) -> None:
    raise Broken(f"{name} is no JSON")


def _files(where: Path) -> dict[str, str]:
    """All files below a folder, with what is in them."""
    found = {}
    for folder, _, names in os.walk(where):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, where)] = hashlib.sha1(file.read()).hexdigest()
    return found


def _check_files(before: dict[str, str], after: dict[str, str], code: int, line: Line, where: Path) -> None:
    """Nothing temporary is left, nothing that was there has changed unasked, what is new is whole."""
    left = [name for name in after if ".trackless-" in name or name.endswith((".tmp", ".old"))]
    if left:
        raise Broken(f"it leaves {left}")
    changed = [name for name, content in before.items() if after.get(name) != content]
    if changed and (code != 0 or "--force" not in line.words or len(changed) > 2):
        raise Broken(f"exit code {code}, and {changed} changed")
    new = [name for name in after if name not in before]
    if code == 2 and new:
        raise Broken(f"exit code 2, but it wrote {new}")
    for name in (*new, *changed):
        archive = line.words[0] in ("fit", "watch") and Path(name).suffix not in (".png", ".pdf", ".svg")
        if name in after and not (zipfile.is_zipfile(where / name) if archive else _whole(where / name, where)):
            raise Broken(f"exit code {code}, and {name} is not whole")


def _whole(path: Path, where: Path) -> bool:
    """Whether a file is what its ending says, to its end."""
    content, ending = path.read_bytes(), path.suffix.lower()
    if any(".zarr" in part for part in path.relative_to(where).parts[:-1]):
        return bool(content)
    checks = {
        ".png": content.endswith(b"IEND\xaeB`\x82"), ".pdf": content.rstrip().endswith(b"%%EOF"),
        ".svg": content.rstrip().endswith(b"</svg>"), ".html": content.rstrip().endswith(b"</html>"),
    }  # fmt: skip
    if ending in checks:
        return checks[ending]
    if ending in (".npz", ".trackless", ".state"):
        return zipfile.is_zipfile(path)
    if ending == ".py":
        ast.parse(content)
    if ending in (".csv", ".tsv", ".py", ".table", ".extxyz", ".lammpstrj", ".json", ".md", ".dump", ".xyz"):
        return content.endswith(b"\n")
    return bool(content)


def _writable_again(where: Path) -> None:
    (where / "locked").chmod(0o700)


def _shown(line: Line) -> str:
    return shlex.join(word[:80] for word in line.words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="how many command lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--messages", action="store_true", help="print what was said, each message once")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-commands-"))
    start = time.perf_counter()
    outcome = fuzz(asked.count, asked.seed, folder)
    shutil.rmtree(folder)
    for name in sorted({command for command, _ in outcome.counts}):
        codes = [outcome.counts[name, code] for code in (0, 1, 2)]
        print(f"{name[:20]:>12}: {codes[0]:5d} done, {codes[1]:5d} failed, {codes[2]:5d} refused as wrong usage")
    for number, said in sorted(outcome.messages.values()) if asked.messages else ():
        print(f"{number}: {said.strip()[:300]}")
    totals = [sum(n for (_, one), n in outcome.counts.items() if one == code) for code in (0, 1, 2)]
    print(
        f"{asked.count} command lines in {time.perf_counter() - start:.0f} s: exit codes 0, 1, 2: "
        f"{', '.join(map(str, totals))}; {len(outcome.broken)} broke it; longest {outcome.longest[0]:.1f} s "
        f"(number {outcome.longest[1]}: {outcome.longest[2][:200]})"
    )
    for number, line, what in outcome.broken:
        print(f"{number}: trackless {line[:300]}\n    {what[:1000]}")
    return bool(outcome.broken)


if __name__ == "__main__":
    sys.exit(main())
