"use strict";

// Numbers as text, scales and their ticks: what every plot is made of.

const SVG = "http://www.w3.org/2000/svg"; // a name, not an address that anything is loaded from
const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** An element of an SVG picture. */
function draw(parent, tag, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  parent.append(element);
  return element;
}

function powerOfTen(exponent) {
  return "10" + [...String(exponent)].map((sign) => RAISED[sign]).join("");
}

/** A number with a few significant digits. */
function written(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e5) {
    const [factor, exponent] = value.toExponential(digits - 1).split("e");
    return `${factor} × ${powerOfTen(Number(exponent))}`.replace(/^-/, "−");
  }
  const whole = Math.floor(Math.log10(size)) + 1;
  return value.toFixed(Math.max(0, digits - whole)).replace("-", "−");
}

/** Where a value lies between two pixels. */
function scale(low, high, from, to, log) {
  const at = log ? Math.log10 : (value) => value;
  const span = at(high) - at(low) || 1;
  return {
    low, high, log,
    place: (value) => from + ((to - from) * (at(value) - at(low))) / span,
    value: (pixel) => {
      const inner = at(low) + (span * (pixel - from)) / (to - from);
      return log ? 10 ** inner : inner;
    },
  };
}

/** Round numbers within a range, with the text of each. */
function ticks(of, about) {
  if (of.log) return logTicks(of.low, of.high);
  const rough = (of.high - of.low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(of.low / step - 1e-9); k * step <= of.high + 1e-9 * step; k += 1) found.push(k * step);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const large = Math.max(Math.abs(of.low), Math.abs(of.high)) >= 1e5 || decimals > 4;
  return found.map((value) => ({
    value,
    text: large ? written(value, 2) : value.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "").replace("-", "−"),
  }));
}

function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 3, 5, 7];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value < low * 0.9999 || value > high * 1.0001) continue;
      const plain = value >= 0.01 && value < 1e4 ? String(Number(value.toPrecision(2))) : null;
      found.push({ value, text: plain ?? (factor === 1 ? powerOfTen(power) : `${factor} × ${powerOfTen(power)}`) });
    }
  }
  return found;
}

/** The middle of some numbers, those that are there. */
function median(values) {
  const there = values.filter((value) => value !== null && Number.isFinite(value)).sort((a, b) => a - b);
  return there.length ? there[Math.floor(there.length / 2)] : null;
}
