'use strict';
// Submissions by Idempotency-Key, so that a repeated request stores nothing twice. They are in memory only.

const crypto = require('node:crypto');
const { Submission } = require('./submission');
const { HttpRefusal, retryAfter } = require('./http-refusal');

const KEEP_MS = 600000;
/**
 * No key is forgotten earlier to make room: beyond these limits, requests with a new key are refused. A sender whose
 * token has a name may use a tenth of each.
 */
const LIMITS = {
  /** A key takes about 220 bytes. */
  keys: 200000,
  /** What submissions take while a request uses them, or a record of them is not safe. */
  openBytes: 32 * 1024 * 1024
};
/** Of a submission, and one for each of its records. */
const SUBMISSION_BYTES = 600;
const SHARE = 0.1;
const RETRY_S = 10;
/** Each look walks over the places of deleted entries. */
const EXPIRE_EVERY_MS = 1000;

/**
 * @typedef {object} Sender
 * @property {string} name
 * @property {number} keys
 * @property {number} openBytes
 *
 * @typedef {object} Entry
 * @property {string} print of the request
 * @property {Sender} sender
 * @property {number} total records
 * @property {Submission | null} submission null: all its records are safe, or the entry is forgotten
 * @property {number} at ms
 */

class IdempotencyKeys {
  #now;
  #limits;
  /** By the hash of sender and key, oldest first. @type {Map<string, Entry>} */
  #entries = new Map();
  /** Those with keys. @type {Map<string, Sender>} */
  #senders = new Map();
  #openBytes = 0;
  #nextExpiry = -Infinity;

  /** @param {() => number} [now] ms @param {typeof LIMITS} [limits] */
  constructor(now = () => performance.now(), limits = LIMITS) {
    this.#now = now;
    this.#limits = limits;
  }

  get size() {
    return this.#entries.size;
  }

  /**
   * @param {string | undefined} key the header
   * @param {string} sender each sender has its own keys; '' = all clients of a node without tokens
   * @param {string} target of the request
   * @param {Buffer} body
   * @param {number} total records
   * @returns {Submission} a new submission, or that of the first request with this key. The caller must call its
   *   leave() when the request has ended
   * @throws {HttpRefusal}
   */
  submission(key, sender, target, body, total) {
    if (key === undefined) return new Submission(total).enter();
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new HttpRefusal(400, 'The Idempotency-Key must have 1 to 255 visible ASCII characters.');
    }
    this.#expire();
    const id = crypto.createHash('sha256').update(`${sender} ${key}`).digest('binary');
    const print = crypto.createHash('sha256').update(target).update('\0').update(body).digest('binary');
    const known = this.#entries.get(id);
    if (known && known.print !== print) {
      throw new HttpRefusal(422, 'This Idempotency-Key was used for another request. Use a new one.');
    }
    const submission = known
      ? (known.submission ?? Submission.done(known.total))
      : this.#add(id, print, sender, total);
    return submission.enter();
  }

  /** @param {string} id @param {string} print @param {string} name @param {number} total @returns {Submission} */
  #add(id, print, name, total) {
    const sender = this.#senders.get(name) ?? { name, keys: 0, openBytes: 0 };
    this.#checkRoom(sender, SUBMISSION_BYTES + total);
    const submission = new Submission(total, () => this.#rested(id, entry));
    /** @type {Entry} */
    const entry = { print, sender, total, submission, at: this.#now() };
    this.#entries.set(id, entry);
    this.#senders.set(name, sender);
    sender.keys++;
    this.#count(sender, SUBMISSION_BYTES + total);
    return submission;
  }

  /** @param {Sender} sender @param {number} bytes @throws {HttpRefusal} */
  #checkRoom(sender, bytes) {
    const { keys, openBytes } = this.#limits;
    const share = sender.name === '' ? 1 : SHARE;
    const more = { headers: retryAfter(RETRY_S), body: { accepted: 0 } };
    if (sender.keys >= keys * share || sender.openBytes + bytes > openBytes * share) {
      const sentence = 'The sender has used too many Idempotency-Keys within ten minutes. Repeat it later.';
      throw new HttpRefusal(503, sentence, more);
    }
    if (this.size >= keys || this.#openBytes + bytes > openBytes) {
      throw new HttpRefusal(503, 'The gateway has no room for more Idempotency-Keys. Repeat it later.', more);
    }
  }

  /**
   * Frees what a repeated request does not need. If no record is safe, it needs nothing.
   * @param {string} id
   * @param {Entry} entry whose submission no request uses
   */
  #rested(id, entry) {
    const { submission } = entry;
    if (submission?.isDone) this.#free(entry);
    else if (submission?.safe === 0) this.#forget(id, entry);
  }

  /** @param {Entry} entry whose submission is not needed any more */
  #free(entry) {
    if (!entry.submission) return;
    entry.submission = null;
    this.#count(entry.sender, -(SUBMISSION_BYTES + entry.total));
  }

  /** @param {string} id @param {Entry} entry */
  #forget(id, entry) {
    this.#entries.delete(id);
    this.#free(entry);
    const { sender } = entry;
    if (--sender.keys === 0) this.#senders.delete(sender.name);
  }

  /** @param {Sender} sender @param {number} bytes */
  #count(sender, bytes) {
    sender.openBytes += bytes;
    this.#openBytes += bytes;
  }

  #expire() {
    const now = this.#now();
    if (now < this.#nextExpiry) return;
    this.#nextExpiry = now + EXPIRE_EVERY_MS;
    for (const [id, entry] of this.#entries) {
      if (entry.at > now - KEEP_MS) break;
      if (entry.submission && entry.submission.pending > 0) {
        // Its records can still become safe, so a copy must find it.
        this.#entries.delete(id);
        entry.at = now;
        this.#entries.set(id, entry);
      } else this.#forget(id, entry);
    }
  }
}

exports.IdempotencyKeys = IdempotencyKeys;
exports.KEEP_MS = KEEP_MS;
exports.LIMITS = LIMITS;
exports.SUBMISSION_BYTES = SUBMISSION_BYTES;
