/** Whether the service can be reached. While it cannot, it is asked again and again, at longer and longer intervals. */

import { Unreachable } from "./service.js";

const FIRST = 500;
const LONGEST = 15_000;

export class Connection {
  #service;
  #changed;
  #tries = 0;
  #timer = 0;
  #up = true;

  /** `changed(up)` is told once when the service goes and once when it is back. */
  constructor(service, changed) {
    this.#service = service;
    this.#changed = changed;
    addEventListener("online", () => this.#up || this.#look());
  }

  lost() {
    if (!this.#up) return;
    this.#up = false;
    this.#tries = 0;
    this.#changed(false);
    this.#wait();
  }

  back() {
    if (this.#up) return;
    this.#up = true;
    clearTimeout(this.#timer);
    this.#changed(true);
  }

  /** Not all at the same moment: a service that comes back should not be met by all its pages at once. */
  #wait() {
    const pause = Math.min(LONGEST, FIRST * 2 ** this.#tries++) * (0.8 + 0.4 * Math.random());
    this.#timer = setTimeout(() => this.#look(), pause);
  }

  async #look() {
    clearTimeout(this.#timer);
    try {
      await this.#service.alive();
    } catch (error) {
      if (error instanceof Unreachable) return this.#up || this.#wait();
    }
    this.back();
  }
}
