// The frame of a plot, what is drawn inside it, and a cursor that reads its values.

const MARGIN = { top: 30, right: 12, bottom: 44 };

/** An empty plot: axes, grid and labels. `names` are those of the axes; `ratio` is height to width. */
function frame(holder, xRange, yRange, names, ratio = 0.62, right = MARGIN.right) {
  holder.replaceChildren();
  const width = Math.max(260, Math.round(holder.clientWidth || 560));
  const height = Math.round(Math.max(230, Math.min(440, width * ratio)));
  const svg = draw(holder, "svg", { viewBox: `0 0 ${width} ${height}`, xmlns: SVG, "aria-hidden": "true" });
  const probe = scale(yRange.low, yRange.high, 0, 1, yRange.log);
  const marks = ticks(probe, 6);
  const left = 14 + 7.2 * Math.max(2, ...marks.map((mark) => mark.text.length));
  const area = { left, right: width - right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const x = scale(xRange.low, xRange.high, area.left, area.right, xRange.log);
  const y = scale(yRange.low, yRange.high, area.bottom, area.top, yRange.log);
  for (const mark of marks) {
    const at = y.place(mark.value);
    draw(svg, "line", { class: "grid", x1: area.left, x2: area.right, y1: at, y2: at });
    draw(svg, "text", { x: area.left - 8, y: at + 4, "text-anchor": "end" }, mark.text);
  }
  const room = Math.max(3, Math.floor((area.right - area.left) / 70));
  for (const mark of thinned(ticks(x, room), x, area)) {
    const at = x.place(mark.value);
    draw(svg, "line", { class: "edge", x1: at, x2: at, y1: area.bottom, y2: area.bottom + 5 });
    draw(svg, "text", { x: at, y: area.bottom + 19, "text-anchor": "middle" }, mark.text);
  }
  draw(svg, "line", { class: "edge", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom });
  draw(svg, "text", { class: "name", x: area.right, y: height - 6, "text-anchor": "end" }, names.x);
  draw(svg, "text", { class: "name symbol", x: 4, y: 17 }, names.y);
  const clip = `clip-${holder.closest("figure").id}`;
  draw(draw(draw(svg, "defs"), "clipPath", { id: clip }), "rect", {
    x: area.left, y: area.top - 4, width: area.right - area.left, height: area.bottom - area.top + 4,
  });
  const inside = draw(svg, "g", { "clip-path": `url(#${clip})` });
  return { svg, inside, area, x, y, width, height };
}

/** Labels that do not touch each other. */
function thinned(marks, x) {
  let last = -Infinity;
  return marks.filter((mark) => {
    const half = 3.6 * mark.text.length + 4;
    const fits = x.place(mark.value) - half > last;
    if (fits) last = x.place(mark.value) + half;
    return fits;
  });
}

/** A path through points; it is interrupted where a value is missing. */
function through(plot, xs, ys) {
  let path = "";
  let pen = "M";
  xs.forEach((value, k) => {
    if (ys[k] === null || !Number.isFinite(ys[k])) {
      pen = "M";
      return;
    }
    path += `${pen}${plot.x.place(value).toFixed(1)} ${bounded(plot, ys[k]).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

/** The pixel of a value; far outside is as good as infinitely far, and safer to draw. */
function bounded(plot, value) {
  const at = plot.y.place(plot.y.log ? Math.max(value, plot.y.low / 1e3) : value);
  return Math.max(-4 * plot.height, Math.min(5 * plot.height, at));
}

/** The region between two curves. */
function between(plot, xs, lower, upper) {
  const known = xs.map((_, k) => k).filter((k) => lower[k] !== null && upper[k] !== null);
  if (!known.length) return "";
  const end = (k, side) => `${plot.x.place(xs[k]).toFixed(1)} ${bounded(plot, side[k]).toFixed(1)}`;
  return `M${known.map((k) => end(k, upper)).join("L")}L${known.reverse().map((k) => end(k, lower)).join("L")}Z`;
}

/** Where a pointer is, in the units of the picture. */
function pointed(plot, event) {
  const seen = plot.svg.getBoundingClientRect();
  const factor = plot.width / seen.width;
  return { x: (event.clientX - seen.left) * factor, y: (event.clientY - seen.top) * factor };
}

/** Words in bold and plain, one after the other; never as HTML. */
function say(element, parts) {
  element.replaceChildren(
    ...parts.map(([text, strong]) => {
      const node = document.createElement(strong ? "b" : "span");
      node.textContent = text;
      return node;
    }),
  );
  return parts.map(([text]) => text).join(", ");
}

/** Put a slider below the part of a plot that it moves over. */
function align(slider, plot, from, to) {
  const thumb = 9;
  slider.style.marginLeft = `${((from - thumb) / plot.width) * 100}%`;
  slider.style.width = `${((to - from + 2 * thumb) / plot.width) * 100}%`;
}

/** A file made of text, handed to the reader. */
function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const BAKED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "opacity", "font-family", "font-size", "font-style", "font-weight",
];

/** The picture on its own, as it looks here: styles become attributes. */
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const originals = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, k) => {
    const style = getComputedStyle(originals[k]);
    for (const name of BAKED) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  copy.querySelectorAll("[data-cursor]").forEach((element) => element.remove());
  const [, , width, height] = svg.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const ground = document.createElementNS(SVG, "rect");
  ground.setAttribute("width", width);
  ground.setAttribute("height", height);
  ground.setAttribute("fill", getComputedStyle(svg.closest("figure")).backgroundColor);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

function table(columns, said) {
  const names = Object.keys(columns);
  const rows = columns[names[0]].map((_, k) => names.map((name) => columns[name][k] ?? "").join(","));
  return `# ${said}\n${names.join(",")}\n${rows.join("\n")}\n`;
}

/** The same kind of name for all: what is shown, without symbols and places. */
function fileName(figure) {
  return figure.dataset.file;
}
