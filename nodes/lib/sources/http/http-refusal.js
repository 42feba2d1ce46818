'use strict';

/** Why a request is refused; the sentence goes into the answer's body. */
class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} sentence
   * @param {{ headers?: Record<string, string>, body?: object }} [more] body: further members of the answer
   */
  constructor(status, sentence, { headers = {}, body = {} } = {}) {
    super(sentence);
    this.status = status;
    this.headers = headers;
    this.body = { error: sentence, ...body };
  }
}

/** @param {number} seconds */
const retryAfter = (seconds) => ({ 'Retry-After': String(Math.max(1, Math.ceil(seconds))) });

exports.Refusal = Refusal;
exports.retryAfter = retryAfter;
