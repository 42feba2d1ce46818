'use strict';

/** @typedef {import('./found-links').FoundLinks} FoundLinks */

const LIMITS = {
  entries: 4096,
  /** Of all answers together. */
  bytes: 8 << 20,
  /** Of one answer. */
  answerBytes: 64 << 10
};

/**
 * Keeps the answers of discoveries while the database does not change. Any commit, by whomever, ends all of them; a
 * link that expires ends the answers that have it.
 */
class AnswerCache {
  /** Of the database to which the answers belong. */
  #version = NaN;
  /** Used longest ago first. @type {Map<string, FoundLinks & { from: number }>} */
  #answers = new Map();
  #bytes = 0;

  /**
   * Returns the answer to a question.
   * @param {number} version of the database
   * @param {string} key of the question
   * @param {number} now ms since 1970
   * @returns {FoundLinks | undefined}
   */
  get(version, key, now) {
    if (version !== this.#version) this.#clear(version);
    const known = this.#answers.get(key);
    if (!known) return undefined;
    this.#remove(key, known);
    // A clock that was set back would show a link again.
    if (now >= known.until || now < known.from) return undefined;
    this.#add(key, known);
    return known;
  }

  /**
   * Keeps an answer. REQUIRES: get() was called with this version.
   * @param {number} version that the database had before and after the question
   * @param {string} key
   * @param {number} now
   * @param {FoundLinks} answer
   */
  set(version, key, now, { body, until }) {
    if (version !== this.#version || body.length > LIMITS.answerBytes) return;
    const before = this.#answers.get(key);
    if (before) this.#remove(key, before);
    this.#add(key, { body, until, from: now });
    while (this.#answers.size > LIMITS.entries || this.#bytes > LIMITS.bytes) {
      const [[oldest, entry]] = this.#answers;
      this.#remove(oldest, entry);
    }
  }

  /** Answers, and their bytes. */
  get size() {
    return { entries: this.#answers.size, bytes: this.#bytes };
  }

  /** @param {string} key @param {FoundLinks & { from: number }} entry */
  #add(key, entry) {
    this.#answers.set(key, entry);
    this.#bytes += entry.body.length + key.length;
  }

  /** @param {string} key @param {FoundLinks} entry */
  #remove(key, { body }) {
    this.#answers.delete(key);
    this.#bytes -= body.length + key.length;
  }

  /** @param {number} version */
  #clear(version) {
    this.#version = version;
    this.#answers.clear();
    this.#bytes = 0;
  }
}

module.exports = { AnswerCache, LIMITS };
