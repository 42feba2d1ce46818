'use strict';
// Requests of the gateway itself to devices of its cloud.

const { OPTION, hasOption } = require('./coap');
const { Refusal } = require('./refusal');
const { formatsFor } = require('./route-options');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./coap').DeviceAnswer} DeviceAnswer */
/**
 * @typedef {object} OwnQuestion
 * @property {string} di
 * @property {string} method such as GET
 * @property {string[]} path
 * @property {string[]} query
 * @property {Buffer} payload CBOR
 * @property {number} timeoutMs
 */
/** @typedef {'unknown' | 'offline' | 'busy' | 'timeout' | 'tooLarge' | 'badAnswer' | 'deleted' | 'closed'} FailureReason */

const [CODE_TOO_LARGE, CODE_BAD_GATEWAY, CODE_GATEWAY_TIMEOUT] = [0x8d, 0xa2, 0xa4];

/** Why a device has not answered a request. */
class RequestFailure extends Error {
  /** @param {FailureReason} reason @param {string} sentence */
  constructor(reason, sentence) {
    super(sentence);
    this.name = 'RequestFailure';
    this.reason = reason;
  }
}

/**
 * Returns the failure that the desk reports in place of an answer.
 * @param {DeviceAnswer} answer with `failed`
 */
function failureOf(answer) {
  const sentence = answer.payload.toString() || 'The gateway is overloaded.';
  return new RequestFailure(reasonOf(answer), sentence);
}

/** @param {DeviceAnswer} answer @returns {FailureReason} */
function reasonOf(answer) {
  if (answer.code === CODE_GATEWAY_TIMEOUT) return 'timeout';
  if (answer.code === CODE_TOO_LARGE) return 'tooLarge';
  if (answer.code === CODE_BAD_GATEWAY) return 'badAnswer';
  return hasOption(answer, OPTION.MAX_AGE) ? 'busy' : 'offline';
}

class OwnRequests {
  #cloud;
  /** Ends each request that is open. @type {Set<(failure: RequestFailure) => void>} */
  #open = new Set();

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /**
   * @param {OwnQuestion} question
   * @param {AbortSignal} [signal]
   * @returns {Promise<DeviceAnswer>} of the device, also if it is an error
   * @throws {RequestFailure} if the device has not answered
   */
  async send(question, signal) {
    const { di, timeoutMs } = question;
    if (!(await this.#cloud.grants.of(di)))
      throw new RequestFailure('unknown', `No device ${di} has signed up.`);
    if (this.#cloud.isClosed || signal?.aborted) throw closed();
    this.#checkOpen(di);
    return this.#ask({ ...deskQuestion(question), observe: false, timeoutMs }, di, signal);
  }

  /** @param {string} di @throws {RequestFailure} */
  #checkOpen(di) {
    try {
      this.#cloud.route.checkOpen(di);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new RequestFailure(error.maxAge === undefined ? 'offline' : 'busy', error.message);
    }
  }

  /**
   * @param {import('./coap').Question} question
   * @param {string} di
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<DeviceAnswer>}
   */
  #ask(question, di, signal) {
    return new Promise((resolve, reject) => {
      const answered = this.#cloud.route.count(di);
      // checkOpen() has just found one of the two.
      const way = this.#cloud.route.ownWayTo(di) ?? this.#cloud.desk;
      /** @type {unknown} */
      let handle;
      const finish = () => {
        answered();
        this.#open.delete(end);
        signal?.removeEventListener('abort', aborted);
      };
      const end = (/** @type {RequestFailure} */ failure) => {
        finish();
        way.cancel(handle);
        reject(failure);
      };
      const aborted = () => end(closed());
      this.#open.add(end);
      signal?.addEventListener('abort', aborted, { once: true });
      try {
        handle = way.ask(di, question, (answer) => {
          finish();
          if (answer.failed) reject(failureOf(answer));
          else resolve(answer);
        });
      } catch (error) {
        finish();
        reject(error);
      }
    });
  }

  /** Ends all requests. */
  close() {
    for (const end of [...this.#open]) end(closed());
  }
}

/** @param {Pick<OwnQuestion, 'method' | 'path' | 'query' | 'payload'>} question */
function deskQuestion({ method, path, query, payload }) {
  return { method, path, query, options: formatsFor(payload), payload };
}

function closed() {
  return new RequestFailure('closed', 'The cloud or the node is closing.');
}

module.exports = { OwnRequests, RequestFailure, deskQuestion, failureOf };
