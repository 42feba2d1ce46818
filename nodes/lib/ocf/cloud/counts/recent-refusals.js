'use strict';
// The latest refused requests of a cloud, for the live view.

const MOST_KEPT = 20;
const MOST_PATH = 128;
const MOST_REASON = 256;

/**
 * @typedef {object} Refused
 * @property {number} at ms since 1970
 * @property {string} address of the client
 * @property {string} di the signed-in device, '' = none
 * @property {string} request method and path, without the query, which may contain a token
 * @property {string} code such as 4.01, or 401 of HTTP
 * @property {string} reason
 */

class RecentRefusals {
  #now;
  /** Oldest first. @type {Refused[]} */
  #rows = [];

  /** @param {() => number} now ms since 1970 */
  constructor(now) {
    this.#now = now;
  }

  /** @param {{ address: string, di: string, method: string, path: string, code: string, reason: string }} refused */
  add({ address, di, method, path, code, reason }) {
    const request = `${method} ${cut(path, MOST_PATH)}`;
    this.#rows.push({ at: this.#now(), address, di, request, code, reason: cut(reason, MOST_REASON) });
    if (this.#rows.length > MOST_KEPT) this.#rows.shift();
  }

  /** @returns {Refused[]} at most 20, newest first */
  list() {
    return [...this.#rows].reverse();
  }
}

/** @param {string} text @param {number} most characters */
function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

module.exports = { RecentRefusals, MOST_KEPT };
