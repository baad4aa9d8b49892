"""Random command lines: right exit codes, one line that helps, nothing half-written; never a traceback.

``python tests/fuzz/fuzz_commands.py 2000 --seed 0`` prints what came of so many command lines, and those that broke it.
Options and their types are asked of the commands themselves, so that a new option is fuzzed without a word here.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
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
from pathlib import Path
from unittest import mock

import numpy as np
from fuzz_damage import OF_BYTES
from fuzz_limits import Broken, limited
from fuzz_lines import Line, parameters_of, random_line

import trackless as tl
from trackless import cli
from trackless.cli.commands import app

SECONDS = 300.0  # of which compiling may take most, on a busy machine
MOST_MEMORY = 1000  # megabytes; compiling takes most of them
REMEDIES = (
    "expected", "give", "choose", "use", "leave", "take", "write", "name", "copy", "allow", "create", "read", "make",
    "needs", "must", "--", "repair", "remove", "save", "convert", "try", "belong", "see", "install", "more", "smaller",
    "update", "delete", "or", "known:", "start", "saves", "file",
)  # fmt: skip


@dataclass
class Outcome:
    """What came of some command lines: counts by (command, exit code), those that broke it, the longest, messages."""

    counts: Counter = field(default_factory=Counter)
    broken: list[tuple[int, str, str]] = field(default_factory=list)
    longest: tuple[float, int, str] = (0.0, -1, "")
    messages: dict[str, tuple[int, str]] = field(default_factory=dict)


def fuzz(count: int, seed: int, folder: Path, first: int = 0) -> Outcome:
    """Type ``count`` command lines, each in a folder of its own with the same files."""
    outcome, original = Outcome(), folder / "files"
    if not original.exists():
        make_files(original)
    commands = {command.callback.__name__: parameters_of(command.callback) for command in app.registered_commands}
    started = Path.cwd()
    for number in range(first, first + count):
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
            print(f"{number}: trackless {_shown(line)[:300]}\n    {str(broken)[:1000]}", flush=True)
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


def make_files(folder: Path) -> None:
    """Small files that commands may be given: data of several formats, fits, damaged ones, folders."""
    folder.mkdir(parents=True)
    model = tl.models.reference()
    data = tl.simulate(model, runs=8, duration=0.12, step=1e-3, particles=4, seed=1)
    few = data[:1].between(0.0, 0.05)
    for name in ("data.npz", "data.csv", "data.h5"):
        tl.write(data, folder / name)
    tl.write(few, folder / "few.extxyz")
    tl.write(
        tl.simulate(model, runs=4, duration=0.1, step=1e-3, particles=3, dim=3, labeled=True), folder / "three.npz"
    )
    tl.write(
        tl.simulate(tl.models.mixture(), runs=6, duration=0.1, step=1e-3, particles={"a": 3, "b": 3}),
        folder / "two.npz",
    )
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


def _typed(line: Line, where: Path) -> tuple[int, str]:
    """Type it; its exit code and what was said, or :class:`Broken`."""
    (where / "locked").chmod(0o500)
    before = _files(where)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))  # as terminals
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
    said, told = (stream.buffer.getvalue().decode() for stream in (err, out))  # type: ignore[attr-defined]
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
    """A failure is one line that says what to do; a success says nothing of errors."""
    if code == 0:
        if "error:" in said:
            raise Broken(f"exit code 0, but {said}")
        if "--json" in line.words and "--help" not in line.words and told.strip() and "--version" not in line.words:
            for part in [told] if line.words[0] != "watch" else told.splitlines():
                json.loads(part, parse_constant=_no_constant)
        return
    if not said.startswith("error:"):
        if code == 2 and not line.words and "Usage:" in told:
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
        archive = line.words[0] in ("fit", "watch") and Path(name).suffix not in (".png", ".pdf", ".svg", ".json")
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
    if ending == ".json":
        return bool(json.loads(content))
    if ending == ".py":
        ast.parse(content)
    if ending in (".csv", ".tsv", ".py", ".table", ".extxyz", ".lammpstrj", ".md", ".dump", ".xyz"):
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
    parser.add_argument("--first", type=int, default=0, help="begin with this one, to see it again")
    parser.add_argument("--messages", action="store_true", help="print what was said, each message once")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-commands-"))
    start = time.perf_counter()
    outcome = fuzz(asked.count, asked.seed, folder, asked.first)
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
    return bool(outcome.broken)


if __name__ == "__main__":
    sys.exit(main())
