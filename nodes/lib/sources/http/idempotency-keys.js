'use strict';
// Jobs by Idempotency-Key, so that a request that is sent again stores nothing twice. In memory: a restart forgets them.

const crypto = require('node:crypto');
const { Job } = require('./submission');
const { Refusal } = require('./http-refusal');

const KEEP_MS = 600000;
const MAX_KEYS = 10000;
/** Of all jobs; each record takes a byte. */
const MAX_RECORDS = 1000000;

class Once {
  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.now_ = now;
    /** In the order of their first request. @type {Map<string, { print: string, job: Job, at: number }>} */
    this.jobs_ = new Map();
    this.records_ = 0;
  }

  get size() {
    return this.jobs_.size;
  }

  /**
   * @param {string | undefined} key the header
   * @param {string} who sends it: keys of others are others
   * @param {string} target of the request @param {Buffer} body
   * @param {number} total records
   * @returns {Job} a new one, or that of the first request with this key
   * @throws {Refusal}
   */
  job(key, who, target, body, total) {
    if (key === undefined) return new Job(total);
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new Refusal(400, 'The Idempotency-Key must have 1 to 255 visible ASCII characters.');
    }
    this.expire_(total);
    const name = `${who} ${key}`;
    const print = crypto.createHash('sha256').update(target).update('\0').update(body).digest('base64');
    const known = this.jobs_.get(name);
    if (known && known.print !== print) {
      throw new Refusal(422, 'This Idempotency-Key was used for another request. Use a new one.');
    }
    if (known) return known.job;
    const job = new Job(total);
    this.jobs_.set(name, { print, job, at: this.now_() });
    this.records_ += total;
    return job;
  }

  /** @param {number} more records that have to fit too */
  expire_(more) {
    const oldest = this.now_() - KEEP_MS;
    for (const [name, { at, job }] of this.jobs_) {
      const fits = this.jobs_.size < MAX_KEYS && this.records_ + more <= MAX_RECORDS;
      if (at > oldest && fits) break;
      this.jobs_.delete(name);
      this.records_ -= job.total;
    }
  }
}

exports.Once = Once;
exports.KEEP_MS = KEEP_MS;
exports.MAX_KEYS = MAX_KEYS;
