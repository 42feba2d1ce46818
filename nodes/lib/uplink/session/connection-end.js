'use strict';
// What the end of a connection, which the broker had accepted, shows about its URL and about the client id.

const { readable } = require('../../base/readable');
const { closeKind } = require('./reason-codes');

/** @typedef {import('./reason-codes').Reason} Reason */

/** Errors that look like the broker's end of a connection on which data was in flight. */
const RESETS = ['ECONNRESET', 'EPIPE'];
/** Session taken over. */
const TAKEN_OVER = 'DISCONNECT 142';
const LOOP_CLOSES = 5;
/** Ends of a connection at whose other end nothing answers. */
const SILENT = ['ACK_TIMEOUT', 'KEEPALIVE', 'ETIMEDOUT'];
/** Reason codes of a DISCONNECT that ask clients to go: busy, shutting down, use another server, server moved. */
const LEAVE_CODES = [0x89, 0x8b, 0x9c, 0x9d];
/** Ends of a connection for which the broker gave no reason. */
const CLOSES = ['CLOSED', ...RESETS];
/** Code of an error that has none, as those of mqtt.js's parser, see explain(). */
const UNREADABLE = 'ERROR';
/** @type {Reason} */
const CLOSED = { code: 'CLOSED', reason: 'The broker closed the connection.', refused: false };

/** @param {{ code: string }} error */
const isReset = (error) => RESETS.includes(error.code);

/** True if the broker gave no reason. @param {Reason | null} why */
const isUnexplained = (why) => why === null || CLOSES.includes(why.code);

/** True if the broker sent bytes that are no MQTT. @param {Reason | null} why */
const isUnreadable = (why) => why?.code === UNREADABLE;

/**
 * True if the end of a connection is not the fault of its URL.
 * @param {Reason} why
 * @param {number} code of the broker's DISCONNECT, 0 = none
 * @param {boolean} isGood the connection has lasted, or a record may be the reason of its end
 */
function isLost({ code: name, slow = false }, code, isGood) {
  if (slow || SILENT.includes(name) || LEAVE_CODES.includes(code)) return false;
  // Another client with this id would follow to each URL.
  return isGood || name === TAKEN_OVER || closeKind(code) === 'packet';
}

/** Notices a loop of closed connections: two clients with one id end each other's connections indefinitely. */
class CloseLoop {
  /** Consecutive connections that were accepted and closed by the broker soon after, for an unknown reason. */
  #closes = 0;
  #clientId;

  /** @param {string} clientId */
  constructor(clientId) {
    this.#clientId = clientId;
  }

  /**
   * Returns the problem that the end of one more connection shows, null = none.
   * @param {Reason | null} why
   * @param {boolean} isUnknown nothing explains the end
   * @returns {{ code: string, reason: string } | null}
   */
  add(why, isUnknown) {
    const id = readable(this.#clientId);
    this.#closes = isUnknown ? this.#closes + 1 : 0;
    if (why?.code === TAKEN_OVER) return { code: TAKEN_OVER, reason: `${why.reason} The id is ${id}.` };
    if (this.#closes < LOOP_CLOSES) return null;
    return {
      code: 'CLOSES',
      reason: `The broker repeatedly accepts the connection and closes it soon, without a reason. If another client has the client id ${id}, give each gateway and each broker node its own; otherwise, see the broker's log.`
    };
  }

  /** A connection has lasted. */
  end() {
    this.#closes = 0;
  }
}

module.exports = { CLOSED, CloseLoop, isLost, isReset, isUnexplained, isUnreadable };
