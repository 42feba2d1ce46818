'use strict';
// Admin endpoints of the tenants: an operator wakes a tenant, lets it sleep, makes its backup, reads its output, makes
// it of a template, removes it, or rolls a flow out.

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
 * @typedef {(view: TenantsView, name: string, body: Record<string, unknown>, by: string) => Promise<object>} Work name:
 *   of a tenant, or of a template
 */

/** By the code of a KeeperError; others: 503. @type {Record<string, number>} */
const STATUS = {
  ...{ unknown: 404, invalid: 400, leased: 409, busy: 409 },
  ...{ taken: 409, limit: 409, waiting: 409, full: 507 }
};

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
  sleep: async (view, tenant, body) => view.act('sleep', tenant, { force: forceOf(body) }),
  add: async (view, tenant, { template }, by) => {
    if (typeof template !== 'string' || !TENANT.test(template))
      throw new RangeError('template must be the name of a template.');
    return view.act('add', tenant, { template, by });
  },
  remove: async (view, tenant, body, by) => view.act('remove', tenant, { force: forceOf(body), by }),
  rollout: (view, template, _body, by) => view.rollout(template, { by }),
  logs: async (view, tenant, { lines = DEFAULT_LINES }) => {
    const count = Number.isInteger(lines) ? Number(lines) : 0;
    if (count < 1 || count > MAX_LINES)
      throw new RangeError(`lines must be a whole number from 1 to ${MAX_LINES}.`);
    return { text: await view.logs(tenant, count) };
  }
};

/** @param {Record<string, unknown>} body @returns {boolean} */
function forceOf({ force = false }) {
  if (typeof force !== 'boolean') throw new RangeError('force must be true or false.');
  return force;
}

/**
 * Adds POST /seganet/tenants/:node/wake, sleep, backup, logs, add, remove and rollout, and GET
 * /seganet/tenants/:node/why and templates.
 * @param {import('node-red').NodeAPI} RED
 */
function addOperatorEndpoints(RED) {
  const mayWrite = needsWrite(RED);
  for (const [action, work] of Object.entries(WORK))
    RED.httpAdmin.post(`/seganet/tenants/:node/${action}`, mayWrite, answer(RED, action, work));
  const mayRead = RED.auth.needsPermission('seganet.read');
  RED.httpAdmin.get('/seganet/tenants/:node/why', mayRead, answerWhy);
  RED.httpAdmin.get('/seganet/tenants/:node/templates', mayRead, answerTemplates);
}

/** @param {any} request @param {any} response */
async function answerTemplates({ params: { node } }, response) {
  const view = node === SPARE ? spareView() : views.get(node);
  if (!view) return response.status(404).json({ error: NO_NODE });
  try {
    response.json({ templates: await view.templates() });
  } catch (error) {
    response.status(503).json({ error: /** @type {Error} */ (error).message });
  }
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
    const what = action === 'rollout' ? 'template' : 'tenant';
    const { [what]: name, ...body } = request.body ?? {};
    if (typeof name !== 'string' || !TENANT.test(name))
      return refuse(400, { error: `The body must be {"${what}":"…"} with the name of a ${what}.` });
    const report = (/** @type {object} */ more) =>
      RED.log.audit(
        /** @type {any} */ ({
          event: `seganet.tenants.${action}`,
          node,
          [what]: name,
          ...(action === 'add' && { template: body.template }),
          ...(body.force && { force: true }),
          ...more
        }),
        request
      );
    try {
      const value = await work(view, name, body, String(request.user?.username ?? ''));
      report({});
      // The output of a tenant must not stay in a cache.
      response.setHeader('Cache-Control', 'no-store');
      response.json(value);
    } catch (error) {
      const { message, code = '' } = /** @type {KeeperError} */ (error);
      // The audit log has only what was changed.
      report({ error: code || 'invalid', message });
      if (error instanceof RangeError) return refuse(400, { error: message });
      refuse(STATUS[code] ?? 503, { error: message, code });
    }
  };
}

module.exports = { addView, addOperatorEndpoints, spareView };
