'use strict';
// An error that a client of the directory gets as problem details (RFC 9457).

const TITLES = /** @type {Record<number, string>} */ ({
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  406: 'Not Acceptable',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  507: 'Insufficient Storage'
});

/** `message` is a sentence with a remedy. */
class DirectoryError extends Error {
  /**
   * @param {number} status of HTTP
   * @param {string} detail
   * @param {object} [more] members of the problem, such as validationErrors
   */
  constructor(status, detail, more = {}) {
    super(detail);
    this.name = 'DirectoryError';
    this.status = status;
    this.more = more;
  }

  /** @returns {object} problem details */
  problem() {
    const { status, message: detail, more } = this;
    return { type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail, ...more };
  }
}

/** @param {string} id */
const noThing = (id) => new DirectoryError(404, `There is no thing ${id.slice(0, 200)}.`);

/** @param {string} id */
const isMade = (id) =>
  new DirectoryError(
    409,
    `The gateway made ${id.slice(0, 200)} from a device. Change the rules of the find node, or post a thing with another id.`
  );

exports.DirectoryError = DirectoryError;
exports.isMade = isMade;
exports.noThing = noThing;
