// Puts everything together: draws what the page holds, and listens.

const content = JSON.parse(document.getElementById("data").textContent);
const state = { show: "slope", x: "linear", y: "linear" };
const redraws = [];

/** A plot of curves, its cursor and its files. */
function wireCurve(figure, one, drawn, read, columns) {
  const [holder, slider, words] = [figure.querySelector(".plot"), figure.querySelector("input"), figure.querySelector(".readout")];
  let plot = null;
  const point = () => {
    const found = read(plot, Number(slider.value));
    slider.setAttribute("aria-valuetext", say(words, found.parts));
    drawCursor(plot, found.at, found.value);
  };
  redraws.push(() => {
    plot = drawn(holder);
    const [from, to] = plot.even ? [plot.xs[0], plot.xs[plot.xs.length - 1]].map(plot.x.place) : [plot.area.left, plot.area.right];
    align(slider, plot, from, to);
    point();
  });
  slider.addEventListener("input", point);
  const follow = (event) => {
    slider.value = nearest(plot.xs, plot.x.value(pointed(plot, event).x));
    point();
  };
  holder.addEventListener("pointermove", follow);
  holder.addEventListener("pointerdown", follow);
  wireFiles(figure, columns);
}

function wireMap(figure, one) {
  const [holder, words] = [figure.querySelector(".plot"), figure.querySelector(".readout")];
  const [across, up] = figure.querySelectorAll("input");
  let plot = null;
  const point = () => {
    const [i, j] = [Number(across.value), Number(up.value)];
    const text = say(words, readMap(one, state, i, j));
    for (const slider of [across, up]) slider.setAttribute("aria-valuetext", text);
    drawAim(plot, one.x[i], one.y[j]);
  };
  redraws.push(() => {
    plot = drawMap(holder, one, state);
    for (const slider of [across, up]) align(slider, plot, plot.area.left, plot.area.right);
    point();
  });
  for (const slider of [across, up]) slider.addEventListener("input", point);
  const follow = (event) => {
    const at = pointed(plot, event);
    across.value = nearest(one.x, plot.x.value(at.x));
    up.value = nearest(one.y, plot.y.value(at.y));
    point();
  };
  holder.addEventListener("pointermove", follow);
  holder.addEventListener("pointerdown", follow);
  const axis = one.axes[0][0];
  const flat = { [`${axis}_1`]: one.y.flatMap(() => one.x), [`${axis}_2`]: one.y.flatMap((y) => one.x.map(() => y)) };
  for (const [name, rows] of Object.entries(one.columns)) flat[name] = rows.flat();
  wireFiles(figure, () => flat);
}

function wireFiles(figure, columns) {
  for (const button of figure.querySelectorAll("[data-save]")) {
    button.setAttribute("aria-label", `Download ${figure.querySelector("h3").textContent.trim()} as ${button.textContent}`);
    button.addEventListener("click", () => {
      if (button.dataset.save === "csv") save(`${fileName(figure)}.csv`, "text/csv", table(columns(), figure.dataset.said));
      else save(`${fileName(figure)}.svg`, "image/svg+xml", standalone(figure.querySelector(".plot svg")));
    });
  }
}

for (const one of content.potentials) {
  const figure = document.getElementById(one.id);
  if (one.form === "radial") {
    const force = () => ({ ...one.columns, force: one.columns.slope.map((value) => -value) });
    wireCurve(figure, one, (holder) => drawCurve(holder, one, state), (plot, k) => readCurve(one, plot, k), force);
  } else if (one.form === "map") wireMap(figure, one);
}
content.comparisons.forEach((one, number) => {
  const { edges, observed, predicted, lower, upper } = one;
  const columns = () => ({
    from: edges.slice(0, -1), to: edges.slice(1), observed, ...(predicted ? { predicted, lower, upper } : {}),
  });
  const figure = document.getElementById(`comparison-${number}`);
  wireCurve(figure, one, (holder) => drawComparison(holder, one), (plot, k) => readComparison(one, plot, k), columns);
});

const radial = content.potentials.some((one) => one.form === "radial");
const mapped = content.potentials.some((one) => one.form === "map");
document.querySelector('input[name="x"]').closest("fieldset").hidden = !radial; // maps have no axis of distances
const PLANE = {
  slope: "∇V and ∇Φ: how steep the potentials are.",
  force: "−∇V and −∇Φ: the force on a particle.",
};
const WORDS = {
  slope: "V′ and Φ′: how steep the potentials are.",
  force: "−V′ and −Φ′: the force on a particle, positive where it pushes outwards.",
  potential: "V and Φ themselves. A constant in them cannot be known: here their mean over the range shown is 0.",
  ...(radial ? {} : PLANE),
};

function update() {
  for (const input of document.querySelectorAll(".switch input")) if (input.checked) state[input.name] = input.value;
  const potential = state.show === "potential";
  for (const input of document.querySelectorAll('.switch input[name="y"]')) input.disabled = potential;
  const sizes = state.y === "log" && !potential ? " Sizes on a logarithmic axis; broken lines are negative values." : "";
  const maps = mapped && !potential ? " Maps: colours are sizes, arrows directions." : "";
  document.getElementById("shown").textContent = WORDS[state.show] + maps + sizes;
  redraw();
}

const movie = new Movie(content.animation, document.querySelector(".movie").closest("section"));

function redraw() {
  for (const one of redraws) one();
  movie.show(movie.index);
}

for (const input of document.querySelectorAll(".switch input")) input.addEventListener("change", update);
update();

let width = document.documentElement.clientWidth;
let waiting = 0;
window.addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return; // the bars of a phone's browser come and go
  width = document.documentElement.clientWidth;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(redraw);
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
const printed = (onPaper) => {
  movie.print(onPaper);
  redraw();
};
const paper = window.matchMedia("print");
paper.addEventListener("change", () => printed(paper.matches));
window.addEventListener("beforeprint", () => printed(true)); // some browsers say only one of the two
window.addEventListener("afterprint", () => printed(false));

// It plays once when it comes into view, unless the reader has asked for less motion.
if (movie.button && !window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    if (movie.index === 0 && !movie.playing) movie.play();
  }, { threshold: 0.6 });
  watch.observe(movie.canvases[0]);
}
document.documentElement.dataset.ready = "true";
