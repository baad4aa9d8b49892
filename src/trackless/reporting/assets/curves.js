// Radial potentials with their bands, and densities that were observed and predicted.

const HILL = 0.22; // of the height, for the density of the data
const HIDING = 4; // times the range of the bulk: more, and the ends of a curve are cut off
const FLOOR = 1e-4; // of the largest value, where a logarithmic axis ends

/** What is shown of a radial potential: values, bands, and their name. */
function seen(potential, show) {
  const columns = potential.columns;
  const key = show === "potential" ? "profile" : "slope";
  const sign = show === "force" ? -1 : 1;
  const turned = (values) => values?.map((value) => (value === null ? null : sign * value)) ?? null;
  const ends = [turned(columns[`${key}_lower`]), turned(columns[`${key}_upper`])];
  const symbol = { potential: potential.letter, slope: `${potential.letter}′`, force: `−${potential.letter}′` }[show];
  return { values: turned(columns[key]), lower: ends[sign < 0 ? 1 : 0], upper: ends[sign < 0 ? 0 : 1], symbol };
}

/** The range of values: that of all, unless few data at the ends would hide what the bulk of them says. */
function range(potential, shown, show) {
  const every = potential.columns.r.map((_, k) => k);
  const among = every.filter((k) => potential.columns.r[k] >= potential.core[0] && potential.columns.r[k] <= potential.core[1]);
  const chosen = among.length > 2 ? among : every;
  const there = (indices) => indices.map((k) => shown.values[k]).filter((value) => value !== null);
  const span = (values) => Math.max(...values) - Math.min(...values);
  const values = [...there(span(there(every)) <= HIDING * span(there(chosen)) ? every : chosen)];
  for (const ends of [shown.lower, shown.upper]) {
    const middle = ends ? median(chosen.map((k) => ends[k])) : null;
    if (middle !== null) values.push(middle);
  }
  if (show !== "potential") values.push(0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = 0.12 * (high - low) || 1;
  return { low: low - 2 * margin, high: high + margin, log: false, largest: Math.max(...values.map(Math.abs)), values };
}

function logRange(linear) {
  const sizes = linear.values.map(Math.abs).filter((value) => value > 0);
  const largest = linear.largest || 1;
  const low = Math.max(Math.min(...sizes, largest) / 2, largest * FLOOR);
  return { low, high: largest * 1.6, log: true };
}

function drawCurve(holder, potential, state) {
  const columns = potential.columns;
  const shown = seen(potential, state.show);
  const logarithmic = state.y === "log" && state.show !== "potential";
  const linear = range(potential, shown, state.show);
  const ends = [columns.r[0], columns.r[columns.r.length - 1]];
  const across = state.x === "log"
    ? { low: Math.max(ends[0], ends[1] * 1e-3), high: ends[1], log: true }
    : { low: Math.min(ends[0], ends[0] < 0.2 * ends[1] ? 0 : ends[0]), high: ends[1], log: false };
  const name = logarithmic ? `|${shown.symbol}|` : shown.symbol;
  const plot = frame(holder, across, logarithmic ? logRange(linear) : linear, {
    x: potential.role === "external" ? "distance from the centre |x|" : "distance between particles r", y: name,
  });
  const xs = columns.r.map((r) => Math.max(r, across.low));
  drawHill(plot, xs, columns.density, potential.peak);
  if (!logarithmic && linear.low < 0 && linear.high > 0) {
    const at = plot.y.place(0);
    draw(plot.inside, "line", { class: "zero", x1: plot.area.left, x2: plot.area.right, y1: at, y2: at });
  }
  if (logarithmic) drawSizes(plot, xs, shown);
  else {
    if (shown.lower) draw(plot.inside, "path", { class: "band", d: between(plot, xs, shown.lower, shown.upper) });
    draw(plot.inside, "path", { class: "line", d: through(plot, xs, shown.values) });
  }
  return { ...plot, xs, shown, size: logarithmic, even: !across.log };
}

/** Sizes on a logarithmic axis: broken lines where the value is negative. */
function drawSizes(plot, xs, shown) {
  const low = plot.y.low / 2;
  if (shown.lower) {
    const ends = shown.values.map((value, k) => {
      const [a, b] = [shown.lower[k], shown.upper[k]];
      if (a === null || b === null) return [null, null];
      return value >= 0 ? [Math.max(a, low), Math.max(b, low)] : [Math.max(-b, low), Math.max(-a, low)];
    });
    const [lower, upper] = [ends.map((end) => end[0]), ends.map((end) => end[1])];
    draw(plot.inside, "path", { class: "band", d: between(plot, xs, lower, upper) });
  }
  const part = (sign) => shown.values.map((value) => (value !== null && sign * value > 0 ? sign * value : null));
  draw(plot.inside, "path", { class: "line", d: through(plot, xs, part(1)) });
  draw(plot.inside, "path", { class: "line negative", d: through(plot, xs, part(-1)) });
}

/** How often distances were seen, as a hill at the bottom; its top may be at distances that are not shown. */
function drawHill(plot, xs, density, top) {
  if (!(top > 0)) return;
  const height = HILL * (plot.area.bottom - plot.area.top);
  const points = xs.map((x, k) => `${plot.x.place(x).toFixed(1)} ${(plot.area.bottom - (height * density[k]) / top).toFixed(1)}`);
  const [first, last] = [plot.x.place(xs[0]), plot.x.place(xs[xs.length - 1])];
  draw(plot.inside, "path", { class: "hill", d: `M${first} ${plot.area.bottom}L${points.join("L")}L${last} ${plot.area.bottom}Z` });
}

function readCurve(potential, plot, k) {
  const value = plot.shown.values[k];
  const parts = [[`${potential.distance} = ${written(potential.columns.r[k])}`, false], [`${plot.shown.symbol} = ${written(value)}`, true]];
  if (plot.shown.lower) {
    const [low, high] = [plot.shown.lower[k], plot.shown.upper[k]];
    parts.push([low === null || high === null ? "error unknown" : `95 %: ${written(low)} to ${written(high)}`, false]);
  }
  return { parts, at: plot.xs[k], value: plot.size ? Math.abs(value) : value };
}

function drawComparison(holder, one) {
  const xs = one.edges.slice(1).map((edge, k) => (edge + one.edges[k]) / 2);
  const values = [...one.observed, ...(one.predicted ?? []), ...(one.upper ?? [])].filter((value) => value !== null);
  const high = Math.max(...values) * 1.08 || 1;
  const plot = frame(
    holder, { low: one.edges[0], high: one.edges[one.edges.length - 1], log: false }, { low: 0, high, log: false },
    { x: one.xlabel, y: one.ylabel },
  );
  if (one.predicted) {
    draw(plot.inside, "path", { class: "band", d: between(plot, xs, one.lower, one.upper) });
    draw(plot.inside, "path", { class: "line", d: through(plot, xs, one.predicted) });
  } else draw(plot.inside, "path", { class: "thin", d: through(plot, xs, one.observed) });
  xs.forEach((x, k) => {
    if (one.observed[k] !== null) draw(plot.inside, "circle", { class: "point", cx: plot.x.place(x), cy: plot.y.place(one.observed[k]), r: 3 });
  });
  return { ...plot, xs, even: true };
}

function readComparison(one, plot, k) {
  const parts = [[`near ${written(plot.xs[k])}`, false], [`observed ${written(one.observed[k])}`, true]];
  if (one.predicted) {
    parts.push([`predicted ${written(one.predicted[k])}`, false]);
    parts.push([`${one.within}: ${written(one.lower[k])} to ${written(one.upper[k])}`, false]);
  }
  return { parts, at: plot.xs[k], value: one.observed[k] };
}

/** The place of the cursor: a line and, where there is a value, a ring. */
function drawCursor(plot, at, value) {
  plot.svg.querySelectorAll("[data-cursor]").forEach((element) => element.remove());
  const group = draw(plot.svg, "g", { "data-cursor": "" });
  const x = plot.x.place(at);
  draw(group, "line", { class: "cross", x1: x, x2: x, y1: plot.area.top, y2: plot.area.bottom });
  const y = value === null || (plot.y.log && value <= 0) ? NaN : plot.y.place(value);
  if (y >= plot.area.top - 4 && y <= plot.area.bottom + 1) draw(group, "circle", { class: "mark", cx: x, cy: y, r: 5 });
}

/** The index of the value nearest to a place on the axis. */
function nearest(xs, value) {
  let best = 0;
  xs.forEach((x, k) => {
    if (Math.abs(x - value) < Math.abs(xs[best] - value)) best = k;
  });
  return best;
}
