"""trackless watch: add files to a fit as they come."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from trackless._errors import InputError
from trackless.cli.common import (
    AsJson,
    BoxSides,
    ColumnNames,
    CouplingName,
    Force,
    MaxGap,
    Threads,
    TimeStep,
    check_outputs,
    console,
    job,
    longest_interval,
    positive,
    print_sentence,
    read_options,
    without_files,
)
from trackless.cli.fit import slopes
from trackless.cli.methods import Method, Options, as_seen, noise_intensity, plan
from trackless.cli.words import as_typed
from trackless.wording import plural

FIXED = (
    "from now on files are added to these: families, what was left out and sigma, if it was not given, stay as they "
    "were found on them; trackless fit of all files chooses anew"
)


def watch(
    folder: Annotated[Path, typer.Argument(help="Where files of snapshots appear; each is one run or several.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The fit, written anew after every addition.")],
    every: Annotated[float, typer.Option(help="Seconds between two looks.", metavar="SECONDS")] = 10.0,
    once: Annotated[bool, typer.Option("--once", metavar="", help="Add what is there, and end.")] = False,
    sigma: Annotated[
        str | None, typer.Option(help="Noise intensity. Left out, it is found on the first files.", metavar="NUMBER")
    ] = None,
    dt: TimeStep = None,
    columns: ColumnNames = None,
    box: BoxSides = None,
    max_gap: MaxGap = "auto",
    external: Annotated[str | None, typer.Option(help="V: as for trackless fit.")] = None,
    interaction: Annotated[str | None, typer.Option(help="Phi: as for trackless fit.")] = None,
    center: Annotated[str | None, typer.Option(help="Centre of a radial V: mean, origin or fit.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Distance beyond which there is no interaction.")] = None,
    coupling: Annotated[CouplingName, typer.Option(help="As for trackless fit.")] = CouplingName.auto,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Learn V and Phi from the files of a folder, and again whenever there are new ones; Ctrl-C ends it.

    What was added is kept beside the fit (FIT.state): the same command goes on later, and no file counts twice.
    """
    with job(threads, as_json):
        with without_files():
            positive(every=every)
            reading = read_options(dt, columns, box)
            asked = Options(
                Method.auto, noise_intensity(sigma), external, interaction, center, None, None, None, None,
                coupling.value, None, None, None, False, longest_interval(max_gap),
                as_seen(cutoff, None, None, None, None),
            )  # fmt: skip
            planned = plan(asked)
        if not folder.is_dir():
            raise InputError(f"{folder}: there is no such folder; give the one that files appear in")
        watching = _begun(folder, output, planned.estimator.fit, reading, asked, force)
        state = _state(output)
        if not as_json:
            console.print(f"Watching {escape(str(folder))}; assumed: {planned.assumed}", highlight=False)
        try:
            _go_on(watching, output, state, every, once, as_json)
        except KeyboardInterrupt:
            if not as_json:
                many = plural(len(watching.watched.added), "file")
                console.print(f"Stopped after {many}; the same command goes on from here.", highlight=False)


def _state(output: Path) -> Path:
    return output.with_name(output.name + ".state")


def _begun(folder: Path, output: Path, first: Any, reading: dict[str, Any], asked: Options, force: bool) -> Any:
    """The folder with what is known of it already."""
    import trackless as tl
    from trackless.digests import digest
    from trackless.files.formats import is_readable
    from trackless.watching import Watch, Watched

    state, settings = _state(output), digest((reading, asked))
    watched = Watched(settings)
    if state.exists():
        remedy = "delete it to begin anew, or choose another name for the fit (-o)"
        try:
            watched = tl.load(state)
        except InputError as error:
            raise InputError(f"{error}; it was not used: {remedy}") from None
        if not isinstance(watched, Watched) or watched.settings != settings:
            raise InputError(f"{state}: what was added before was read or fitted with other options; {remedy}")
    else:
        check_outputs(force, (), output)
    return Watch(folder, lambda path: tl.read(path, **reading), is_readable, first, watched)


def _go_on(watching: Any, output: Path, state: Path, every: float, once: bool, as_json: bool) -> None:
    import trackless as tl

    fit = watching.fit
    if fit is not None and not output.exists():
        fit.save(output)
    while True:
        new, before = watching.fit is None, watching.watched
        found = watching.look()
        if watching.watched is not before:
            tl.save(watching.watched, state, overwrite=True, compress=False)
        if found.added:
            watching.fit.save(output, overwrite=True)
        _tell(watching, found, new, as_json)
        if once and not found.waiting:
            return
        time.sleep(min(every, 1.0) if once else every)


def _tell(watching: Any, found: Any, new: bool, as_json: bool) -> None:
    fit = watching.fit
    if as_json:
        if found.added or found.told:
            learnt = {} if fit is None else {
                "runs": int(fit.moments_.runs.sum()), "sigma": fit.sigma_, "loss": fit.loss_, "slopes": slopes(fit),
                "beyond": fit.beyond_,
            }  # fmt: skip
            print(json.dumps({"added": found.added, "told": found.told} | learnt), flush=True)
        return
    for sentence in found.told:
        console.print(f"[yellow]skipped or waiting:[/yellow] {escape(as_typed(sentence))}", highlight=False)
    if not found.added:
        return
    runs, known = (
        plural(round(count), word)
        for count, word in ((fit.moments_.runs.sum(), "run"), (fit.posterior_.effective, "parameter"))
    )
    names = escape(", ".join(found.added))
    console.print(
        f"{time.strftime('%H:%M:%S')} added {names}: {runs} in all, loss {fit.loss_:.5g}, the data determine {known}",
        highlight=False,
    )
    for sentence in (*fit.findings_.sentences, FIXED) if new else fit.beyond_:
        print_sentence(sentence)
