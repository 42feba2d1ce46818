'use strict';
// Submissions by Idempotency-Key, so that a repeated request stores nothing twice. They are in memory only.

const crypto = require('node:crypto');
const { Submission } = require('./submission');
const { HttpRefusal } = require('./http-refusal');

const KEEP_MS = 600000;
const MAX_KEYS = 10000;
/** Most records of all submissions. Each record takes one byte. */
const MAX_RECORDS = 1000000;

class IdempotencyKeys {
  #now;
  /**
   * In the order of their first request.
   * @type {Map<string, { print: string, submission: Submission, at: number }>}
   */
  #submissions;
  #records;

  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#submissions = new Map();
    this.#records = 0;
  }

  get size() {
    return this.#submissions.size;
  }

  /**
   * @param {string | undefined} key the header
   * @param {string} sender each sender has its own keys
   * @param {string} target of the request
   * @param {Buffer} body
   * @param {number} total records
   * @returns {Submission} a new submission, or that of the first request with this key
   * @throws {HttpRefusal}
   */
  submission(key, sender, target, body, total) {
    if (key === undefined) return new Submission(total);
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new HttpRefusal(400, 'The Idempotency-Key must have 1 to 255 visible ASCII characters.');
    }
    this.#expire(total);
    const name = `${sender} ${key}`;
    const print = crypto.createHash('sha256').update(target).update('\0').update(body).digest('base64');
    const known = this.#submissions.get(name);
    if (known && known.print !== print) {
      throw new HttpRefusal(422, 'This Idempotency-Key was used for another request. Use a new one.');
    }
    if (known) return known.submission;
    const submission = new Submission(total);
    this.#submissions.set(name, { print, submission, at: this.#now() });
    this.#records += total;
    return submission;
  }

  /** @param {number} more records that must fit too */
  #expire(more) {
    const oldest = this.#now() - KEEP_MS;
    for (const [name, { at, submission }] of this.#submissions) {
      const fits = this.#submissions.size < MAX_KEYS && this.#records + more <= MAX_RECORDS;
      if (at > oldest && fits) break;
      this.#submissions.delete(name);
      this.#records -= submission.total;
    }
  }
}

exports.IdempotencyKeys = IdempotencyKeys;
exports.KEEP_MS = KEEP_MS;
exports.MAX_KEYS = MAX_KEYS;
