"""The report in a browser: it runs without a complaint, answers to mouse and keyboard, and fits every window.

Only where Chromium is installed.
"""

import time
import types

import numpy as np
import pytest
from chromium import Browser, found

import trackless as tl
from trackless.exploration import explore
from trackless.reporting.content import collect
from trackless.reporting.curves import potentials_of
from trackless.reporting.page import page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(found() is None, reason="there is no Chromium here")]
MODEL = tl.models.reference()
EVIL = "</script><script>document.title = window.broken = 'yes'</script><img src=x onerror='window.broken = true'>"


@pytest.fixture(scope="module")
def browser():
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A usual page."""
    data = tl.simulate(MODEL, runs=20, duration=0.3, step=1e-3)
    fit = tl.SelfTest(MODEL.external_basis, MODEL.interaction_basis, sigma=1.0).fit(data)
    return fit.report(tmp_path_factory.mktemp("report") / "report.html", data, source="shells.npz")


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """Markup in everything that a user can name."""
    data = tl.simulate(MODEL, runs=5, step=1e-3, duration=0.1, particles=6)
    data = tl.Snapshots(data.positions, data.times, species=np.array(["a", EVIL] * 3))
    fit = tl.SelfTest({"a": tl.RadialSplines(4), EVIL: tl.RadialSplines(4)}, None, sigma=1.0, regularization=1e-3).fit(
        data
    )
    return fit.report(tmp_path_factory.mktemp("evil") / "report.html", data, title=EVIL, source=[EVIL])


@pytest.fixture(scope="module")
def wordy(tmp_path_factory):
    """Species with names that are longer than a line, in warnings, lists and titles."""
    data = tl.simulate(MODEL, runs=5, step=1e-3, duration=0.1, particles=6)
    names = tuple(kind + 30 * "name" for kind in "ab")
    data = tl.Snapshots(data.positions, data.times, species=np.array(names * 3))
    families = {name: tl.RadialSplines(4) for name in names}, {names: tl.RadialSplines(4)}
    fit = tl.SelfTest(*families, sigma=1.0, regularization="evidence").fit(data)
    return fit.report(tmp_path_factory.mktemp("wordy") / "report.html", data)


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    """A potential that is not radial, and data on a line."""
    data = tl.simulate(MODEL, runs=5, duration=0.1, step=1e-3)
    family = tl.TensorSplines(5).adapted(explore(data), "external")
    free = family.combine(np.random.default_rng(0).normal(size=family.size))
    line = tl.simulate(MODEL, runs=5, duration=0.1, step=1e-3, dim=1)
    said = collect(tl.SelfTest(MODEL.external_basis, None, sigma=1.0).fit(line), line)
    learnt = types.SimpleNamespace(external_=free, interaction_=None, sigma_=1.0)
    path = tmp_path_factory.mktemp("plane") / "report.html"
    path.write_text(page(said | {"potentials": potentials_of(learnt, explore(data))}), encoding="utf-8")
    return path


@pytest.fixture
def shown(browser, report):
    browser.look()
    browser.open(report)
    return browser


def readout(browser, card="potential-1"):
    return browser.run(f"document.querySelector('#{card} .readout').textContent")


def curve(browser, card="potential-1"):
    return browser.run(f"document.querySelector('#{card} .plot .line').getAttribute('d')")


def test_it_opens_without_complaints_and_loads_nothing(shown):
    assert shown.complaints == []
    assert shown.loaded == []
    assert shown.run("document.title") == "Forces learnt from shells.npz"
    assert shown.run("document.querySelectorAll('.plot svg').length") == 6  # V, Phi; places and distances, at two times


def test_switches_change_what_is_drawn(shown):
    slope = curve(shown)
    shown.click("input[value=force]")
    force = curve(shown)
    assert force != slope
    assert shown.run("document.querySelector('#potential-1 .symbol').textContent") == "−Φ′"
    shown.click("input[name=x][value=log]")
    shown.click("input[name=y][value=log]")
    assert curve(shown) not in (slope, force)
    assert shown.run("document.querySelector('#potential-1 .symbol').textContent") == "|−Φ′|"
    shown.click("input[value=potential]")
    assert shown.run("document.querySelector('input[name=y]').disabled")
    assert "constant" in shown.run("document.getElementById('shown').textContent")
    assert shown.complaints == []


def test_hovering_reads_values(shown):
    x, y = shown.middle_of("#potential-1 .plot")
    shown.mouse("mouseMoved", x, y)
    here = readout(shown)
    shown.mouse("mouseMoved", x + 60, y)
    there = readout(shown)
    assert here != there
    assert "95 %:" in there
    assert shown.run("document.querySelectorAll('#potential-1 [data-cursor] .mark').length") == 1
    # what is read is what was computed
    index = shown.run("Number(document.querySelector('#potential-1 input').value)")
    r = shown.run(f"content.potentials[1].columns.r[{index}]")
    slope = shown.run(f"content.potentials[1].columns.slope[{index}]")
    assert f"{r:.3g}" in there
    assert f"{slope:.3g}".replace("-", "−") in there


def test_maps_are_read_and_switched(browser, plane):
    browser.look()
    browser.open(plane)
    picture = "document.querySelector('#potential-0 image').getAttribute('href')"
    legend = "document.querySelector('#potential-0 .legend').textContent"
    sizes = browser.run(picture)
    assert browser.run("document.querySelectorAll('#potential-0 .arrow').length") > 20
    x, y = browser.middle_of("#potential-0 .plot")
    browser.mouse("mouseMoved", x - 40, y)
    here = readout(browser, "potential-0")
    browser.mouse("mouseMoved", x, y - 30)
    assert readout(browser, "potential-0") != here
    assert "∇V = (" in here
    assert "size of the slope" in browser.run(legend)
    assert browser.run("document.querySelector('input[name=x]').closest('fieldset').checkVisibility()") is False
    box = "document.querySelector('#potential-0 {}').getBoundingClientRect().{}".format
    gaps = [browser.run(f"{box('image', side)} - {box('input', side)}") for side in ("left", "right")]
    assert gaps == pytest.approx([9, -9], abs=1)  # half of what is dragged
    browser.click("input[value=potential]")
    assert browser.run(picture) != sizes
    assert browser.run("document.querySelectorAll('#potential-0 .arrow').length") == 0
    assert "V = " in readout(browser, "potential-0")
    assert "value" in browser.run(legend)
    for value in ("force", "log"):
        browser.click(f"input[value={value}]")
    assert browser.complaints == []


def test_everything_can_be_done_with_the_keyboard(shown):
    shown.run("document.querySelector('#potential-1 input').focus()")
    before = readout(shown)
    shown.key("ArrowRight", 39)
    assert readout(shown) != before
    spoken = shown.run("document.activeElement.getAttribute('aria-valuetext')")
    assert spoken.replace(", ", "") == readout(shown)
    shown.run("document.querySelector('input[value=slope]').focus()")
    shown.key("ArrowRight", 39)
    assert shown.run("document.querySelector('input[name=show]:checked').value") == "force"
    shown.run("document.getElementById('scrub').focus()")
    shown.key("ArrowRight", 39)
    assert shown.run("document.getElementById('time').textContent") == "t = 0.01"


def test_a_screen_reader_finds_names_for_everything(shown):
    name = "e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')?.textContent.trim()"
    everything = "[...document.querySelectorAll('input, button, canvas, [role=img]')]"
    assert shown.run(f"{everything}.filter((e) => !({name})).length") == 0
    assert shown.run("document.documentElement.lang") == "en"
    assert shown.run("document.querySelectorAll('h1').length") == 1
    assert shown.run("document.querySelectorAll('figure.single table').length") == 1  # numbers that no curve shows
    tables = "[...document.querySelectorAll('figure.card:not(.single) table')]"
    assert shown.run(f"{tables}.length") == 6
    assert shown.run(f"{tables}.every((t) => t.querySelectorAll('tbody tr').length > 15)")


def test_the_animation_plays_pauses_and_is_scrubbed(shown):
    picture = "document.querySelector('canvas').toDataURL()"
    first = shown.run(picture)
    shown.click("#play")
    assert shown.run("document.getElementById('play').textContent") == "Pause"
    shown.wait("movie.index > 2")
    shown.click("#play")
    stopped = shown.run("movie.index")
    assert shown.run(picture) != first
    time.sleep(0.2)
    assert shown.run("movie.index") == stopped
    shown.run(
        "document.getElementById('scrub').value = 0; document.getElementById('scrub').dispatchEvent(new Event('input'))"
    )
    assert shown.run(picture) == first
    assert "particles at t = 0" in shown.run("document.querySelector('canvas').getAttribute('aria-label')")


def test_it_moves_by_itself_only_for_those_who_do_not_mind(browser, report):
    for still in (True, False):
        browser.look(still=still)
        browser.open(report)
        browser.middle_of("canvas")
        if not still:
            browser.wait("movie.index > 0")
        else:
            time.sleep(0.3)
            assert browser.run("movie.index") == 0


def test_values_and_pictures_can_be_downloaded(shown, tmp_path):
    shown.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    shown.click("#potential-1 [data-save=csv]")
    shown.click("#potential-0 [data-save=svg]")
    end = time.monotonic() + 30
    while {file.name for file in tmp_path.iterdir()} != {"interaction.csv", "external-potential.svg"}:
        assert time.monotonic() < end, list(tmp_path.iterdir())
        time.sleep(0.05)
    rows = (tmp_path / "interaction.csv").read_text().splitlines()
    assert rows[0].startswith("# lengths are in units of the data, potentials in squares")
    assert rows[1].startswith("r,profile,slope,profile_lower")
    assert len(rows) == 502
    drawn = (tmp_path / "external-potential.svg").read_text()
    assert drawn.startswith("<svg")
    assert 'stroke="rgb(0, 114, 178)"' in drawn
    assert "class=" not in drawn
    assert shown.complaints == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 390, 768, 1600])
def test_no_window_is_too_narrow(browser, report, evil, wordy, width, dark):
    for made in (report, evil, wordy):
        browser.look(width, 800, dark)
        browser.open(made)
        assert browser.run("document.documentElement.scrollWidth") <= width
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(19, 22, 26)") == dark


def test_markup_in_names_does_nothing(browser, evil):
    browser.look()
    browser.open(evil)
    assert browser.run("window.broken") is None
    assert browser.run("document.title") == EVIL
    assert browser.run("document.querySelector('h1').textContent") == EVIL
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert EVIL in browser.run("document.querySelector('#movie-head').closest('section').textContent")
    assert browser.complaints == []


def test_even_a_script_that_got_in_would_not_run(browser, report, tmp_path):
    """The second wall: the page's policy."""
    made = report.read_text(encoding="utf-8").replace("</main>", "<script>window.broken = true</script></main>")
    (tmp_path / "broken.html").write_text(made, encoding="utf-8")
    browser.look()
    browser.open(tmp_path / "broken.html")
    assert browser.run("window.broken") is None
    assert "Content Security Policy" in browser.complaints[0]


def test_errors_of_a_map_are_read_as_those_of_a_curve(browser, plane):
    browser.look()
    browser.open(plane)
    banded = (
        "{letter: 'V', banded: true, x: [0], y: [0], columns: {value: [[1]], value_half: [[0.5]], gradient_1: [[2]], "
        "gradient_2: [[-1]], gradient_1_half: [[0.25]], gradient_2_half: [[null]]}}"
    )
    said = "readMap(%s, {show: '%s'}, 0, 0).map(([words]) => words).join(', ')"
    assert browser.run(said % (banded, "potential")) == "(0, 0), V = 1.00, 95 %: 0.500 to 1.50"
    slopes = "(0, 0), ∇V = (2.00, −1.00), 95 %: 1.75 to 2.25 and unknown"
    assert browser.run(said % (banded, "slope")) == slopes


def test_pictures_of_particles_have_a_scale(shown):
    """A bar of a round length stands below them, on a foot where nothing else is."""
    shown.run(
        "window.lengths = []; CanvasRenderingContext2D.prototype.fillText = (text) => window.lengths.push(text); "
        "movie.show(0)"
    )
    lengths = shown.run("window.lengths")
    assert len(lengths) == 2
    assert lengths[0] == lengths[1]
    assert lengths[0].strip("0.") in ("1", "2", "5")
    across = shown.run("content.animation.upper[0] - content.animation.lower[0]")
    assert 0.1 * across < float(lengths[0]) <= 0.5 * across


def test_paper_shows_the_last_snapshot(shown):
    """At the first one, observed and simulated are the same."""
    shown.send("Emulation.setEmulatedMedia", media="print")
    shown.wait("movie.index === movie.last")
    assert shown.run("document.getElementById('time').textContent") == "t = 0.3"
    shown.send("Emulation.setEmulatedMedia", media="")
    shown.wait("movie.index === 0")


def test_it_can_be_printed(shown, tmp_path):
    shown.paper(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    shown.send("Emulation.setEmulatedMedia", media="print")
    assert shown.run("getComputedStyle(document.querySelector('.toolbar')).display") == "none"
    shown.send("Emulation.setEmulatedMedia", media="")
