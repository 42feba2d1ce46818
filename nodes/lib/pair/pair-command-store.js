'use strict';
// The stored commands of a pair, as Node-RED's thread sees them: the same contract as CommandStore. The store thread
// keeps them.

const { fromRow, toRow } = require('../commands/command-store');
const { PendingChanges } = require('../commands/pending-changes');

/** @typedef {import('../commands/command').Command} Command */
/** @typedef {import('../commands/pending-changes').Addition} Addition */

class PairCommandStore {
  #post;
  /** @type {{ row: number, command: Command }[]} */
  #found = [];
  #pending = new PendingChanges(() => this.flush());
  /** By the number of the change. @type {Map<number, { additions: Addition[], removals: number[] }>} */
  #changes = new Map();
  #lastId = 0;
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
    this.#pending.add(command, done);
  }

  /** @param {number} row */
  remove(row) {
    this.#pending.remove(row);
  }

  /** Passes pending changes on. */
  flush() {
    const changes = this.#pending.take();
    if (!changes) return;
    const id = ++this.#lastId;
    this.#changes.set(id, changes);
    const add = changes.additions.map(({ command }) => toRow(command));
    this.#post({ type: 'commands', change: { id, add, remove: changes.removals } });
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
    if (failure) this.#pending.putBack(change.removals);
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
