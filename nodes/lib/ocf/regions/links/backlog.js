'use strict';

/** Work for the end of something. Work that is added after the end is done at once. */
class Backlog {
  /** @type {(() => void)[] | null} null = ended */
  #work = [];

  /** @param {() => void} work */
  add(work) {
    if (this.#work) this.#work.push(work);
    else work();
  }

  end() {
    const work = this.#work ?? [];
    this.#work = null;
    for (const each of work) each();
  }
}

exports.Backlog = Backlog;
