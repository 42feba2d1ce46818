'use strict';

/** An answer that is an error: a CoAP code and a diagnostic text. Anything else that is thrown becomes 5.03. */
class Refusal extends Error {
  /**
   * @param {string} code such as 4.01
   * @param {string} text one sentence for the developer of the client
   * @param {number} [maxAge] s, after which the client may try again
   */
  constructor(code, text, maxAge) {
    super(text);
    this.name = 'Refusal';
    this.code = code;
    this.maxAge = maxAge;
  }
}

exports.Refusal = Refusal;
