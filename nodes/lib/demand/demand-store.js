'use strict';
// Commits of questions and owed restores, as Node-RED's thread sees them. All changes that come during a commit, or
// within COMMIT_MS of the one before it, are one transaction: many questions a second cost few syncs, and a slow disk
// gets larger transactions instead of more. Another thread commits, so a sync does not block Node-RED's.

/** Least time between two commits, so that a disk has at most 20 a second. */
const COMMIT_MS = 50;
/** Changes that may wait for the disk. */
const MAX_WAITING = 4096;
/**
 * Removals that failed are tried again after this time, and so is a new file for one that was lost. A removal that
 * never gets to the disk costs a restore too many.
 */
const RETRY_MS = 1000;

/**
 * @typedef {import('./demand-file').Change} Change
 * @typedef {import('./demand-file').StoredQuestion} StoredQuestion
 * @typedef {import('./demand-file').Restore} Restore
 *
 * @typedef {Error & { isLost?: boolean }} Failure isLost: a new file begins, which has nothing
 *
 * @typedef {object} Writer has the file
 * @property {() => { questions: StoredQuestion[], restores: Restore[] }} load
 * @property {(changes: Change[], done: (error: Failure | null) => void) => void} write calls done once: the changes are
 *   on disk, or that failed. Takes further changes meanwhile, and writes them in their order
 * @property {() => void | Promise<void>} close after what was given to write()
 *
 * @typedef {{ change: Change, done: ((error: Error | null) => void) | null }} Waiting
 */

class DemandStore {
  /** Returns all that the file must have, to write it again. @type {() => ReturnType<Writer['load']>} */
  contents = () => ({ questions: [], restores: [] });
  #writer;
  #now;
  /** The file was lost, and a new one does not have its contents yet. */
  #isLost = false;
  /** @type {Waiting[]} */
  #waiting = [];
  /** Changes of the commit that is under way. */
  #underWay = 0;
  #committedAt = -Infinity;
  /** @type {NodeJS.Timeout | null} */
  #timer = null;
  #dueAt = Infinity;
  #isClosed = false;

  /** @param {Writer} writer @param {() => number} [now] ms, monotonic */
  constructor(writer, now = () => performance.now()) {
    this.#writer = writer;
    this.#now = now;
  }

  /** Returns what earlier runs stored. */
  load() {
    return this.#writer.load();
  }

  /** True if the disk takes too little. */
  get isFull() {
    return this.#waiting.length + this.#underWay >= MAX_WAITING;
  }

  /**
   * Resolves when the question is on disk, with what restores the device if it gets a command.
   * @param {StoredQuestion} question
   * @param {Restore | null} restore
   * @returns {Promise<void>}
   */
  put(question, restore) {
    return new Promise((resolve, reject) => {
      if (restore) this.#add(putRestore(restore));
      this.#add(putQuestion(question), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** @param {string} device @param {string} by */
  remove(device, by) {
    this.#add({ name: 'removeQuestion', values: [device, by] });
  }

  /** @param {string} device that has its normal rate */
  restored(device) {
    this.#add({ name: 'removeRestore', values: [device] });
  }

  /** Commits what waits, and closes the file. */
  async close() {
    this.#commit();
    this.#isClosed = true;
    await this.#writer.close();
  }

  /** @param {Change} change @param {(error: Error | null) => void} [done] */
  #add(change, done) {
    this.#waiting.push({ change, done: done ?? null });
    this.#commitIn(COMMIT_MS);
  }

  /** @param {number} pauseMs since the last commit */
  #commitIn(pauseMs) {
    const at = this.#committedAt + pauseMs;
    if (this.#isClosed || this.#underWay > 0 || at >= this.#dueAt) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => this.#commit(), Math.max(0, at - this.#now()));
  }

  #commit() {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAt = Infinity;
    const batch = this.#waiting;
    const isAll = this.#isLost;
    if (batch.length === 0 && !isAll) return;
    this.#waiting = [];
    const size = batch.length + Number(isAll);
    this.#underWay += size;
    this.#committedAt = this.#now();
    const { questions, restores } = isAll ? this.contents() : { questions: [], restores: [] };
    const changes = batch.map(({ change }) => change);
    this.#writer.write([...restores.map(putRestore), ...questions.map(putQuestion), ...changes], (error) => {
      this.#underWay -= size;
      this.#committed(batch, error, isAll);
    });
  }

  /** @param {Waiting[]} batch @param {Failure | null} error @param {boolean} isAll */
  #committed(batch, error, isAll) {
    if (error?.isLost) this.#isLost = true;
    else if (isAll && !error) this.#isLost = false;
    if (this.#isLost) this.#commitIn(RETRY_MS);
    if (this.#waiting.length > 0) this.#commitIn(COMMIT_MS);
    // Whoever asked gets the error and may ask again. A removal has no asker: it is tried again.
    const removals = error ? batch.filter(({ change }) => change.name.startsWith('remove')) : [];
    if (removals.length > 0) {
      this.#waiting = [...removals.slice(-MAX_WAITING), ...this.#waiting];
      this.#commitIn(RETRY_MS);
    }
    for (const { done } of batch) done?.(error);
  }
}

/** @param {StoredQuestion} question @returns {Change} */
function putQuestion({ device, by, everyMs, forMs, endsAt }) {
  return { name: 'putQuestion', values: [device, by, everyMs, forMs, endsAt] };
}

/** @param {Restore} restore @returns {Change} */
function putRestore({ device, topic, payload, since }) {
  return { name: 'putRestore', values: [device, topic, payload, since] };
}

exports.DemandStore = DemandStore;
