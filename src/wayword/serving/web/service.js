/** The service as the browser sees it: completions, explanations, and whether it is there. */

const PATIENCE = 10_000;

/** The service answered that it will not: asking again will not help. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** No answer, or one that says to come back later. */
export class Unreachable extends Error {}

export class Service {
  /** `base` is where the service lives, with a slash at the end; `context` has the columns that it was told of. */
  constructor(base, { user = "", context = {} } = {}) {
    this.base = base;
    this.context = context;
    this.user = user;
  }

  complete(prefix, { k = 10, mode = "any", policy = "served" } = {}, signal) {
    return this.#get("complete", { prefix, k, mode, policy, ...this.#who() }, signal);
  }

  explain(prefix, query, { mode = "any" } = {}, signal) {
    return this.#get("explain", { prefix, query, mode, ...this.#who() }, signal);
  }

  /** What people find and type with each policy; refused with 404 if nobody has measured it. */
  evaluation() {
    return this.#get("evaluation", {});
  }

  alive() {
    return this.#get("healthz", {});
  }

  #who() {
    const named = Object.entries(this.context).map(([column, value]) => [`context.${column}`, value]);
    return { ...(this.user && { user: this.user }), ...Object.fromEntries(named) };
  }

  async #get(name, parameters, signal) {
    const address = new URL(name, this.base);
    address.search = new URLSearchParams(parameters);
    const stop = new AbortController();
    const stopped = () => stop.abort();
    const late = setTimeout(stopped, PATIENCE);
    signal?.addEventListener("abort", stopped);
    try {
      const answer = await fetch(address, { signal: stop.signal, headers: { Accept: "application/json" } });
      if (answer.status >= 500 || answer.status === 429) throw new Unreachable(`status ${answer.status}`);
      const found = await answer.json();
      if (!answer.ok) throw new Refused(answer.status, found.error ?? `status ${answer.status}`);
      return found;
    } catch (error) {
      if (error instanceof Refused || signal?.aborted) throw error;
      throw error instanceof Unreachable ? error : new Unreachable(String(error));
    } finally {
      clearTimeout(late);
      signal?.removeEventListener("abort", stopped);
    }
  }
}
