/**
 * A text field with a list of completions: the combobox of WAI-ARIA 1.2 with a listbox.
 *
 * It knows neither servers nor styles. `load(text, signal)` gives groups `{label, heading, note, completions}` of
 * completions `{query, note}`; what else these have comes back with what is picked. Elements have names of their own, so
 * that no rule of a page for `li` or `b` meets them. Focus and the typed text stay in the field.
 */

const DEBOUNCE = 30;
let made = 0;

export class Combobox {
  #input;
  #list;
  #status;
  #options;
  #id = `wayword-${++made}`;
  #groups = [];
  #choices = [];
  #text = ""; // what the list was made for
  #active = -1;
  #hovered = -1;
  #asking = null;
  #failed = false;
  #filling = false;
  #waiting = 0;
  #gone = new AbortController();
  #before = {};

  /**
   * Options, all but `load` optional: `pick(choice, groups)`, `look(choice or null)` for what is highlighted by key or
   * mouse, `toggle(open)`, `type(text, composing)` when a person changed the text, `show(groups)` each time a list is on the
   * screen, `empty()` when there is nothing to show, `clear()` when the field was emptied by key, `fail(error)`, `stays`: the
   * list is open without focus, too.
   */
  constructor(input, list, status, options) {
    this.#input = input;
    this.#list = list;
    this.#status = status;
    this.#options = options;
    list.id ||= `${this.#id}-list`;
    list.setAttribute("role", "listbox");
    list.hidden = true;
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");
    this.#set({
      role: "combobox",
      autocomplete: "off",
      "aria-autocomplete": "list",
      "aria-haspopup": "listbox",
      "aria-expanded": "false",
      "aria-controls": list.id,
    });
    this.#listen();
  }

  get open() {
    return !this.#list.hidden;
  }

  /** Ask again: the answer may be another one now. */
  refresh() {
    if (this.open || this.#failed) this.#ask();
  }

  close() {
    this.#forget();
    if (!this.open) return;
    this.#highlight(-1);
    this.#list.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
    this.#status.textContent = "";
    this.#options.toggle?.(false);
  }

  /** Write into the field as a person would, so that the page notices, but ask for nothing. */
  fill(text) {
    const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
    this.#filling = true;
    set.call(this.#input, text);
    this.#input.dispatchEvent(new Event("input", { bubbles: true }));
    this.#filling = false;
  }

  /** Leave the field as if nothing had been here. */
  detach() {
    this.close();
    this.#gone.abort();
    this.#set(this.#before);
  }

  /** Set attributes of the field, those that are null removed; what they were is remembered. */
  #set(attributes) {
    this.#before = {};
    for (const [name, value] of Object.entries(attributes)) {
      this.#before[name] = this.#input.getAttribute(name);
      if (value === null) this.#input.removeAttribute(name);
      else this.#input.setAttribute(name, value);
    }
  }

  #listen() {
    const { signal } = this.#gone;
    const on = (target, type, act) => target.addEventListener(type, act, { signal });
    on(this.#input, "input", (event) => this.#typed(event));
    on(this.#input, "keydown", (event) => this.#key(event));
    if (!this.#options.stays) on(this.#input, "blur", () => this.close());
    on(this.#list, "mousedown", (event) => event.preventDefault()); // the field keeps the focus
    on(this.#list, "pointermove", (event) => event.pointerType === "mouse" && this.#hover(this.#at(event)));
    on(this.#list, "pointerleave", () => this.#hover(-1));
    on(this.#list, "click", (event) => this.#pick(this.#at(event)));
  }

  #at(event) {
    const option = event.target.closest("wayword-option");
    return this.#choices.findIndex((choice) => choice.element === option);
  }

  #typed({ isComposing = false }) {
    if (this.#filling) return;
    this.#options.type?.(this.#input.value, isComposing);
    this.#forget();
    this.#highlight(-1);
    if (this.#input.value.trim()) this.#waiting = setTimeout(() => this.#ask(), DEBOUNCE);
    else this.close();
  }

  #forget() {
    clearTimeout(this.#waiting);
    this.#asking?.abort();
    this.#asking = null;
    this.#failed = false;
  }

  async #ask() {
    this.#forget();
    const text = this.#input.value;
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const groups = await this.#options.load(text, asking.signal);
      if (this.#asking === asking) this.#show(groups, text);
    } catch (error) {
      if (this.#asking !== asking) return;
      this.close();
      this.#failed = true;
      this.#options.fail?.(error);
    }
  }

  #show(groups, text) {
    this.#text = text;
    this.#groups = groups;
    this.#choices = [];
    this.#active = this.#hovered = -1;
    this.#input.removeAttribute("aria-activedescendant");
    const filled = groups.filter((group) => group.completions.length);
    this.#list.replaceChildren(...filled.map((group) => this.#group(group)));
    const count = this.#choices.length;
    const expanded = count > 0;
    this.#list.hidden = !expanded;
    this.#input.setAttribute("aria-expanded", String(expanded));
    this.#status.textContent = count === 0 ? "No completions." : count === 1 ? "1 completion." : `${count} completions.`;
    this.#options.toggle?.(expanded);
    if (!expanded) return this.#options.empty?.();
    this.#options.look?.(null);
    this.#options.show?.(groups);
  }

  #group(group) {
    const element = built("wayword-group");
    if (group.label) {
      element.setAttribute("role", "group");
      element.setAttribute("aria-label", group.label);
    }
    if (group.heading) {
      const heading = built("wayword-heading", group.heading, built("wayword-note", group.note ?? ""));
      heading.setAttribute("aria-hidden", "true"); // the group has its label
      element.append(heading);
    }
    element.append(...group.completions.map((completion, at) => this.#option(completion, group, at)));
    return element;
  }

  #option(completion, group, at) {
    const text = built("wayword-text", ...parts(completion.query, this.#text).map(
      ({ text, typed }) => (typed ? text : built("wayword-rest", text)),
    ));
    text.dir = "auto";
    const element = built("wayword-option", text);
    if (completion.note) {
      const note = built("wayword-note", completion.note);
      note.setAttribute("aria-hidden", "true");
      element.append(note);
    }
    element.id = `${this.#id}-${this.#choices.length}`;
    element.setAttribute("role", "option");
    element.setAttribute("aria-selected", "false");
    this.#choices.push({ ...completion, group, position: at + 1, typed: this.#text, element });
    return element;
  }

  #key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    const act = {
      ArrowDown: () => this.#step(1, event.altKey),
      ArrowUp: () => this.#step(-1, event.altKey),
      Enter: () => this.#enter(),
      Escape: () => this.#escape(),
      Tab: () => void (this.#options.stays || this.close()),
    }[event.key];
    if (act?.()) event.preventDefault();
  }

  /** Each of these tells whether the key was used up. */
  #step(by, alone) {
    if (!this.open) {
      if (this.#input.value.trim()) this.#ask();
    } else if (alone) {
      if (by < 0) this.close();
    } else {
      const { length } = this.#choices;
      this.#highlight(this.#active < 0 && by < 0 ? length - 1 : (this.#active + by + length) % length);
    }
    return true;
  }

  #enter() {
    if (this.open && this.#active >= 0) {
      this.#pick(this.#active);
      return true;
    }
    this.close(); // and the form is sent as it stands
    return false;
  }

  #escape() {
    if (this.open) this.close();
    else if (this.#input.value) {
      this.#forget();
      this.fill("");
      this.#options.type?.("", false);
      this.#options.clear?.();
    } else return false;
    return true;
  }

  #highlight(at) {
    this.#choices[this.#active]?.element.setAttribute("aria-selected", "false");
    this.#active = at;
    this.#hovered = -1;
    const choice = this.#choices[at];
    if (choice) {
      choice.element.setAttribute("aria-selected", "true");
      choice.element.scrollIntoView({ block: "nearest" });
      this.#input.setAttribute("aria-activedescendant", choice.element.id);
    } else this.#input.removeAttribute("aria-activedescendant");
    this.#look();
  }

  /** The mouse shows, but does not choose: Enter still searches for what was typed. */
  #hover(at) {
    if (at === this.#hovered) return;
    this.#hovered = at;
    this.#look();
  }

  #look() {
    const seen = this.#choices[this.#hovered] ?? this.#choices[this.#active];
    for (const choice of this.#choices) {
      choice.element.toggleAttribute("data-seen", choice === seen);
      choice.element.toggleAttribute("data-twin", choice !== seen && choice.query === seen?.query);
    }
    this.#options.look?.(seen ?? null);
  }

  #pick(at) {
    const choice = this.#choices[at];
    if (!choice) return;
    const groups = this.#groups;
    this.close();
    this.fill(choice.query);
    this.#options.pick?.(choice, groups);
  }
}

/**
 * What of a completion has been typed, and what is the rest: `[{text, typed}]`. Typed is what the text starts with or,
 * if the completion starts otherwise, every beginning of its words that is a typed word.
 */
export function parts(query, typed) {
  const low = query.toLowerCase();
  const start = typed.trimStart().toLowerCase();
  if (low.length !== query.length) return [{ text: query, typed: false }]; // letters whose small form is longer
  if (start && low.startsWith(start)) return pieces(query, [[0, start.length]]);
  const words = start.split(/\s+/).filter(Boolean).sort((a, b) => b.length - a.length);
  const spans = [];
  for (const { index, 0: word } of low.matchAll(/\S+/g)) {
    const found = words.find((one) => word.startsWith(one));
    if (found) spans.push([index, index + found.length]);
  }
  return pieces(query, spans);
}

function pieces(query, spans) {
  const found = [];
  let at = 0;
  for (const [from, to] of spans) {
    found.push({ text: query.slice(at, from), typed: false }, { text: query.slice(from, to), typed: true });
    at = to;
  }
  found.push({ text: query.slice(at), typed: false });
  return found.filter(({ text }) => text);
}

function built(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}
