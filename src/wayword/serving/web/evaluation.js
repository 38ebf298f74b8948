/**
 * What people find against what they type, as a picture: `wayword` over its keystroke values as a line, every policy as a
 * point. It is drawn in pixels of the screen, and again when its width changes, so that its words stay legible.
 */

import { grouped, placed, step, ticks } from "./picture_layout.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDEST = 640;
const SMALL = 2.5; // radius of a dot of the line, in pixels
const LARGE = 5; // and of a policy
const SERVED = "wayword";
const NAMES = { popular: "most popular" };
const name = (policy) => NAMES[policy] ?? policy;

/** Show an evaluation, as `/evaluation` gives it, in a figure; nothing if it has no points. */
export function showEvaluation(figure, evaluation) {
  if (!evaluation.policies.length) return;
  const drawing = element("div", { class: "drawing" });
  figure.replaceChildren(drawing, words(evaluation), element("div", { class: "unseen" }, numbers(evaluation)));
  figure.hidden = false;
  let before = 0;
  const draw = () => {
    const width = Math.min(WIDEST, Math.floor(figure.clientWidth));
    if (!width || width === before) return; // 0: not displayed
    before = width;
    drawing.replaceChildren(picture(evaluation, width, getComputedStyle(drawing)));
  };
  new ResizeObserver(draw).observe(figure);
  draw();
}

function words({ curve, keystroke_value: served, verdict }) {
  const caption = element("figcaption", {});
  if (verdict.length) caption.append(element("p", { class: "verdict" }, verdict[0]));
  if (curve.length) {
    const values = curve.map((point) => point.keystroke_value);
    const range = `from ${plain(Math.min(...values))} to ${plain(Math.max(...values))}`;
    const ring = served === null ? "" : `; the ring marks the value that is served, ${plain(served)}`;
    const unit = "1: to save all typing is worth a search found";
    const line = `The line is ${SERVED} with keystroke values ${range} (${unit})${ring}.`;
    caption.append(element("p", { class: "quiet" }, line));
  }
  return caption;
}

function numbers({ policies, curve }) {
  const table = element("table", {}, element("caption", {}, "Found and keystrokes of each policy"));
  const heads = ["policy", "found", "keystrokes"].map((text) => element("th", { scope: "col" }, text));
  const rows = [
    ...policies.map((point) => [name(point.policy), point]),
    ...curve.map((point) => [`${SERVED}, keystroke value ${plain(point.keystroke_value)}`, point]),
  ].map(([title, { found, keystrokes }]) => element("tr", {},
    element("th", { scope: "row" }, title),
    ...[found, keystrokes].map((value) => element("td", {}, value.toFixed(3))),
  ));
  table.append(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
  return table;
}

// --- the picture

function picture(evaluation, width, style) {
  const em = parseFloat(style.fontSize);
  const { policies, keystroke_value: served } = evaluation;
  const height = Math.round(Math.max(23 * em, 0.56 * width));
  const plot = { left: 3.2 * em, right: width - 1.2 * em, top: 2.2 * em, bottom: height - 3.4 * em };
  const points = [...policies, ...evaluation.curve];
  const across = scale(points.map((point) => point.keystrokes), plot.left, plot.right, width / (6 * em));
  const up = scale(points.map((point) => point.found), plot.bottom, plot.top, height / (4 * em));
  const at = (point) => ({ x: across.at(point.keystrokes), y: up.at(point.found) });

  const curve = evaluation.curve.toSorted((a, b) => a.keystroke_value - b.keystroke_value).map(at);
  const marks = policies.map((point) => ({ ...at(point), text: name(point.policy), policy: point.policy }));
  marks.sort((a, b) => (b.policy === SERVED) - (a.policy === SERVED)); // first in its label, and drawn last
  const items = grouped(marks, LARGE).map((group) => ({ ...group, width: measured(group.marks, style) }));
  const labels = placed(items, curve, plot, em);

  return drawn("svg", {
    role: "img", "aria-labelledby": "picture-title picture-summary", width, height, viewBox: `0 0 ${width} ${height}`,
  },
    drawn("title", { id: "picture-title" }, "What people find and what they type with each policy"),
    drawn("desc", { id: "picture-summary" }, described(evaluation)),
    ...axes(across, up, plot, em),
    curve.length > 1 && drawn("polyline", { class: "curve", points: curve.map(({ x, y }) => `${x},${y}`).join(" ") }),
    ...curve.map(({ x, y }) => drawn("circle", { class: "dot", cx: x, cy: y, r: SMALL })),
    ...labels.filter(({ line }) => line).map(({ line }) => drawn("line", { class: "leader", ...line })),
    ...marks.toReversed().flatMap((mark) => point(mark, served)),
    ...labels.map((place, n) => label(items[n].marks, place, em)),
  );
}

/** The names of policies that lie on each other, after each other. */
function label(marks, { box: { x0, x1, y0, y1 }, anchor }, em) {
  const x = { start: x0, middle: (x0 + x1) / 2, end: x1 }[anchor];
  const y = (y0 + y1) / 2 + 0.35 * em;
  const names = marks.map((mark, n) => drawn("tspan", { class: kind("name", mark) }, n ? `, ${mark.text}` : mark.text));
  return drawn("text", { class: "label", x, y, "text-anchor": anchor }, ...names);
}

function measured(marks, { font }) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  return 1.1 * pen.measureText(marks.map(({ text }) => text).join(", ")).width; // the first may be bold
}

function point({ x, y, policy }, served) {
  const disc = drawn("circle", { class: kind("policy", { policy }), "data-policy": policy, cx: x, cy: y, r: LARGE });
  if (policy !== SERVED || served === null) return [disc];
  return [disc, drawn("circle", { class: "served", cx: x, cy: y, r: LARGE + 4 })];
}

function kind(first, { policy }) {
  return policy === SERVED ? `${first} own` : first;
}

function described({ policies }) {
  const told = policies.map(({ policy, found, keystrokes }) =>
    `${name(policy)} finds ${found.toFixed(3)} with ${keystrokes.toFixed(3)} of the keystrokes`);
  return `Keystrokes to the right, found upwards. ${told.join("; ")}. A table with all numbers follows.`;
}

function axes(across, up, plot, em) {
  const { left, right, top, bottom } = plot;
  return [
    ...up.ticks.flatMap(({ at, text }) => [
      drawn("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }),
      drawn("text", { class: "tick", x: left - 0.5 * em, y: at + 0.35 * em, "text-anchor": "end" }, text),
    ]),
    ...across.ticks.flatMap(({ at, text }) => [
      drawn("line", { class: "axis", x1: at, x2: at, y1: bottom, y2: bottom + 0.35 * em }),
      drawn("text", { class: "tick", x: at, y: bottom + 1.5 * em, "text-anchor": "middle" }, text),
    ]),
    drawn("path", { class: "axis", d: `M${left},${top} V${bottom} H${right}` }),
    drawn("text", { class: "title", x: 0, y: em }, "found, 1 = typing on without suggestions"),
    drawn("text", { class: "title", x: right, y: bottom + 3.1 * em, "text-anchor": "end" },
      "keystrokes, 1 = typing everything"),
  ];
}

/** Where the values of an axis are, from `start` to `end` in pixels, and about `count` round ones of them. */
function scale(values, start, end, count) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const margin = 0.06 * (most - least) || 0.01;
  const [low, high] = [least - margin, most + margin];
  const at = (value) => Math.round(10 * (start + ((value - low) / (high - low)) * (end - start))) / 10;
  const by = step(low, high, count);
  const digits = Math.max(0, Math.ceil(-Math.log10(by) - 1e-9));
  return { at, ticks: ticks(low, high, by).map((value) => ({ at: at(value), text: value.toFixed(digits) })) };
}

function plain(value) {
  return String(Number(value.toPrecision(3)));
}

function element(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawn(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== false));
  return made;
}
