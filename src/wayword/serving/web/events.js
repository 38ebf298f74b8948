/** What people saw, picked, searched and clicked, as records of User Behavior Insights (UBI 1.3). */

const SMALL = 60_000; // a request that outlives its page may have 64 KB
const MOST = 500;

export class Events {
  #address;
  #common;
  #context;
  #told = new WeakSet();
  /** The id of the search that is being typed: what is shown and picked on the way to it has it, too. */
  search;
  #unsent = [];
  #off;

  constructor(base, { application, context = {}, off = false } = {}) {
    this.#address = new URL("events", base);
    const who = off ? {} : { client_id: clientId(), session_id: sessionId() };
    this.#common = { ...who, ...(application && { application }) };
    this.#context = context;
    this.#off = off;
    this.search = uuid();
  }

  /** The lists of `/complete` that somebody saw, each told once. */
  shown(answers) {
    this.#post(this.#shown(answers));
  }

  picked(answer, query, position, answers = [answer]) {
    const object = { object_id: query, object_id_type: "query" };
    this.#post([
      ...this.#shown(answers),
      this.#event("completion_picked", {
        object,
        position: { ordinal: position },
        completion: completion(answer),
      }),
    ]);
  }

  /** A search begins: its id. What is typed from now on leads to the next one. */
  begin() {
    const begun = this.search;
    this.search = uuid();
    return begun;
  }

  /** `documents` are the results in their order; left out where they are not known. */
  searched(search, query, documents) {
    const hits = documents && { query_response_hit_ids: documents };
    const context = Object.keys(this.#context).length ? { query_attributes: this.#context } : {};
    const { session_id, ...who } = this.#common; // a query record has none
    this.#post([{ query_id: search, user_query: query, timestamp: now(), ...who, ...hits, ...context }]);
  }

  clicked(search, query, document, position) {
    const attributes = { object: { object_id: document }, position: { ordinal: position } };
    this.#post([{ ...this.#event("click", attributes), query_id: search, user_query: query }]);
  }

  /** Send what could not be sent. */
  retry() {
    this.#post([]);
  }

  #shown(answers) {
    const fresh = answers.filter((answer) => answer.completions.length && !this.#told.has(answer));
    return fresh.map((answer) => {
      this.#told.add(answer);
      return this.#event("completions_shown", { position: { ordinal: 1 }, completion: completion(answer) });
    });
  }

  #event(action, attributes) {
    const common = { timestamp: now(), query_id: this.search, ...this.#common };
    return { action_name: action, ...common, event_attributes: attributes };
  }

  async #post(records) {
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

function completion({ prefix, mode, policy, index, arm, completions }) {
  return { prefix, mode, policy, index, arm, shown: completions.map(({ query }) => query) };
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
