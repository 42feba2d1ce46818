'use strict';
// Admin endpoints of the tenants: an operator wakes a tenant, lets it sleep, makes its backup, or reads its output.

const fs = require('node:fs');
const { needsWrite } = require('../../base/permission');
const { KeeperClient } = require('../keeper/keeper-client');
const { keeperSocket, tenantsFile } = require('../file/locations');
const { TENANT } = require('../../base/tenant-id');
const { TenantsView } = require('./view');

const MAX_LINES = 1000;
const DEFAULT_LINES = 100;
const NO_NODE = 'There is no such tenants node, or it is not running.';
/** Stands for the id of the node, for tenants that no node names. */
const SPARE = '-';
/** A look whether there is a tenants file, ms. */
const LOOK_MS = 5000;

/**
 * @typedef {import('../keeper/keeper-error').KeeperError} KeeperError
 * @typedef {(view: TenantsView, tenant: string, body: Record<string, unknown>) => Promise<object>} Work
 */

/** By the code of a KeeperError; others: 503. @type {Record<string, number>} */
const STATUS = { unknown: 404, leased: 409, busy: 409 };

/** By node. @type {Map<string, TenantsView>} */
const views = new Map();
/** @type {{ at: number, view: TenantsView | null }} */
let spare = { at: -Infinity, view: null };

/** @param {TenantsView} view @returns {() => void} removes it */
function addView(view) {
  views.set(view.id, view);
  return () => {
    if (views.get(view.id) === view) views.delete(view.id);
  };
}

/**
 * Returns the view of a gateway that has no tenants node, but the tenants file at its usual place: tenants that have
 * only web pages, or a gateway that is not set up completely.
 * @param {{ env?: NodeJS.ProcessEnv, now?: number }} [options]
 * @returns {TenantsView | null}
 */
function spareView({ env = process.env, now = performance.now() } = {}) {
  if (views.size > 0) return null;
  if (now - spare.at >= LOOK_MS) {
    const view = fs.existsSync(tenantsFile('', env))
      ? (spare.view ??
        new TenantsView({ id: SPARE, keeper: new KeeperClient({ socket: keeperSocket('', env) }) }))
      : null;
    spare = { at: now, view };
  }
  return spare.view;
}

/** @type {Record<string, Work>} */
const WORK = {
  wake: (view, tenant) => view.act('wake', tenant),
  backup: (view, tenant) => view.act('backup', tenant),
  sleep: (view, tenant, { force = false }) => {
    if (typeof force !== 'boolean') throw new RangeError('force must be true or false.');
    return view.act('sleep', tenant, { force });
  },
  logs: async (view, tenant, { lines = DEFAULT_LINES }) => {
    const count = Number.isInteger(lines) ? Number(lines) : 0;
    if (count < 1 || count > MAX_LINES)
      throw new RangeError(`lines must be a whole number from 1 to ${MAX_LINES}.`);
    return { text: await view.logs(tenant, count) };
  }
};

/**
 * Adds POST /seganet/tenants/:node/wake, sleep, backup and logs, and GET /seganet/tenants/:node/why.
 * @param {import('node-red').NodeAPI} RED
 */
function addOperatorEndpoints(RED) {
  const mayWrite = needsWrite(RED);
  for (const [action, work] of Object.entries(WORK))
    RED.httpAdmin.post(`/seganet/tenants/:node/${action}`, mayWrite, answer(RED, action, work));
  RED.httpAdmin.get('/seganet/tenants/:node/why', RED.auth.needsPermission('seganet.read'), answerWhy);
}

/** @param {any} request @param {any} response */
async function answerWhy({ params: { node }, query: { tenant } }, response) {
  const view = node === SPARE ? spareView() : views.get(node);
  if (!view) return response.status(404).json({ error: NO_NODE });
  if (typeof tenant !== 'string' || !TENANT.test(tenant))
    return response.status(400).json({ error: 'The address needs ?tenant=… with the name of a tenant.' });
  try {
    response.json(await view.why(tenant));
  } catch (error) {
    response.status(503).json({ error: /** @type {Error} */ (error).message });
  }
}

/** @param {import('node-red').NodeAPI} RED @param {string} action @param {Work} work */
function answer(RED, action, work) {
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    const { node } = request.params;
    const refuse = (/** @type {number} */ status, /** @type {object} */ body) =>
      response.status(status).json(body);
    const view = node === SPARE ? spareView() : views.get(node);
    if (!view) return refuse(404, { error: NO_NODE });
    // A page of another site can post a form without asking first, but no JSON.
    if (!request.is('application/json'))
      return refuse(400, { error: 'Content-Type must be application/json.' });
    const { tenant, ...body } = request.body ?? {};
    if (typeof tenant !== 'string' || !TENANT.test(tenant))
      return refuse(400, { error: 'The body must be {"tenant":"…"} with the name of a tenant.' });
    try {
      const value = work(view, tenant, body);
      RED.log.audit(
        /** @type {any} */ ({
          event: `seganet.tenants.${action}`,
          node,
          tenant,
          ...(body.force && { force: true })
        }),
        request
      );
      // The output of a tenant must not stay in a cache.
      response.setHeader('Cache-Control', 'no-store');
      response.json(await value);
    } catch (error) {
      const { message, code = '' } = /** @type {KeeperError} */ (error);
      if (error instanceof RangeError) return refuse(400, { error: message });
      refuse(STATUS[code] ?? 503, { error: message, code });
    }
  };
}

module.exports = { addView, addOperatorEndpoints, spareView };
