'use strict';
// Admin endpoints for the dead letters of an engine: their list, and sending them again.

const { needsWrite } = require('../base/permission');
const { wholeNumber } = require('./event-endpoints');
const { logName } = require('./plan-compiler');

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 50;
/** Dead letters that one request may name. */
const MAX_ROWS = 1000;

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./join').EngineNode} EngineNode
 */

/**
 * Adds GET and POST /seganet/engines/:id/dead-letters.
 * @param {import('node-red').NodeAPI} RED
 */
function addDeadLetterEndpoints(RED) {
  const path = '/seganet/engines/:id/dead-letters';
  RED.httpAdmin.get(path, RED.auth.needsPermission('seganet.read'), answer(RED, listView));
  RED.httpAdmin.post(
    path,
    needsWrite(RED),
    answer(RED, async (host, request) => {
      const result = await sendAgain(host, request);
      const { sent, records } = result;
      const event = 'seganet.dead-letters.send';
      RED.log.audit(/** @type {any} */ ({ event, engine: host.id, sent, records }), request);
      return result;
    })
  );
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {(host: EngineHost, request: any) => Promise<object>} work throws RangeError for a wrong request
 */
function answer(RED, work) {
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    const node = /** @type {EngineNode | null} */ (RED.nodes.getNode(request.params.id));
    const host = node?.host;
    const refuse = (/** @type {number} */ status, /** @type {string} */ error) =>
      response.status(status).json({ error });
    if (node?.type !== 'seganet-engine') return refuse(404, 'There is no such engine.');
    if (!host || host.closing) return refuse(503, 'The engine is not running.');
    if (!host.log) return refuse(404, 'This engine keeps no log, and therefore no dead letters.');
    try {
      response.json(await work(host, request));
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      refuse(error instanceof RangeError ? 400 : 503, message);
    }
  };
}

/**
 * @param {EngineHost} host
 * @param {{ query: Record<string, unknown> }} request
 * @returns {Promise<object>} see docs/use/status-page.md
 */
async function listView(host, { query }) {
  const { after = '0', limit = String(DEFAULT_LIMIT) } = query;
  const page = {
    after: wholeNumber('after', after, 0, Number.MAX_SAFE_INTEGER),
    limit: wholeNumber('limit', limit, 1, MAX_LIMIT)
  };
  const { letters, next } = await logOf(host).deadLetters(page);
  const uplinks = host.members.filter(({ kind }) => kind === 'uplink');
  const names = new Map(uplinks.map(({ id, node }) => [logName(id), node.name || id]));
  return {
    // An uplink node that is not in the flow has no name, and its dead letters cannot be sent.
    letters: letters.map((letter) => ({ ...letter, uplink: names.get(letter.node) ?? null })),
    next
  };
}

/**
 * @param {EngineHost} host
 * @param {any} request with a body of JSON: { rows: number[] } or { all: true }
 * @returns {Promise<import('./modules').SentAgain>}
 */
async function sendAgain(host, request) {
  // A page of another site can post a form without asking first, but no JSON.
  if (!request.is('application/json')) throw new RangeError('Content-Type must be application/json.');
  const { rows, all } = request.body ?? {};
  if (all === true && rows === undefined) return logOf(host).sendAgain(null);
  const isList = Array.isArray(rows) && rows.length > 0 && rows.length <= MAX_ROWS && all === undefined;
  if (!isList || !rows.every((row) => Number.isSafeInteger(row) && row > 0))
    throw new RangeError(`The body must be {"all":true}, or {"rows":[…]} with 1 to ${MAX_ROWS} row numbers.`);
  return logOf(host).sendAgain(rows);
}

/** @param {EngineHost} host REQUIRES: it has a log */
const logOf = ({ log }) => /** @type {import('./log-link').LogLink} */ (log);

module.exports = { addDeadLetterEndpoints };
