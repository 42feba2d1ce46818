'use strict';
// Asks a flow whether a client may log in as a device, and receives the flow's answers.

const crypto = require('node:crypto');
const { MAX_DEVICE_BYTES } = require('../base/device-id');

/** Most questions that wait for the flow. Further logins are not asked, and their connections time out. */
const MAX_OPEN = 1000;
/** How long the status reports an unanswered question. */
const SHOWN_MS = 60000;

/**
 * @typedef {import('../../../native/index.js').Login} Login
 * @typedef {import('./login-dispatcher').Verdict} Verdict
 * @typedef {{ clientId: string, settle: (verdict: Verdict) => void }} Question
 */

class FlowLogins {
  #send;
  #timeoutMs;
  /** @type {Map<string, Question>} */
  #open;
  #allowed;
  #refused;
  #unanswered;
  #now;
  #unansweredAt;

  /**
   * @param {(msg: object) => void} send
   * @param {number} timeoutMs
   * @param {() => number} [now] ms
   */
  constructor(send, timeoutMs, now = () => performance.now()) {
    this.#send = send;
    this.#timeoutMs = timeoutMs;
    this.#open = new Map();
    this.#allowed = 0;
    this.#refused = 0;
    this.#unanswered = 0;
    this.#now = now;
    this.#unansweredAt = -Infinity;
  }

  /**
   * @param {Login} login
   * @param {{ protocol: string, nodeId: string }} source
   * @returns {Promise<Verdict>}
   */
  ask({ clientId, user, password, address }, source) {
    if (this.#open.size >= MAX_OPEN) return Promise.resolve(undefined);
    // Random, so that a forged message cannot answer for the flow.
    const loginId = crypto.randomUUID();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#unanswered++;
        this.#unansweredAt = this.#now();
        question.settle(null);
      }, this.#timeoutMs);
      /** @type {Question} */
      const question = {
        clientId,
        settle: (verdict) => {
          clearTimeout(timer);
          this.#open.delete(loginId);
          resolve(verdict);
        }
      };
      this.#open.set(loginId, question);
      this.#send({ topic: 'login', loginId, clientId, user, password: textOf(password), address, source });
    });
  }

  /**
   * @param {Record<string, unknown>} msg
   * @returns {string} why it is not a valid answer, '' if it is
   */
  answer({ loginId, allowed, deviceId }) {
    const question = typeof loginId === 'string' ? this.#open.get(loginId) : undefined;
    if (!question) {
      return 'msg.loginId does not match a pending login. Return the question with msg.allowed set before its timeout.';
    }
    // Only true allows the login, so that a faulty flow allows none.
    if (allowed !== true) {
      this.#refused++;
      question.settle(null);
      return allowed === false ? '' : 'msg.allowed is neither true nor false, so the device is refused.';
    }
    const device = deviceId ?? question.clientId;
    if (typeof device !== 'string' || device === '' || Buffer.byteLength(device) > MAX_DEVICE_BYTES) {
      this.#refused++;
      question.settle(null);
      return `msg.deviceId must be text of 1 to ${MAX_DEVICE_BYTES} bytes, so the device is refused.`;
    }
    this.#allowed++;
    question.settle(device);
    return '';
  }

  /** @returns {import('../base/status').Shown} */
  shown() {
    const allowed = this.#allowed;
    const refused = this.#refused;
    const unanswered = this.#unanswered;
    const tail = unanswered > 0 ? ` · ${unanswered} not answered` : '';
    const text = `${allowed} allowed · ${refused} refused${tail}`;
    if (this.#now() - this.#unansweredAt < SHOWN_MS) return { fill: 'yellow', shape: 'ring', text };
    return { fill: allowed > 0 ? 'green' : 'grey', shape: 'dot', text };
  }

  /** Ends the open questions without a verdict. The devices try again, and the next node may answer. */
  close() {
    for (const { settle } of [...this.#open.values()]) settle(undefined);
  }
}

/**
 * @param {Buffer | null} password
 * @returns {string | Buffer | null} a Buffer if it is not valid UTF-8
 */
function textOf(password) {
  if (!password) return null;
  const text = password.toString('utf8');
  return Buffer.from(text).equals(password) ? text : password;
}

exports.FlowLogins = FlowLogins;
