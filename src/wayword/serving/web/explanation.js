/** Where a query leads, as elements: how useful its result page is, the results with what is wanted marked, and why. */

const SOURCES = {
  graph: "Its results are what people who type this want.",
  typo: "A typing mistake in the text was corrected.",
  words: "No query starts with the text; queries with its words in any order were searched.",
  similar: "No query has all of these words; queries that share the rarest of them were searched.",
  pinned: "It is pinned to this text.",
  popular: "Many people search for it.",
};
const LINK = /^https?:\/\//i;
const MARKED = 0.01; // of what is wanted here: where much is known, everything is wanted by somebody
const MOST_MISSED = 3;
const MOST_BECOMES = 4;
const MOST_TAKERS = 3;

/** `click(result)` makes results that can be clicked; without it they are only to look at. */
export function explained(explanation, { heading, click }) {
  const title = element("h2", {}, element("span", { class: "eyebrow" }, heading), text("span", explanation.query));
  title.id = "page-title";
  return [
    title,
    ...worth(explanation),
    results(explanation, click),
    ...missed(explanation),
    ...takers(explanation),
    ...reason(explanation),
  ];
}

export function percent(share) {
  const value = 100 * share;
  if (value < 0) return `−${percent(-share)}`;
  const digits = value >= 9.95 ? value.toFixed(0) : value >= 0.05 ? value.toFixed(1) : value > 0 ? "< 0.1" : "0";
  return `${digits}\u202f%`;
}

function worth({ utility, results }) {
  const seen = results.reduce((sum, { wanted, exposure }) => sum + wanted * exposure, 0);
  const facts = [
    [utility.toFixed(2), "times as useful as typing on"],
    [percent(seen), "of what people want here is seen on its page"],
  ];
  const rows = facts.map(([value, meaning]) => element("p", {}, element("strong", {}, value), " ", meaning));
  return results.length ? [element("div", { class: "worth" }, ...rows)] : [];
}

function results({ results }, click) {
  if (!results.length) return element("p", { class: "quiet" }, "The index has no result page for this query.");
  return element("ol", { class: "results" }, ...results.map((result) => row(result, click)));
}

function row(result, click) {
  const name = element("span", { class: "name" }, text("span", result.title ?? result.document, "title"));
  if (result.title && !LINK.test(result.document)) name.append(" ", text("span", result.document, "id"));
  const cells = [element("span", { class: "rank" }, String(result.rank)), click ? clickable(result, name, click) : name];
  const marked = result.wanted >= MARKED;
  if (marked) {
    const mark = element("span", { class: "mark", "aria-hidden": "true" }, "✓");
    cells.push(element("span", { class: "wanted" }, mark, `wanted ${percent(result.wanted)}`));
  } else if (result.wanted > 0) cells.push(element("span", { class: "hardly" }, percent(result.wanted)));
  return element("li", marked ? { "data-wanted": "" } : {}, ...cells);
}

function clickable(result, name, click) {
  const made = LINK.test(result.document)
    ? element("a", { href: result.document, rel: "noopener noreferrer" }, name)
    : element("button", { type: "button" }, name);
  made.addEventListener("click", () => {
    made.setAttribute("data-opened", "");
    click(result);
  });
  return made;
}

/** Who takes it, where it leads them and what it saves; gains are shares of a search found. */
function takers({ people }) {
  if (!people) return [];
  const { taken, finds, instead_of, saves, value } = people;
  const sum = `${percent(taken)} of the people who type it take this query. They find ${percent(finds)} instead of ` +
    `${percent(instead_of)} by typing on, and save keystrokes worth ${percent(saves)}: a gain of ${percent(value)}.`;
  const named = people.takers.slice(0, MOST_TAKERS).map(({ query, takes }) => [query, takes]);
  const paragraph = element("p", { class: "quiet", id: "takers" }, sum);
  if (named.length) paragraph.append(" Those who mean ", ...listed(named), " take it.");
  return [paragraph];
}

/** What people want and do not find there. */
function missed({ wanted, results }) {
  const there = new Set(results.map(({ document }) => document));
  const absent = wanted.filter(({ document }) => !there.has(document)).slice(0, MOST_MISSED);
  if (!absent.length) return [];
  const named = absent.map(({ document, title, share }) => [title ?? document, share]);
  return [element("p", { class: "quiet" }, "Wanted, but not on this page: ", ...listed(named), ".")];
}

function reason({ prefix, source, becomes }) {
  const why = SOURCES[source] ?? `Source: ${source}.`;
  const paragraph = element("p", { class: "quiet", id: "reason" }, why);
  if (becomes.length) {
    const named = becomes.slice(0, MOST_BECOMES).map(({ query, share }) => [query, share]);
    paragraph.append(" People who type “", text("span", prefix), "” go on to ", ...listed(named), ".");
  }
  return [paragraph];
}

function listed(pairs) {
  return pairs.flatMap(([name, share], at) => [
    at ? ", " : "",
    text("cite", name),
    `\u00a0${percent(share)}`,
  ]);
}

/** Words of others, in whatever direction they are written. */
function text(name, words, kind) {
  return element(name, { dir: "auto", ...(kind && { class: kind }) }, words);
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
