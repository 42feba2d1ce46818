'use strict';
// What the store thread keeps in SQLite: the log, the sessions and the dead letters.

const { DeadLetterService } = require('./dead-letter-service');
const { Store } = require('./log-store');
const { SessionStore } = require('./session-store');

/**
 * @typedef {object} LogContext
 * @property {any} options
 * @property {any} workerData
 * @property {(message: object) => void} post to Node-RED's thread
 * @property {(code: string, reason: string) => void} problem
 * @property {() => void} changed the condition of the log has changed
 * @property {(sessions: number) => void} restored devices may connect
 *
 * @typedef {object} LogParts
 * @property {any} store see Store
 * @property {any} sessions see SessionStore
 * @property {any} deadLetters see DeadLetterService
 * @property {(message: any) => void} [onMessage] gets messages that the thread does not know
 */

/** @param {LogContext} context @returns {LogParts} */
function makeParts({ options, workerData, problem, changed, restored }) {
  const store = new Store({ options, rows: new Float64Array(workerData.rows), problem, changed });
  const sessions = new SessionStore({ directory: options.directory, problem, restored });
  return { store, sessions, deadLetters: new DeadLetterService(store) };
}

module.exports = { makeParts };
