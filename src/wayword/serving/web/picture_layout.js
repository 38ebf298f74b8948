/** Round numbers for an axis, and places for labels that hide neither each other nor what is drawn. */

const NEAR = 10; // pixels from a point to its label
const RINGS = [NEAR, 2.2 * NEAR, 3.6 * NEAR, 5.2 * NEAR, 7 * NEAR];
const SIDES = [[1, 0], [-1, 0], [1, -1], [-1, -1], [1, 1], [-1, 1], [0, -1], [0, 1]];
const WIDE = 0.58; // of a letter, in heights of the font
const HIGH = 1.25;
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

/**
 * A place for the label of each mark `{x, y, text}`: `{x, y, mark, line}`, where its text begins, and the line that leads to
 * it if it is not near. Each is put where it hides least, near before far; the first mark chooses first.
 */
export function placed(marks, curve, plot, em) {
  const drawn = [...marks.map((mark) => around(mark, 7)), ...along(curve).map((place) => around(place, 3))];
  const taken = [];
  return marks.map((mark) => {
    const choices = RINGS.flatMap((far) => SIDES.map((side) => choice(mark, side, far, em)));
    const cost = ({ box, far }) =>
      30 * total(taken, box) + 2 * total(drawn, box) + 100 * outside(box, plot) + 3 * (far - NEAR);
    const best = choices.reduce((a, b) => (cost(b) < cost(a) ? b : a));
    taken.push(best.box);
    const { box } = best;
    const end = { x: clamp(mark.x, box.x0, box.x1), y: clamp(mark.y, box.y0, box.y1) };
    const line = best.far > NEAR && { x1: mark.x, y1: mark.y, x2: end.x, y2: end.y };
    return { x: box.x0, y: (box.y0 + box.y1) / 2 + 0.35 * em, box, mark, line };
  });
}

function choice({ x, y, text }, [dx, dy], far, em) {
  const [width, height] = [WIDE * em * text.length, HIGH * em];
  const x0 = dx > 0 ? x + far : dx < 0 ? x - far - width : x - width / 2;
  const middle = y + dy * (dx ? far : far + height / 2);
  return { far, box: { x0, x1: x0 + width, y0: middle - height / 2, y1: middle + height / 2 } };
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
