'use strict';

/** Refuses a request. The sentence is in the response body. */
class HttpRefusal extends Error {
  /**
   * @param {number} status
   * @param {string} sentence
   * @param {{ headers?: Record<string, string>, body?: object }} [more] body: additional members of the response body
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

exports.HttpRefusal = HttpRefusal;
exports.retryAfter = retryAfter;
