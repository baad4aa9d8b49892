// One run, observed and simulated, side by side. No frame is made up: between two snapshots nobody knows who is who.

const FINE = 9999; // positions are whole numbers up to this
const PACE = 70; // milliseconds that a snapshot is shown
const LONGEST = 12000; // of the whole
const FOOT = 30; // pixels below each picture, for a bar of known length
const INSET = 14; // around the picture of a line
const BAR = 0.3; // of the width, at most

class Movie {
  constructor(content, section) {
    this.content = content;
    this.canvases = [...section.querySelectorAll("canvas")];
    this.button = section.querySelector("#play");
    this.slider = section.querySelector("#scrub");
    this.clock = section.querySelector("#time");
    this.index = 0;
    this.playing = false;
    this.again = false;
    this.before = null; // what was shown before the page was printed
    this.pace = Math.min(PACE, LONGEST / content.times.length);
    if (!this.button) return;
    this.button.addEventListener("click", () => {
      this.again = true; // whoever asks for it may watch as long as they like
      if (this.playing) this.stop();
      else this.play();
    });
    this.slider.addEventListener("input", () => {
      this.stop();
      this.show(Number(this.slider.value));
    });
  }

  get last() {
    return this.content.times.length - 1;
  }

  time(index) {
    return `t = ${String(Number(this.content.times[index].toPrecision(5))).replace("-", "−")}`;
  }

  play() {
    if (this.index >= this.last) this.index = 0;
    this.playing = true;
    this.button.textContent = "Pause";
    this.begun = null;
    requestAnimationFrame((now) => this.step(now, this.index));
  }

  stop() {
    this.playing = false;
    if (this.button) this.button.textContent = "Play";
    this.describe();
  }

  step(now, first) {
    if (!this.playing) return;
    this.begun ??= now;
    const next = first + Math.floor((now - this.begun) / this.pace);
    if (next > this.last) {
      if (!this.again) {
        this.show(this.last);
        this.stop();
        return;
      }
      this.begun = null;
      requestAnimationFrame((later) => this.step(later, 0));
      return;
    }
    if (next !== this.index) this.show(next);
    requestAnimationFrame((later) => this.step(later, first));
  }

  /** On paper stands the last snapshot of both: at the first one they are the same, however wrong the model is. */
  print(onPaper) {
    if (onPaper === (this.before !== null)) return;
    if (onPaper) {
      this.before = this.index;
      this.stop();
      const { observed, simulated } = this.content;
      this.index = Math.min(observed.counts.length, simulated?.counts.length ?? Infinity) - 1;
    } else [this.index, this.before] = [this.before, null];
  }

  show(index) {
    this.index = index;
    const time = this.time(index);
    if (this.slider) {
      this.slider.value = index;
      this.slider.setAttribute("aria-valuetext", time);
      this.clock.textContent = time;
    }
    for (const canvas of this.canvases) this.paint(canvas, this.content[canvas.dataset.frames]);
    if (!this.playing) this.describe();
  }

  /** What a picture shows, for those who cannot see it; not while it moves. */
  describe() {
    for (const canvas of this.canvases) {
      const frames = this.content[canvas.dataset.frames];
      const there = frames.counts[Math.min(this.index, frames.counts.length - 1)].reduce((a, b) => a + b, 0);
      const kind = canvas.dataset.frames === "observed" ? "Observed" : "Simulated";
      canvas.setAttribute("aria-label", `${kind} positions of ${there} particles at ${this.time(this.index)}`);
    }
  }

  paint(canvas, frames) {
    const { lower, upper, dim } = this.content;
    const spans = dim === 2 ? [upper[0] - lower[0], upper[1] - lower[1]] : [1, 0.75];
    const width = canvas.clientWidth || 400;
    const height = Math.min(Math.max((width * spans[1]) / spans[0], 0.35 * width), 1.1 * width);
    const whole = height + FOOT;
    const dense = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(whole * dense)) {
      [canvas.width, canvas.height] = [Math.round(width * dense), Math.round(whole * dense)];
      canvas.style.height = `${whole}px`;
    }
    const brush = canvas.getContext("2d");
    brush.setTransform(dense, 0, 0, dense, 0, 0);
    brush.clearRect(0, 0, width, whole);
    if (dim === 2) this.plane(brush, frames, width, height, spans);
    else this.line(brush, frames, width, height);
    const pixels = dim === 2 ? Math.min(width / spans[0], height / spans[1]) : (width - 2 * INSET) / (upper[0] - lower[0]);
    this.bar(brush, width, whole, pixels);
    if (this.index >= frames.counts.length) this.over(brush, width, height);
  }

  plane(brush, frames, width, height, spans) {
    const pixels = Math.min(width / spans[0], height / spans[1]);
    const corner = [(width - pixels * spans[0]) / 2, (height - pixels * spans[1]) / 2];
    const place = (x, y) => [corner[0] + (x / FINE) * pixels * spans[0], height - corner[1] - (y / FINE) * pixels * spans[1]];
    if (this.content.boxed) {
      brush.strokeStyle = paint("--muted");
      brush.strokeRect(corner[0] + 0.5, corner[1] + 0.5, pixels * spans[0] - 1, pixels * spans[1] - 1);
    }
    const index = Math.min(this.index, frames.counts.length - 1);
    const most = frames.positions[index].length / 2;
    const radius = Math.max(1.5, Math.min(7, 1.5 + 0.012 * width, 0.22 * Math.sqrt((width * height) / Math.max(most, 1))));
    this.dots(brush, frames.counts[index], (k) => place(frames.positions[index][2 * k], frames.positions[index][2 * k + 1]), radius, 0.85);
  }

  /** In one dimension time goes down; what was and what comes is pale. */
  line(brush, frames, width, height) {
    const row = (index) => INSET + ((height - 2 * INSET) * index) / Math.max(this.last, 1);
    const along = (x) => INSET + ((width - 2 * INSET) * x) / FINE;
    frames.positions.forEach((frame, index) => this.dots(brush, frames.counts[index], (k) => [along(frame[k]), row(index)], 1.3, 0.45));
    const index = Math.min(this.index, frames.counts.length - 1);
    brush.strokeStyle = paint("--line");
    brush.beginPath();
    brush.moveTo(0, row(index));
    brush.lineTo(width, row(index));
    brush.stroke();
    this.dots(brush, frames.counts[index], (k) => [along(frames.positions[index][k]), row(index)], 5, 0.9);
  }

  dots(brush, counts, place, radius, opacity) {
    let first = 0;
    brush.globalAlpha = opacity;
    counts.forEach((count, kind) => {
      brush.fillStyle = paint(`--kind-${kind % 5}`);
      for (let k = first; k < first + count; k += 1) {
        const [x, y] = place(k);
        brush.beginPath();
        brush.arc(x, y, radius, 0, 2 * Math.PI);
        brush.fill();
      }
      first += count;
    });
    brush.globalAlpha = 1;
  }

  /** How long things are: a bar with a round length, in the units of the data. */
  bar(brush, width, whole, pixels) {
    const most = (BAR * width) / pixels;
    const power = 10 ** Math.floor(Math.log10(most));
    const length = power * [5, 2, 1].find((factor) => factor * power <= most);
    const [left, middle] = [INSET, whole - FOOT / 2];
    brush.fillStyle = paint("--muted");
    brush.fillRect(left, middle - 1, length * pixels, 2);
    for (const end of [left, left + length * pixels - 1]) brush.fillRect(end, middle - 4, 1, 8);
    brush.font = "12.5px system-ui, sans-serif";
    brush.textAlign = "left";
    const text = length >= 1e-3 && length < 1e5 ? String(Number(length.toPrecision(1))) : written(length, 1);
    brush.fillText(text, left + length * pixels + 8, middle + 4);
  }

  over(brush, width, height) {
    brush.fillStyle = paint("--muted");
    brush.font = "14px system-ui, sans-serif";
    brush.textAlign = "center";
    brush.fillText("not simulated any further", width / 2, height - 12);
  }
}

/** A colour of the page, light or dark as it is. */
function paint(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
