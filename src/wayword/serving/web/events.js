/** What people saw, picked, searched and clicked, as records of User Behavior Insights (UBI 1.3). */

const SMALL = 60_000; // a request that outlives its page may have 64 KB
const MOST = 500;
const PAUSE = 1000; // lists wait so long for others, so that a keystroke is not a request

/**
 * Every list that is displayed is told, with the id of its typing session. That begins with the first character in an
 * empty, searched or picked field, and ends when a completion is picked, a search begins or the text is removed.
 */
export class Events {
  #address;
  #common;
  #context;
  #search = uuid(); // the id of the search that is being typed: what is shown and picked on the way to it has it, too
  #typing; // the id of the typing session; none before something is typed or shown
  #text = "";
  #taken = false;
  #unsent = [];
  #timer = 0;
  #off;
  #gone = new AbortController();

  constructor(base, { application, context = {}, off = false } = {}) {
    this.#address = new URL("events", base);
    const who = off ? {} : { client_id: clientId(), session_id: sessionId() };
    this.#common = { ...who, ...(application && { application }) };
    this.#context = context;
    this.#off = off;
    const { signal } = this.#gone;
    addEventListener("pagehide", () => this.#post([]), { signal });
    document.addEventListener("visibilitychange", () => document.hidden && this.#post([]), { signal });
  }

  /** The ids of the search that is being typed. */
  get ids() {
    return { query_id: this.#search, ...(this.#typing && { typing_session: this.#typing }) };
  }

  /** A person changed the text. An input method replaces its own letters all the time: that is not another text. */
  typed(text, composing = false) {
    const emptied = !text.trim();
    if (emptied || this.#taken || (!composing && replaced(this.#text, text))) {
      this.#renew();
      this.#post([]);
    }
    this.#text = text;
    if (!emptied) this.#typing ??= uuid();
  }

  /** The lists of `/complete` that are on the screen now. */
  shown(answers) {
    const timestamp = now();
    const position = { ordinal: 1 };
    const filled = answers.filter(({ completions }) => completions.length);
    this.#wait(
      filled.map((answer) => ({
        ...this.#event("completions_shown", { position, completion: this.#completion(answer) }),
        timestamp,
      })),
    );
  }

  picked(answer, query, position) {
    const object = { object_id: query, object_id_type: "query" };
    const attributes = { object, position: { ordinal: position }, completion: this.#completion(answer) };
    this.#post([this.#event("completion_picked", attributes)]);
    this.#taken = true;
  }

  /** A search begins: its ids. What is typed from now on leads to the next one. */
  begin() {
    const { ids } = this;
    this.#renew();
    this.#post([]);
    return ids;
  }

  /** `documents` are the results in their order; left out where they are not known. */
  searched({ query_id, typing_session }, query, documents) {
    const hits = documents && { query_response_hit_ids: documents };
    const attributes = { ...this.#context, ...(typing_session && { typing_session }) };
    const known = Object.keys(attributes).length ? { query_attributes: attributes } : {};
    const { session_id, ...who } = this.#common; // a query record has none
    this.#post([{ query_id, user_query: query, timestamp: now(), ...who, ...hits, ...known }]);
  }

  clicked({ query_id }, query, document, position) {
    const attributes = { object: { object_id: document }, position: { ordinal: position } };
    this.#post([{ ...this.#event("click", attributes), query_id, user_query: query }]);
  }

  /** Send what could not be sent. */
  retry() {
    this.#post([]);
  }

  close() {
    this.#post([]);
    this.#gone.abort();
  }

  #renew() {
    this.#search = uuid();
    this.#typing = undefined;
    this.#taken = false;
  }

  #completion({ prefix, mode, policy, index, arm, completions }) {
    const typing_session = (this.#typing ??= uuid());
    return { prefix, mode, policy, index, arm, shown: completions.map(({ query }) => query), typing_session };
  }

  #event(action, attributes) {
    const common = { timestamp: now(), query_id: this.#search, ...this.#common };
    return { action_name: action, ...common, event_attributes: attributes };
  }

  #wait(records) {
    if (this.#off) return;
    this.#unsent.push(...records);
    this.#timer ||= setTimeout(() => this.#post([]), PAUSE);
  }

  async #post(records) {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const batch = [...this.#unsent, ...records].slice(-MOST);
    this.#unsent = [];
    if (this.#off || !batch.length) return;
    const body = JSON.stringify(batch);
    // Plain text needs no permission beforehand from another origin, so a page that is left at once still sends it.
    const headers = { "Content-Type": "text/plain;charset=UTF-8" };
    try {
      const keepalive = body.length < SMALL;
      if (keepalive && !("keepalive" in Request.prototype)) {
        navigator.sendBeacon(this.#address, body);
        return;
      }
      const { status } = await fetch(this.#address, { method: "POST", body, headers, keepalive });
      if (status === 401 || status === 403) this.#off = true; // events are not wanted from here
      else if (status === 429 || status >= 500) this.#unsent.unshift(...batch);
    } catch {
      this.#unsent.unshift(...batch);
    }
  }
}

/** Whether another text was put in the place of the whole. */
function replaced(before, text) {
  return before !== "" && before[0] !== text[0] && before.at(-1) !== text.at(-1);
}

/** Who it is, as far as this browser tells: a random name, kept where that is allowed. */
export function clientId() {
  return kept("localStorage", "wayword.client_id");
}

function sessionId() {
  return kept("sessionStorage", "wayword.session_id");
}

const otherwise = new Map();

function kept(storage, key) {
  try {
    const found = window[storage].getItem(key);
    if (found) return found;
    const fresh = uuid();
    window[storage].setItem(key, fresh);
    return fresh;
  } catch {
    if (!otherwise.has(key)) otherwise.set(key, uuid());
    return otherwise.get(key);
  }
}

/** `crypto.randomUUID` is missing where a page came without TLS. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function now() {
  return new Date().toISOString();
}
