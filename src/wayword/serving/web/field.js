/**
 * A search field of another site with completions. The list is in the document, not in a shadow tree, because
 * `aria-activedescendant` cannot point into one; its elements have names of their own, and forget what the site's rules say.
 */

import { Combobox } from "./combobox.js";
import { Events, clientId } from "./events.js";
import { Refused, Service } from "./service.js";

/** The list belongs to the same part of the page as the field; one in a dialog cannot be reached from outside. */
const AREAS = "dialog, main, header, footer, nav, aside, search, [role='search'], [role='main'], [role='banner']";
const LEAST = 240;
const MARGIN = 8;
const GAP = 4;
const attached = new WeakMap();
let styles;

export class Field {
  #input;
  #list = document.createElement("wayword-list");
  #status = document.createElement("wayword-status");
  #box;
  #events;
  #gone = new AbortController();

  static async attach(input, base, options) {
    styles ??= adopt(new URL("assets/field.css", base));
    await styles;
    if (!attached.has(input)) attached.set(input, new Field(input, base, options));
    return attached.get(input);
  }

  constructor(input, base, { k = 8, mode = "any", context = {}, events = true, application } = {}) {
    this.#input = input;
    const service = new Service(base, { user: events ? clientId() : "", context });
    this.#events = new Events(base, { application, context, off: !events });
    this.#list.setAttribute("aria-label", "Completions");
    this.#list.setAttribute("popover", "manual");
    (input.closest(AREAS) ?? document.body).append(this.#list, this.#status);
    this.#box = new Combobox(input, this.#list, this.#status, {
      load: async (text, signal) => [await this.#load(service, text, { k, mode }, signal)],
      toggle: (open) => this.#toggle(open),
      type: (text, composing) => this.#events.typed(text, composing),
      show: ([{ answer }]) => this.#events.shown([answer]),
      pick: (choice) => this.#pick(choice),
      fail: (error) => error instanceof Refused && console.warn(`Wayword: ${error.message}`),
    });
    const place = () => this.#place();
    const quietly = { signal: this.#gone.signal, passive: true, capture: true };
    addEventListener("scroll", place, quietly);
    addEventListener("resize", place, quietly);
    // Before the site's own listeners, which may read the hidden fields.
    input.form?.addEventListener("submit", () => this.#submitted(), { signal: this.#gone.signal, capture: true });
  }

  /** A search begins: the ids for its query record, `{query_id, typing_session}`. What is typed next leads to another. */
  search() {
    return this.#events.begin();
  }

  detach() {
    attached.delete(this.#input);
    this.#box.detach();
    this.#events.close();
    this.#gone.abort();
    this.#list.remove();
    this.#status.remove();
  }

  async #load(service, text, options, signal) {
    const answer = await service.complete(text, options, signal);
    return { answer, completions: answer.completions.map(({ query }) => ({ query })) };
  }

  /** The site may do something else with what was picked: then it cancels `wayword:pick`, and the form is not sent. */
  #pick({ query, typed, position, group: { answer } }) {
    this.#events.picked(answer, query, position);
    const detail = { query, prefix: typed, position, ...this.#events.ids };
    const event = new CustomEvent("wayword:pick", { detail, bubbles: true, cancelable: true });
    if (this.#input.dispatchEvent(event) && this.#input.form) this.#input.form.requestSubmit();
    else this.#events.begin();
  }

  /** Hidden fields of the form take the ids to the page of results: `<input type="hidden" data-wayword="query_id" …>`. */
  #submitted() {
    const ids = this.search();
    for (const element of this.#input.form.elements) {
      const name = element.dataset.wayword;
      if (name === "query_id" || name === "typing_session") element.value = ids[name] ?? "";
    }
  }

  #toggle(open) {
    if (this.#list.showPopover && this.#list.matches(":popover-open") !== open) this.#list.togglePopover(open);
    if (open) this.#place();
  }

  /** Under the field, or over it where there is more room; as wide as it, with its font. */
  #place() {
    if (this.#list.hidden) return;
    const { top, bottom, left, width } = this.#input.getBoundingClientRect();
    const { fontFamily, fontSize } = getComputedStyle(this.#input);
    const under = innerHeight - bottom > Math.min(LEAST, top);
    const wide = Math.min(Math.max(width, LEAST), innerWidth - 2 * MARGIN);
    const style = {
      top: under ? `${bottom + GAP}px` : "auto",
      bottom: under ? "auto" : `${innerHeight - top + GAP}px`,
      left: `${Math.max(MARGIN, Math.min(left, innerWidth - wide - MARGIN))}px`,
      width: `${wide}px`,
      room: `${(under ? innerHeight - bottom : top) - GAP - MARGIN}px`,
      family: fontFamily,
      size: fontSize,
    };
    for (const [name, value] of Object.entries(style)) this.#list.style.setProperty(`--wayword-${name}`, value);
  }
}

/** As a constructed sheet: this needs no permission for styles from the site's Content-Security-Policy. */
async function adopt(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}.`);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(await answer.text());
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
