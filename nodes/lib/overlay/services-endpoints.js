'use strict';
// Admin endpoints of an overlay's services on this machine: their nodes, invitations, policy and audit log.

const { needsWrite } = require('../base/permission');
const { shellWord } = require('../base/cli/shell-word');
const { ServicesError, adminSocket, askServices } = require('./services-client');

const ROOT = '/seganet/overlay-services';
const PAGE_ROWS = 25;
const AUDIT_ROWS = 25;
const MAX_TEXT = 64;
const MAX_PAGE = 100000;
/** Requests at once; the services take 64 connections. */
const MAX_WAITING = 16;
/** Longest name of who asks, bytes: the limit of the services. */
const MAX_BY_BYTES = 128;
const NO_SOCKET =
  'The gateway knows no services of an overlay network. Set SEGANET_OVERLAY_ADMIN to their administration socket, and restart it.';

/** @typedef {(method: string, url: string, body?: object) => Promise<any>} Ask */

/**
 * Adds GET /seganet/overlay-services, …/policy and …/audit, and POST …/invite, withdraw, revoke, resume,
 * policy and policy/review.
 * @param {import('node-red').NodeAPI} RED
 * @param {NodeJS.ProcessEnv} [env]
 */
function addServicesEndpoints(RED, env = process.env) {
  const { httpAdmin } = RED;
  const [mayRead, mayWrite] = [RED.auth.needsPermission('seganet.read'), needsWrite(RED)];
  let waiting = 0;
  /** @param {(ask: Ask, request: any) => Promise<object>} work throws RangeError for a wrong request */
  const answer = (work) => async (/** @type {any} */ request, /** @type {any} */ response) => {
    const refuse = (/** @type {number} */ status, /** @type {string} */ error) =>
      response.status(status).json({ error });
    const socket = adminSocket(env);
    if (!socket) return refuse(404, NO_SOCKET);
    // A page of another site can post a form without asking first, but no JSON.
    if (request.method === 'POST' && !request.is('application/json'))
      return refuse(400, 'Content-Type must be application/json.');
    if (waiting >= MAX_WAITING) return refuse(503, 'Other requests are waiting. Try again in some seconds.');
    waiting++;
    try {
      const value = await work((method, url, body) => askServices(socket, method, url, body), request);
      // Neither tokens nor names of nodes must stay in a cache.
      response.setHeader('Cache-Control', 'no-store');
      response.json(value);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      if (error instanceof ServicesError) refuse(error.status || 504, message);
      else if (error instanceof RangeError) refuse(400, message);
      else throw error;
    } finally {
      waiting--;
    }
  };
  /**
   * @param {string} action
   * @param {(body: Record<string, unknown>) => object} detailOf what the audit log says of the request
   * @param {(ask: Ask, body: Record<string, any>) => Promise<object>} work body: with who asks
   */
  const change = (action, detailOf, work) =>
    answer(async (ask, request) => {
      const given = request.body ?? {};
      const line = { event: `seganet.overlay.${action}`, ...detailOf(given) };
      const tell = (/** @type {object} */ more) =>
        RED.log.audit(/** @type {any} */ ({ ...line, ...more }), request);
      try {
        const value = await work(ask, { ...given, by: askerOf(request) });
        tell({});
        return value;
      } catch (error) {
        // The services may have done it: their own audit log says whether they did.
        if (error instanceof ServicesError && error.status === 0) tell({ outcome: 'unknown' });
        throw error;
      }
    });
  httpAdmin.get(ROOT, mayRead, answer(overview));
  httpAdmin.get(
    `${ROOT}/policy`,
    mayRead,
    answer((ask) => ask('GET', '/v1/policy'))
  );
  // Who changed what is not for all who may read figures.
  httpAdmin.get(
    `${ROOT}/audit`,
    mayWrite,
    answer(async (ask) => ({ entries: await ask('GET', `/v1/audit?last=${AUDIT_ROWS}`) }))
  );
  httpAdmin.post(`${ROOT}/invite`, mayWrite, change('invite', named, invite));
  httpAdmin.post(`${ROOT}/withdraw`, mayWrite, change('withdraw', withId, withdraw));
  httpAdmin.post(`${ROOT}/revoke`, mayWrite, change('revoke', named, revoke));
  httpAdmin.post(`${ROOT}/resume`, mayWrite, change('resume', named, resume));
  httpAdmin.post(`${ROOT}/policy`, mayWrite, change('policy', fromVersion, setPolicy));
  httpAdmin.post(
    `${ROOT}/policy/review`,
    mayWrite,
    answer((ask, { body }) => ask('POST', '/v1/policy/review', { text: textOf(body ?? {}) }))
  );
}

const named = (/** @type {any} */ { name }) => ({ name: String(name).slice(0, MAX_TEXT) });
const withId = (/** @type {any} */ { id }) => ({ id: String(id).slice(0, MAX_TEXT) });
const fromVersion = (/** @type {any} */ { from }) => ({ from: Number(from) });

/** @type {(ask: Ask, request: any) => Promise<object>} */
async function overview(ask, { query: { q = '', page = '1' } }) {
  if (typeof q !== 'string' || Buffer.byteLength(q) > MAX_TEXT)
    throw new RangeError(`q must be a text of at most ${MAX_TEXT} bytes.`);
  const number = typeof page === 'string' && /^\d{1,6}$/.test(page) ? Number(page) : 0;
  if (number < 1 || number > MAX_PAGE) throw new RangeError(`page must be a number from 1 to ${MAX_PAGE}.`);
  const wanted = new URLSearchParams({ match: q, page: String(number), size: String(PAGE_ROWS) });
  return ask('GET', `/v1/overview?${wanted}`);
}

/** @type {(ask: Ask, body: any) => Promise<object>} */
async function invite(ask, { name, groups = [], hours = 1, by }) {
  if (typeof name !== 'string')
    throw new RangeError('The body must be {"name":"…"} with the name of a node.');
  if (!Array.isArray(groups) || groups.some((each) => typeof each !== 'string'))
    throw new RangeError('groups must be a list of names.');
  if (!Number.isInteger(hours) || hours < 1 || hours > 168)
    throw new RangeError('hours must be a whole number from 1 to 168.');
  const body = { name, groups, lifetimeSeconds: hours * 3600, by };
  const { auth = [], root, token, expires } = await ask('POST', '/v1/invite', body);
  const urls = auth.flatMap((/** @type {unknown} */ url) => ['--url', shellWord(String(url))]);
  const words = [...urls, '--root', shellWord(String(root)), '--token', shellWord(String(token))];
  return { name, expires, command: `seganet-overlay join ${words.join(' ')}` };
}

/** @type {(ask: Ask, body: any) => Promise<object>} */
async function withdraw(ask, { id, by }) {
  if (typeof id !== 'string')
    throw new RangeError('The body must be {"id":"…"} with the id of an invitation.');
  return ask('POST', '/v1/withdraw', { id, by });
}

/** @type {(ask: Ask, body: any) => Promise<object>} */
async function revoke(ask, { name, reason = '', by }) {
  if (typeof name !== 'string' || typeof reason !== 'string')
    throw new RangeError(
      'The body must be {"name":"…"} with the name of a node, and a reason if there is one.'
    );
  return ask('POST', '/v1/revoke', { name, reason, by });
}

/** @type {(ask: Ask, body: any) => Promise<object>} */
async function resume(ask, { name, by }) {
  if (typeof name !== 'string')
    throw new RangeError('The body must be {"name":"…"} with the name of a node.');
  return ask('POST', '/v1/resume', { name, by });
}

/** @type {(ask: Ask, body: any) => Promise<object>} */
async function setPolicy(ask, { from, by, ...body }) {
  if (!Number.isSafeInteger(from) || from < 0)
    throw new RangeError('from must be the version of the policy that the new one replaces.');
  return ask('PUT', '/v1/policy', { text: textOf(body), from, by });
}

/** @param {{ text?: unknown }} body @returns {string} */
function textOf({ text }) {
  if (typeof text !== 'string') throw new RangeError('text must be the JSON text of a policy.');
  return text;
}

/** Returns who asks, for the audit log of the services. @param {any} request @returns {string} */
function askerOf({ user, ip = '' }) {
  const name = `${user?.username ?? 'gateway'} ${ip}`.trim().replace(/\p{Cc}/gu, ' ');
  // A character that the cut has split would not be valid.
  return Buffer.from(name)
    .subarray(0, MAX_BY_BYTES)
    .toString()
    .replace(/\ufffd/g, '');
}

module.exports = { addServicesEndpoints };
