'use strict';

/** Why a request about a shadow is not accepted: a sentence, with a status of HTTP as AWS and Azure use them. */
class Refusal extends Error {
  /** @param {400 | 404 | 409 | 413 | 415 | 429 | 503} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

exports.Refusal = Refusal;
