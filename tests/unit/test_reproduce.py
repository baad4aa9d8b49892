"""The paper's numbers, resumable parts, sections and the page."""

import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import trackless as tl
from trackless.reproduce import EXPERIMENTS, page, provenance, runner
from trackless.reproduce.comparison import Cell, Contest, protocol_table
from trackless.reproduce.pool import METHODS, pool_errors, pool_moments
from trackless.reproduce.protocol import QUICK, Context, Part, chunks, seed_of
from trackless.reproduce.provenance import Cost, record
from trackless.reproduce.published import SOURCES, Published, _rows, published
from trackless.reproduce.readings import most_likely
from trackless.reproduce.sample_size import _sets, _together
from trackless.reproduce.sections import Claim, Section, Table
from trackless.reproduce.store import Store


@pytest.mark.parametrize(
    ("table", "quantity", "where", "expected"),
    [
        ("method_comparison", "external", {"method": "labeled", "interval": 1e-4}, (0.80, 0.55)),
        ("method_comparison", "interaction", {"method": "network", "interval": 0.1}, (5.80, 0.42)),
        ("boundary", "interaction", {"model": "conditioning", "method": "sinkhorn", "interval": 0.1}, (1258, 13)),
        ("boundary", "external", {"model": "singularity", "method": "self_test", "interval": 1e-2}, (13.34, 0.85)),
        ("sample_size_zero_gap", "interaction", {"runs": 5000, "interval": 0.01}, (46.7, 0.2)),
        ("sample_size_left", "external", {"runs": 20, "interval": 0.1}, (12.2, 7.2)),
    ],
)
def test_published_numbers(table, quantity, where, expected):
    assert published(table, quantity, **where) == expected


def test_published_numbers_without_spread():
    assert published("condition_grid", "interaction", dim=10, particles=100).mean == 50
    assert published("condition_models", "all", model="conditioning", particles=5).mean == 81_000
    assert published("condition_models", "all_slope", model="singularity").mean == 0.0
    assert published("method_comparison", "external", method="network", interval=1e-4) is None
    with pytest.raises(ValueError, match="not one cell"):
        published("boundary", "external", model="smoothness")


def test_all_tables_are_named_and_whole():
    counts = {name: sum(row["table"] == name for row in _rows()) for name in SOURCES}
    assert counts == {
        "method_comparison": 30, "boundary": 96, "condition_models": 30, "sample_size_left": 42,
        "sample_size_trapezoid": 56, "sample_size_zero_gap": 56, "condition_grid": 57, "non_radial": 2,
    }  # fmt: skip
    assert sum(counts.values()) == len(_rows())


def test_finished_parts_are_not_computed_again(tmp_path):
    store, calls = Store(tmp_path / "parts"), []

    def compute():
        calls.append(1)
        return {"x": np.arange(4.0)}

    assert not store.has("a")
    for _ in range(2):
        assert np.array_equal(store.arrays("a", compute)["x"], np.arange(4.0))
    assert store.has("a")
    assert len(calls) == 1


def test_an_interrupted_part_leaves_nothing(tmp_path):
    store = Store(tmp_path)

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.arrays("a", interrupted)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_part_is_named(tmp_path):
    store = Store(tmp_path)
    store.arrays("a", lambda: {"x": np.zeros(100)})
    path = tmp_path / "a.npz"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(tl.InputError, match=r"a\.npz is damaged; delete it"):
        store.arrays("a", lambda: {"x": np.zeros(1)})


def test_chunks_are_other_runs():
    model = tl.models.reference()
    pieces = list(chunks(model, 3, 1e-4, 5, step=1e-4, duration=0.01))
    assert sum(piece.runs for piece in pieces) == 3
    assert len({seed_of(purpose, name, trial) for purpose in ("pool", "best") for name in ("reference", "smoothness")
                for trial in range(3)}) == 12  # fmt: skip


def test_sets_are_disjoint_where_they_can_be():
    small, large = _sets(200, 5, 10), _sets(200, 50, 10)
    assert len(np.unique(np.concatenate(small))) == 50
    assert all(len(np.unique(one)) == 50 for one in large)


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    protocol = replace(QUICK, trials=2, runs=20, sizes=(20,))
    return Context(protocol, Store(tmp_path_factory.mktemp("parts")))


def test_moments_of_the_pool_are_those_of_its_runs(context):
    moments = pool_moments(context, "reference", 0)
    assert set(moments) == {(method, dt) for method in METHODS for dt in (1e-2, 1e-1)}
    data = tl.simulate(
        tl.models.reference(),
        runs=20,
        step=1e-4,
        observe_every=1e-2,
        labeled=True,
        seed=seed_of("pool", "reference", 0),
    )
    own = moments["self_test", 1e-1]
    direct = tl.accumulate(data.every(10), own.external, own.interaction)
    np.testing.assert_allclose(
        own.normal_equations(1.0, "left").matrix, direct.normal_equations(1.0, "left").matrix, rtol=1e-12
    )
    assert own.blocks == 2  # groups of ten
    again = pool_moments(context, "reference", 0)["self_test", 1e-1]  # from the file
    assert np.array_equal(again.quadratic, own.quadratic)


def test_sets_of_groups_add_up(context):
    trials = [pool_moments(context, "reference", trial)["self_test", 1e-1] for trial in range(2)]
    both = _together(trials, np.arange(4))
    assert both.runs.sum() == 40
    np.testing.assert_allclose(both.energy.sum(axis=0), sum(t.energy.sum(axis=0) for t in trials), rtol=1e-12)


def test_errors_of_the_pool_rank_the_methods(context):
    errors = pool_errors(context, "reference")
    assert errors["sinkhorn", 1e-2].shape == (2, 2)
    assert errors["labeled", 1e-2][:, 1].mean() == pytest.approx(37.5, abs=4)  # the paper: 37.49
    assert errors["self_test", 1e-2][:, 1].mean() < 12


def test_agreement_is_in_combined_deviations():
    cell = Cell("reference", 0.1, "labeled", "external", Published(10.0, 0.3), np.array([10.5, 11.3]))
    assert cell.off == pytest.approx(0.9 / np.hypot(0.3, np.sqrt(0.32)))
    assert cell.agrees
    assert not cell._replace(paper=Published(13.0, 0.3)).agrees


def test_a_contest_is_won_by_the_better_or_the_equal():
    ours = np.array([1.0, 1.2, 1.1])
    contest = Contest("reference", 0.1, "door", "external", Published(1.05, 0.4), "network", ours)
    assert contest.won
    assert not contest._replace(ours=ours + 1).won


def test_means_are_alike_within_standard_errors_not_within_the_scatter_of_sets():
    theirs, ours = Published(10.0, 1.0), np.linspace(10.0, 12.0, 10)
    assert abs(theirs.off(ours)) < 1
    assert not theirs.alike(ours)
    assert theirs.alike(ours - 0.9)


def test_lost_contests_and_shared_work_are_said(tmp_path):
    first = Section("First", counts={"won": (1, 2)}, lost=("Phi of a model (3 against 2 %)",))
    page.write_section(tmp_path, "boundary", first, record(120.0, 120.0, 1.0, ["a"]))
    page.write_section(tmp_path, "recovery", Section("Second"), record(180.0, 60.0, 1.0, ["a", "b"]))
    text = page.write_page(tmp_path).read_text()
    assert "1 of 2 cells (50%)" in text
    assert "The others are Phi of a model (3 against 2 %)." in text
    assert "3.0 minutes (1.0 without what sections above needed, too)" in text
    assert "Computed in 3 minutes" in text
    assert "commit a and b;" in text


def test_what_is_counted_is_said_of_every_table(tmp_path):
    for name, title, count in (
        ("boundary", "Edges (Table 4)", (3, 4)),
        ("recovery", "Sizes (Table 6, Figure 2)", (1, 4)),
    ):
        page.write_section(tmp_path, name, Section(title, counts={"agree": count}), record(1.0, 1.0, 1.0, ["a"]))
    assert "4 of 8 cells (50%)" in (text := page.write_page(tmp_path).read_text())
    assert "(Table 4: 3 of 4, Table 6: 1 of 4)" in text


def test_a_set_on_the_paper_s_steps_is_a_contest_of_its_own():
    contest = Contest("m", 0.1, "door", "external", Published(1.0, 0.3), "network", np.array([0.8, 1.2]), on_steps=1.5)
    assert contest.won_on_steps
    assert not contest._replace(on_steps=1.7).won_on_steps


def test_cells_that_differ_have_a_numbered_reason():
    theirs = Published(10.0, 0.3)
    cells = [
        Cell("reference", 0.1, method, role, theirs, np.array([mean, mean + 0.2]))
        for method, mean in (("labeled", 10.0), ("sinkhorn", 15.0))
        for role in ("external", "interaction")
    ]
    reasons = {("reference", "labeled"): "Not asked for.", ("", "sinkhorn"): "Because."}
    table = protocol_table("t", "T", cells, reasons)
    assert [row[5] for row in table.rows] == ["", "+15.4 (1)"]
    assert "\n1. Because." in table.note
    assert "Not asked for" not in table.note


def test_partners_may_be_shared():
    generator = np.random.default_rng(1)
    before = generator.standard_normal((40, 5, 2))
    after = before + 1e-3 * generator.standard_normal(before.shape)
    order = np.array([generator.permutation(5) for _ in range(40)])
    mixed = np.take_along_axis(after, order[..., None], axis=1)
    found = most_likely(before, mixed, 1e-3)
    assert (np.take_along_axis(order, found, axis=1) == np.arange(5)).all()  # hardly moved: the right ones
    far = most_likely(before, generator.standard_normal(before.shape), 1.0)
    assert any(len(set(row)) < 5 for row in far.tolist())


def test_the_page_has_what_was_computed(tmp_path):
    table = Table("numbers", "Some numbers", ("a", "b"), [(1.0, "**2**"), (None, "x")], "A note.")
    figure = Figure()
    figure.subplots().plot([0, 1])
    claims = (Claim("It works", True, "1 of 1"), Claim("It flies", False, "0 of 1"))
    section = Section("A title", ("A paragraph.",), (table,), {"picture": figure}, claims)
    page.write_section(tmp_path, "boundary", section, record(61.0, 61.0, 1.25, ["a"]))
    text = page.write_page(tmp_path).read_text()
    assert (tmp_path / "numbers.csv").read_text() == "a,b\n1,2\n,x\n"
    assert (tmp_path / "picture.png").stat().st_size > 1000
    assert (tmp_path / "picture.pdf").exists()
    for words in ("- It works (1 of 1)", "- It flies (0 of 1)", "![A title](picture.png)", "A note.", "1.0 minutes"):
        assert words in text
    assert text.index("It holds") < text.index("It works") < text.index("It does not hold") < text.index("It flies")
    assert json.loads((tmp_path / "sections.json").read_text())["boundary"]["title"] == "A title"


def test_a_quick_look_does_not_touch_the_page_of_a_full_run(tmp_path):
    section = Section("A title", ("A paragraph.",))
    page.write_section(tmp_path, "boundary", section, record(1.0, 1.0, 1.0, ["a"]))
    full = page.write_page(tmp_path).read_text()
    assert "10 sets of 2000 runs" in full
    assert "quick look" not in full
    with pytest.raises(tl.InputError, match="holds the page of a full run; give a quick one another --output"):
        runner.open_context(tmp_path, quick=True, resume=True)
    (tmp_path / "quick").mkdir()
    page.write_section(tmp_path / "quick", "boundary", section, record(1.0, 1.0, 1.0, ["a"], quick=True))
    quick = page.write_page(tmp_path / "quick").read_text()
    assert f"{QUICK.trials} sets of {QUICK.runs} runs" in quick
    assert "This is a quick look" in quick
    assert "does not hold" not in quick
    with pytest.raises(tl.InputError, match="holds the page of a quick run"):
        runner.open_context(tmp_path / "quick", quick=False, resume=False)


def test_experiments_have_titles_and_parts(context):
    for name in EXPERIMENTS:
        assert runner.title_of(name)
        parts = runner._module(name).parts(context)
        assert all(isinstance(part, Part) for part in parts)
        assert len({part.name for part in parts}) == len(parts)


def test_what_is_asked_for_must_exist(tmp_path):
    assert runner.chosen(["all"]) == list(EXPERIMENTS)
    assert runner.chosen(["boundary", "boundary"]) == ["boundary"]
    with pytest.raises(tl.InputError, match="there is no 'tables'"):
        runner.chosen(["all", "tables"])
    with pytest.raises(tl.InputError, match="there is no 'tables'; expected all, method_comparison"):
        runner.chosen(["tables"])
    runner.open_context(tmp_path, quick=True, resume=False).store.arrays("a", lambda: {"x": 1})
    with pytest.raises(tl.InputError, match="--resume to go on"):
        runner.open_context(tmp_path, quick=True, resume=False)
    assert runner.open_context(tmp_path, quick=True, resume=True).store.has("a")
    runner.open_context(tmp_path, quick=False, resume=False)  # the full run has parts of its own


def test_pages_of_others_are_not_written_over(tmp_path):
    (tmp_path / "README.md").write_text("# My notes\n")
    with pytest.raises(tl.InputError, match="none of this program's pages and would be written over; give another"):
        runner.open_context(tmp_path, quick=True, resume=True)
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("text", ['{"x": 3}', "[1]", '{"boundary": {"about"', "\xff"])
def test_damaged_sections_are_named(tmp_path, text):
    (tmp_path / "sections.json").write_text(text, encoding="latin-1")
    with pytest.raises(tl.InputError, match=r"sections\.json is damaged, or not of this program; delete it"):
        runner.open_context(tmp_path, quick=True, resume=False)


def test_a_line_that_was_cut_short_costs_nothing_else(tmp_path):
    context = Context(QUICK, Store(tmp_path))
    runner._note(context, "a, b", 2.5)
    with (tmp_path / runner.DURATIONS).open("a") as file:
        file.write('"c",1')
    found = runner._spent(context)
    assert list(found) == ["a, b"]
    assert found["a, b"].seconds == 2.5
    assert Cost.read("1", "x", "a") is None


def test_a_commit_is_that_of_this_code_only(tmp_path, monkeypatch):
    def inside(*_):
        return tmp_path / "provenance.py"

    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(provenance, "Path", inside)
    assert provenance.commit.__wrapped__() == "unknown"  # a checkout, but of something else


def test_parts_are_announced_when_they_begin(context):
    running, seen = {"part": ""}, []
    work = [("first", Part("a", False, lambda: None)), ("first", None)]
    for _ in runner._named(work, running):
        seen.append(running["part"])
    assert seen == ["a", "first: tables and figures"]


def test_parts_run_once_and_sections_follow(context, tmp_path):
    told = []
    runner.reproduce(["error_bound"], context, tmp_path, told.append)
    assert len(told) == 1
    text = (tmp_path / "README.md").read_text()
    assert "lambda_min(A)" in text
    assert "joint coercivity" in text
