/** Round numbers for an axis, and places for labels that hide neither each other nor what is drawn. */

const NEAR = 12; // pixels from a point to its label
const RINGS = [1, 1.6, 2.2, 2.8, 3.6, 4.6, 6].map((times) => times * NEAR);
const SIDES = [1, -1].flatMap((dx) => [0, -0.5, 0.5, -1, 1].map((dy) => [dx, dy])).concat([[0, -1], [0, 1]]);
const PASSES = 4;
const HIGH = 1.25; // of a line of text, in heights of the font
const SPACING = 4; // pixels between places at which the line is taken to be

/** The least of 1, 2 and 5 times a power of ten with at most `count` steps from low to high. */
export function step(low, high, count) {
  const least = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((digit) => digit * power >= least * (1 - 1e-9)) * power;
}

/** The multiples of a step from low to high. */
export function ticks(low, high, by) {
  const first = Math.ceil(low / by - 1e-9);
  const last = Math.floor(high / by + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * by);
}

/** Marks `{x, y, text}` that lie on each other get one label: groups of marks, with the place of the first. */
export function grouped(marks, radius) {
  const groups = [];
  for (const mark of marks) {
    const near = groups.find(({ x, y }) => Math.hypot(x - mark.x, y - mark.y) < radius);
    if (near) near.marks.push(mark);
    else groups.push({ x: mark.x, y: mark.y, marks: [mark] });
  }
  return groups;
}

/**
 * A place for the label of each item `{x, y, width}`: `{box, anchor, line}`, with the line that leads to it if it is not
 * near. Each is put where it hides least, near before far, and again when the places of the others are known.
 */
export function placed(items, curve, plot, em) {
  const drawn = [...items.map((item) => around(item, 9)), ...along(curve).map((place) => around(place, 3))];
  const choices = items.map((item) => RINGS.flatMap((far) => SIDES.map((side) => choice(item, side, far, em))));
  const chosen = items.map(() => null);
  for (let pass = 0; pass < PASSES; pass++) {
    items.forEach((item, n) => {
      const others = chosen.filter((one, at) => one && at !== n);
      const boxes = others.map(({ box }) => box);
      const lines = others.flatMap(({ leader }) => leader);
      const points = drawn.filter((_, at) => at !== n);
      const cost = ({ box, far, leader }) =>
        30 * total(boxes, box) + 3 * total(points, box) + 3 * total(lines, box) + 100 * outside(box, plot) + 4 * far +
        leader.reduce((sum, spot) => sum + 5 * total(boxes, spot) + 10 * total(points, spot) + 30 * total(lines, spot), 0);
      chosen[n] = choices[n].reduce((best, one) => (cost(one) < cost(best) ? one : best));
    });
  }
  return chosen.map(({ box, far, from, to, anchor }) => ({
    box,
    anchor,
    line: far > NEAR && { x1: from.x, y1: from.y, x2: to.x, y2: to.y },
  }));
}

function choice({ x, y, width }, [dx, dy], far, em) {
  const height = HIGH * em;
  const x0 = dx > 0 ? x + far : dx < 0 ? x - far - width : x - width / 2;
  const middle = y + dy * (dx ? far : far + height / 2);
  const box = { x0, x1: x0 + width, y0: middle - height / 2, y1: middle + height / 2 };
  const to = { x: clamp(x, x0, x0 + width), y: clamp(y, box.y0 + 2, box.y1 - 2) };
  const leader = far > NEAR ? along([{ x, y }, to]).map((place) => around(place, 1)) : [];
  const anchor = dx > 0 ? "start" : dx < 0 ? "end" : "middle";
  return { far, box, from: { x, y }, to, leader, anchor };
}

function along(curve) {
  return curve.slice(1).flatMap((to, n) => {
    const from = curve[n];
    const count = Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / SPACING);
    const part = (at) => ({ x: from.x + ((to.x - from.x) * at) / count, y: from.y + ((to.y - from.y) * at) / count });
    return Array.from({ length: count }, (_, at) => part(at));
  });
}

function around({ x, y }, radius) {
  return { x0: x - radius, x1: x + radius, y0: y - radius, y1: y + radius };
}

function total(boxes, box) {
  return boxes.reduce((sum, other) => sum + overlap(other, box), 0);
}

function overlap(a, b) {
  const wide = Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0);
  const high = Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0);
  return wide > 0 && high > 0 ? wide * high : 0;
}

function outside(box, { left, right, top, bottom }) {
  const out = [left - box.x0, box.x1 - right, top - box.y0, box.y1 - bottom];
  return out.reduce((sum, by) => sum + Math.max(0, by), 0);
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
