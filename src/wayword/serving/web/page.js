/** The page: two lists beside each other, and where the completion that is pointed at leads. */

import { Combobox } from "./combobox.js";
import { Connection } from "./connection.js";
import { showEvaluation } from "./evaluation.js";
import { Events, clientId } from "./events.js";
import { explained, percent } from "./explanation.js";
import { Refused, Service, Unreachable } from "./service.js";

const at = (id) => document.getElementById(id);
const [main, form, input, panel] = [document.querySelector("main"), at("form"), at("search"), at("page")];
const narrow = matchMedia("(max-width: 699px)");
const LISTS = [
  { policy: "served", label: "Wayword" },
  { policy: "popular", label: "Most popular" },
];
const fixed = (score) => score.toFixed(2);
/** What each meaning of a score (`score_is`) is called, and how it is written. */
const SCORES = {
  list_value: { note: "gain, 100\u202f% is a search found", write: percent },
  expected_utility: { note: "times as useful as typing on", write: fixed },
  search_share: { note: "of the searches that begin so", write: percent },
};
const POINTED = 60;
const DOWN = "The service cannot be reached just now. What you typed is kept; this page tries again by itself.";

// What the page's own address says of the context, such as ?context.shop=de, goes with every question.
const named = [...new URLSearchParams(location.search)].filter(([key]) => key.startsWith("context."));
const context = Object.fromEntries(named.map(([key, value]) => [key.slice("context.".length), value]));
const base = new URL("../", import.meta.url);
const service = new Service(base, { user: clientId(), context });
const events = new Events(base, { application: "wayword", context });
const connection = new Connection(service, connected);

const explanations = new Map();
let lists = [];
let explaining = new AbortController();
let pointing = 0;
let searching = null; // a search that has no answer yet
let found = null; // shows the last one that has one, when the lists are closed again
let down = false;
let message = "";

const box = new Combobox(input, at("completions"), at("status"), {
  stays: true,
  load,
  look,
  pick(choice) {
    events.picked(choice.group.answer, choice.query, choice.position);
    search(choice.typed, choice.query);
  },
  type: (text, composing) => events.typed(text, composing),
  show: (groups) => events.shown(groups.map(({ answer }) => answer)),
  toggle,
  empty: () => told("No completions for this text."),
  clear: reset,
  fail: tell,
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  box.close();
  const query = input.value.trim();
  if (query) search(query, query);
});
input.addEventListener("input", () => {
  if (!input.value.trim()) reset();
});
at("modes").addEventListener("change", () => box.refresh());
addEventListener("popstate", revisit);
revisit();
evaluate();

function mode() {
  return form.elements.mode.value;
}

async function load(prefix, signal) {
  const options = { k: narrow.matches ? 5 : 8, mode: mode() };
  const ask = ({ policy }) => service.complete(prefix, { ...options, policy }, signal);
  lists = await reached(Promise.all(LISTS.map(ask)));
  explanations.clear();
  told("");
  at("index").textContent = `Index ${lists[0].index}`;
  return lists.map((answer, place) => {
    const { note, write } = SCORES[answer.score_is];
    const completions = answer.completions.map(({ query, score }) => ({ query, note: write(score) }));
    return { label: LISTS[place].label, heading: LISTS[place].label, note, answer, completions };
  });
}

/** Whether the service was there is seen from every answer. */
async function reached(answer) {
  try {
    const found = await answer;
    connection.back();
    return found;
  } catch (error) {
    if (error instanceof Unreachable) connection.lost();
    throw error;
  }
}

// --- where a completion leads

/** What is pointed at, or else the first completion. */
function look(choice) {
  const first = lists[0]?.completions[0] ?? lists[1]?.completions[0];
  const prefix = choice?.typed ?? lists[0]?.prefix;
  const query = choice?.query ?? first?.query;
  clearTimeout(pointing);
  explaining.abort();
  if (!query || !box.open) return;
  pointing = setTimeout(() => preview(prefix, query), explanations.has(query) ? 0 : POINTED);
}

async function preview(prefix, query) {
  explaining = new AbortController();
  const { signal } = explaining;
  try {
    if (!explanations.has(query)) {
      explanations.set(query, await reached(service.explain(prefix, query, { mode: mode() }, signal)));
    }
    if (!signal.aborted && box.open) show(explanations.get(query), { heading: "Where this query leads" });
  } catch (error) {
    if (!signal.aborted && !(error instanceof Unreachable)) show(null);
  }
}

// --- searches

/** The address of the page tells the search, so that it can be gone back to, kept and sent to others. */
function search(prefix, query) {
  const begun = { prefix, query, ...events.begin() };
  const parameters = new URLSearchParams([["q", query], ...named]);
  history.pushState(begun, "", `?${parameters}`);
  begin(begun);
}

/** A search that was made before is the same search, and is not told again. */
function revisit() {
  const query = new URLSearchParams(location.search).get("q") ?? "";
  box.close();
  box.fill(query);
  if (history.state?.query) begin({ ...history.state, told: true });
  else if (query.trim()) begin({ prefix: query, query, ...events.begin() });
  else reset();
}

function begin(search) {
  reset();
  searching = search;
  main.dataset.state = "searched";
  document.title = `${search.query} – Wayword`;
  answer(search);
}

async function answer({ prefix, query, told: before, ...ids }) {
  explaining.abort();
  explaining = new AbortController();
  const { signal } = explaining;
  try {
    const explanation = await reached(service.explain(prefix, query, { mode: mode() }, signal));
    if (signal.aborted) return;
    if (!before) events.searched(ids, query, explanation.results.map(({ document }) => document));
    const click = ({ document, rank }) => events.clicked(ids, query, document, rank);
    found = () => show(explanation, { heading: "Results for", click });
    found();
    searching = null;
  } catch (error) {
    if (signal.aborted || error instanceof Unreachable) return; // asked again when it is back
    if (!before) events.searched(ids, query);
    reset();
    told(error.status === 404 ? "The index has no result page for this query." : error.message);
  }
}

function toggle(open) {
  if (!open && !found) return reset();
  main.dataset.state = open ? "completing" : "searched";
  if (open) searching = null;
  else found();
}

function reset() {
  clearTimeout(pointing);
  explaining.abort();
  searching = found = null;
  show(null);
  told("");
  document.title = "Wayword";
  main.dataset.state = "intro";
}

function show(explanation, options) {
  panel.replaceChildren(...(explanation ? explained(explanation, options) : []));
  panel.hidden = !explanation;
}

// --- what was measured

/** Shown before anything is typed; a page without it is complete. */
async function evaluate() {
  const figure = at("evaluation");
  if (!figure.hidden) return;
  try {
    showEvaluation(figure, await service.evaluation());
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
  }
}

// --- what is told

function told(words) {
  message = words;
  const notice = at("notice");
  const text = down ? DOWN : message;
  if (notice.textContent !== text) notice.textContent = text;
  notice.classList.toggle("empty", !text);
}

function tell(error) {
  if (!(error instanceof Unreachable)) told(error.message);
}

function connected(up) {
  down = !up;
  told(message);
  if (!up) return;
  events.retry();
  evaluate();
  if (searching) answer(searching);
  else box.refresh();
}
