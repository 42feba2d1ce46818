'use strict';
// The stored commands of a pair, as Node-RED's thread sees them: the same contract as CommandStore. The store thread
// keeps them.

const { fromRow, toRow } = require('../commands/command-store');

/** @typedef {import('../commands/command').Command} Command */
/** @typedef {import('../commands/command-store').Addition} Addition */

/** As in the file: after a crash, a row not yet removed causes a second delivery. */
const REMOVE_LINGER_MS = 50;

class PairCommandStore {
  #post;
  /** @type {{ row: number, command: Command }[]} */
  #found = [];
  /** @type {Addition[]} */
  #adding = [];
  /** @type {number[]} */
  #removing = [];
  /** By the number of the change. @type {Map<number, { additions: Addition[], removals: number[] }>} */
  #changes = new Map();
  #lastId = 0;
  /** @type {NodeJS.Immediate | null} */
  #soon = null;
  /** @type {NodeJS.Timeout | null} */
  #later = null;
  /** Called when load() has something. */
  onFound = () => {};

  /** @param {(message: object) => void} post to the store thread */
  constructor(post) {
    this.#post = post;
  }

  /** @returns {{ row: number, command: Command }[]} those of an earlier owner of the log, in order, each once */
  load() {
    return this.#found.splice(0);
  }

  /** @param {Command} command @param {Addition['done']} done called when the command is stored, or cannot be */
  add(command, done) {
    this.#adding.push({ command, done });
    this.#soon ??= setImmediate(() => this.flush());
  }

  /** @param {number} row */
  remove(row) {
    this.#removing.push(row);
    this.#later ??= setTimeout(() => this.flush(), REMOVE_LINGER_MS).unref();
  }

  /** Passes pending changes on. */
  flush() {
    if (this.#soon) clearImmediate(this.#soon);
    if (this.#later) clearTimeout(this.#later);
    this.#soon = this.#later = null;
    if (this.#adding.length === 0 && this.#removing.length === 0) return;
    const [additions, removals] = [this.#adding.splice(0), this.#removing.splice(0)];
    const id = ++this.#lastId;
    this.#changes.set(id, { additions, removals });
    const add = additions.map(({ command }) => toRow(command));
    this.#post({ type: 'commands', change: { id, add, remove: removals } });
  }

  /** @param {Record<string, any>[]} rows of an earlier owner */
  found(rows) {
    this.#found.push(...rows.map(fromRow));
    this.onFound();
  }

  /** @param {{ id: number, rows: number[], failure: string }} result of a change */
  stored({ id, rows, failure }) {
    const change = this.#changes.get(id);
    this.#changes.delete(id);
    if (!change) return;
    if (failure) this.#removing.push(...change.removals);
    const error = failure ? new Error(`The command cannot be stored: ${failure}`) : null;
    change.additions.forEach(({ done }, i) => done(error, rows[i] ?? 0));
  }

  /** They are in the database. */
  async backup() {
    return false;
  }

  close() {
    this.flush();
  }
}

exports.PairCommandStore = PairCommandStore;
