// Potentials in the plane: colours for values, lines of equal value, arrows for forces.

const VIRIDIS = [
  [68, 1, 84], [72, 26, 108], [71, 47, 125], [65, 68, 135], [57, 86, 140], [49, 104, 142], [42, 120, 142], [35, 136, 142],
  [31, 152, 139], [34, 168, 132], [53, 183, 121], [84, 197, 104], [122, 209, 81], [165, 219, 54], [210, 226, 27], [253, 231, 37],
];
const PALE = 90; // of 255: places with hardly any data
const LEVELS = 11;
const ARROWS = 9; // in each direction
const COLOURED = { slope: "size of the slope", force: "size of the force", potential: "value" };
const KEY = 64; // pixels for the colours' key

function colour(part) {
  const at = Math.max(0, Math.min(1, part)) * (VIRIDIS.length - 1);
  const [low, rest] = [Math.min(Math.floor(at), VIRIDIS.length - 2), at % 1];
  const share = at >= VIRIDIS.length - 1 ? 1 : rest;
  return VIRIDIS[low].map((value, k) => Math.round(value + share * (VIRIDIS[low + 1][k] - value)));
}

/** What is shown of a potential in the plane: its value, or the size of its gradient. */
function seenOnMap(potential, state) {
  const { value, gradient_1: first, gradient_2: second } = potential.columns;
  if (state.show === "potential") return { rows: value, name: potential.letter };
  const rows = first.map((row, j) => row.map((x, i) => Math.hypot(x, second[j][i])));
  return { rows, name: `|∇${potential.letter}|`, sign: state.show === "force" ? -1 : 1 };
}

function drawMap(holder, potential, state) {
  const shown = seenOnMap(potential, state);
  const inside = shown.rows.flatMap((row, j) => row.filter((_, i) => potential.explored[j][i]));
  const everywhere = inside.length ? inside : shown.rows.flat();
  const high = Math.max(...everywhere);
  const logarithmic = state.y === "log" && state.show !== "potential";
  const low = logarithmic ? Math.max(Math.min(...everywhere), high * 1e-3) : Math.min(...everywhere);
  const { x, y } = potential;
  const ends = (values) => ({ low: values[0], high: values[values.length - 1], log: false });
  const ratio = Math.min(0.8, Math.max(0.5, ((ends(y).high - ends(y).low) / (ends(x).high - ends(x).low)) * 0.8));
  const [first, second] = potential.axes;
  const across = potential.role === "external" ? first : `displacement ${first}`;
  const plot = frame(holder, ends(x), ends(y), { x: across, y: second }, ratio, KEY + 12);
  const tone = scale(low, high, 0, 1, logarithmic);
  const part = (value) => tone.place(logarithmic ? Math.max(value, low) : value);
  const { area } = plot;
  draw(plot.inside, "image", {
    href: picture(shown.rows, potential.explored, part), preserveAspectRatio: "none",
    x: area.left, y: area.top, width: area.right - area.left, height: area.bottom - area.top,
  });
  const levels = Array.from({ length: LEVELS }, (_, k) => tone.value((k + 1) / (LEVELS + 1)));
  for (const level of levels) draw(plot.inside, "path", { class: "contour", d: contour(plot, x, y, shown.rows, level) });
  if (shown.sign) drawArrows(plot, potential, shown.sign);
  drawKey(plot, tone, shown.name);
  holder.closest("figure").querySelector(".legend .key").textContent = COLOURED[state.show];
  return { ...plot, shown };
}

/** The values as an image, a pixel each. */
function picture(rows, explored, part) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [rows[0].length, rows.length];
  const brush = canvas.getContext("2d");
  const image = brush.createImageData(canvas.width, canvas.height);
  rows.forEach((row, j) => row.forEach((value, i) => {
    const place = 4 * ((rows.length - 1 - j) * row.length + i);
    image.data.set([...colour(part(value)), explored[j][i] ? 255 : PALE], place);
  }));
  brush.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

/** Lines on which interpolated values have one level (marching squares). */
function contour(plot, xs, ys, rows, level) {
  const cross = (a, b, from, to) => from + ((to - from) * (level - a)) / (b - a);
  let path = "";
  for (let j = 0; j + 1 < ys.length; j += 1) {
    for (let i = 0; i + 1 < xs.length; i += 1) {
      const [a, b, c, d] = [rows[j][i], rows[j][i + 1], rows[j + 1][i + 1], rows[j + 1][i]];
      const points = [];
      if (a < level !== b < level) points.push([cross(a, b, xs[i], xs[i + 1]), ys[j]]);
      if (b < level !== c < level) points.push([xs[i + 1], cross(b, c, ys[j], ys[j + 1])]);
      if (d < level !== c < level) points.push([cross(d, c, xs[i], xs[i + 1]), ys[j + 1]]);
      if (a < level !== d < level) points.push([xs[i], cross(a, d, ys[j], ys[j + 1])]);
      for (let k = 0; k + 1 < points.length; k += 2) {
        const [p, q] = [points[k], points[k + 1]].map(([x, y]) => `${plot.x.place(x).toFixed(1)} ${plot.y.place(y).toFixed(1)}`);
        path += `M${p}L${q}`;
      }
    }
  }
  return path;
}

/** Gradients (or forces, with sign -1) on a coarse part of the grid, the longest as long as their spacing. */
function drawArrows(plot, potential, sign) {
  const { gradient_1: first, gradient_2: second } = potential.columns;
  const step = Math.floor(potential.x.length / ARROWS);
  const places = [];
  for (let j = step >> 1; j < potential.y.length; j += step) {
    for (let i = step >> 1; i < potential.x.length; i += step) if (potential.explored[j][i]) places.push([i, j]);
  }
  const longest = Math.max(...places.map(([i, j]) => Math.hypot(first[j][i], second[j][i]))) || 1;
  const room = (0.9 * Math.min(plot.area.right - plot.area.left, plot.area.bottom - plot.area.top)) / ARROWS;
  for (const [i, j] of places) {
    const size = Math.hypot(first[j][i], second[j][i]);
    const length = room * Math.sqrt(size / longest); // roots, so that weak forces are seen too
    if (length < 4) continue;
    const [u, v] = [(sign * first[j][i]) / size, (-sign * second[j][i]) / size];
    const [x, y] = [plot.x.place(potential.x[i]), plot.y.place(potential.y[j])];
    const [tip, tail] = [[x + (u * length) / 2, y + (v * length) / 2], [x - (u * length) / 2, y - (v * length) / 2]];
    const barb = (turn) => `${(tip[0] - 5 * (u + turn * v) * 0.8).toFixed(1)} ${(tip[1] - 5 * (v - turn * u) * 0.8).toFixed(1)}`;
    const end = `${tip[0].toFixed(1)} ${tip[1].toFixed(1)}`;
    draw(plot.inside, "path", {
      class: "arrow", d: `M${tail[0].toFixed(1)} ${tail[1].toFixed(1)}L${end}M${barb(0.7)}L${end}L${barb(-0.7)}`,
    });
  }
}

/** Which colour stands for which value. */
function drawKey(plot, tone, name) {
  const { area, width } = plot;
  const left = width - KEY + 4;
  const along = scale(tone.low, tone.high, area.bottom, area.top, tone.log);
  const count = 40;
  for (let k = 0; k < count; k += 1) {
    const top = area.bottom - ((area.bottom - area.top) * (k + 1)) / count;
    const fill = `rgb(${colour((k + 0.5) / count).join(" ")})`;
    draw(plot.svg, "rect", { x: left, y: top, width: 12, height: (area.bottom - area.top) / count + 0.5, fill });
  }
  for (const mark of ticks(along, 5)) draw(plot.svg, "text", { x: left + 17, y: along.place(mark.value) + 4 }, mark.text);
  draw(plot.svg, "text", { class: "name symbol", x: left - 4, y: 17 }, name);
}

function readMap(potential, state, i, j) {
  const { value, value_half: half } = potential.columns;
  const near = (middle, width) =>
    width === null ? "unknown" : `${written(middle - width)} to ${written(middle + width)}`;
  const at = (name) => potential.columns[name]?.[j][i];
  const band = (ends) => (potential.banded ? [[`95 %: ${ends}`, false]] : []);
  const where = [`(${written(potential.x[i])}, ${written(potential.y[j])})`, false];
  const letter = potential.letter;
  if (state.show === "potential") {
    return [where, [`${letter} = ${written(value[j][i])}`, true], ...band(near(value[j][i], half?.[j][i] ?? null))];
  }
  const sign = state.show === "force" ? -1 : 1;
  const both = ["gradient_1", "gradient_2"];
  const parts = both.map((name) => written(sign * at(name)));
  const ends = both.map((name) => near(sign * at(name), at(`${name}_half`) ?? null));
  return [where, [`${sign < 0 ? "−" : ""}∇${letter} = (${parts.join(", ")})`, true], ...band(ends.join(" and "))];
}

/** The place that is read. */
function drawAim(plot, x, y) {
  plot.svg.querySelectorAll("[data-cursor]").forEach((element) => element.remove());
  draw(plot.svg, "circle", { class: "aim", "data-cursor": "", cx: plot.x.place(x), cy: plot.y.place(y), r: 7 });
}
