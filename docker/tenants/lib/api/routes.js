'use strict';
// The requests of the keeper's socket. docs/use/tenants-keeper.md describes each of them.

const { TenantError } = require('../base/errors');
const { MAX_LINES } = require('../drivers/driver');
const { WATCH_S } = require('../templates/rollout');
const { flagOf, refuseUnknown, textOf } = require('./body');

/**
 * @typedef {object} Served what the routes work on
 * @property {import('../life/keeper').Keeper} keeper
 * @property {() => Promise<object>} reload reads the tenants file again
 * @property {((name: string) => Promise<object>) | null} backup null = not possible
 * @property {import('../templates/desk').TemplateDesk} templates
 */
/**
 * @typedef {object} Request
 * @property {string} name of the tenant, or id of the lease
 * @property {URLSearchParams} query
 * @property {Record<string, unknown>} body
 * @property {AbortSignal} signal the client is gone
 */
/** @typedef {(served: Served, request: Request) => Promise<object | null> | object | null} Answer null: no body */

const REASONS = ['records', 'connection', 'timetable', 'operator'];
const MAX_HOLDER = 128;
const STANDARD_LINES = 100;
const MAX_NAME = 64;
/** Name of a user of the front. */
const MAX_BY = 128;

/** @type {Answer} */
async function lease({ keeper }, { name, body, signal }) {
  refuseUnknown(body, ['reason', 'class', 'holder']);
  const { reason, class: priority = 8 } = body;
  if (typeof reason !== 'string' || !REASONS.includes(reason)) {
    throw new TenantError('invalid', `reason must be one of ${REASONS.join(', ')}.`);
  }
  if (!Number.isInteger(priority) || Number(priority) < 1 || Number(priority) > 8) {
    throw new TenantError('invalid', 'class must be a whole number from 1 to 8.');
  }
  const request = { by: reason, priority: Number(priority), holder: textOf(body, 'holder', MAX_HOLDER) };
  return keeper.lease(name, request, signal);
}

/** @type {Answer} */
function renew({ keeper }, { name }) {
  if (keeper.renew(name)) return {};
  throw new TenantError('gone', 'This lease has ended. Ask for another one.');
}

/** @type {Answer} */
function release({ keeper }, { name }) {
  if (keeper.release(name)) return null;
  throw new TenantError('gone', 'This lease has ended already.');
}

/** @type {Answer} */
function wake({ keeper }, { name, body }) {
  refuseUnknown(body, []);
  return keeper.tenant(name).wake({ by: 'operator', isForced: true });
}

/** @type {Answer} */
async function sleep({ keeper }, { name, body }) {
  refuseUnknown(body, ['force', 'pause']);
  const tenant = keeper.tenant(name);
  await tenant.sleep({ isForced: flagOf(body, 'force'), isPause: flagOf(body, 'pause') });
  return { state: tenant.status.state };
}

/** @type {Answer} */
async function logs({ keeper }, { name, query }) {
  const lines = query.get('lines') ?? String(STANDARD_LINES);
  if (!/^\d{1,4}$/.test(lines) || Number(lines) < 1 || Number(lines) > MAX_LINES) {
    throw new TenantError('invalid', `lines must be a whole number from 1 to ${MAX_LINES}.`);
  }
  return { text: await keeper.logs(name, Number(lines)) };
}

/** @type {Answer} */
const why = ({ keeper }, { name }) => keeper.why(name);

/** @type {Answer} */
function backup(served, { name }) {
  served.keeper.tenant(name);
  if (!served.backup) throw new TenantError('invalid', 'This keeper makes no backups.');
  return served.backup(name);
}

/** @type {Answer} */
function add({ templates }, { body }) {
  refuseUnknown(body, ['name', 'template', 'by']);
  const [name, template] = ['name', 'template'].map((key) => textOf(body, key, MAX_NAME));
  return templates.add({ name, template, by: textOf(body, 'by', MAX_BY) });
}

/** @type {Answer} */
function remove({ templates }, { name, body }) {
  refuseUnknown(body, ['force', 'by']);
  return templates.remove(name, { isForced: flagOf(body, 'force'), by: textOf(body, 'by', MAX_BY) });
}

/** @type {Answer} */
function rollout({ templates }, { name, body }) {
  refuseUnknown(body, ['watchS', 'by']);
  const { standard, min, max } = WATCH_S;
  const { watchS = standard } = body;
  if (!Number.isInteger(watchS) || Number(watchS) < min || Number(watchS) > max)
    throw new TenantError('invalid', `watchS must be a whole number from ${min} to ${max}.`);
  return templates.rollout(name, { by: textOf(body, 'by', MAX_BY), watchMs: Number(watchS) * 1000 });
}

/** Path, with * for a name; then the answers by method. @type {[string, Record<string, Answer>][]} */
const ROUTES = [
  [
    '/v1/tenants',
    { GET: async ({ keeper }) => ({ tenants: await keeper.list(), spares: keeper.spares }), POST: add }
  ],
  ['/v1/tenants/*', { DELETE: remove }],
  ['/v1/tenants/*/lease', { POST: lease }],
  ['/v1/tenants/*/wake', { POST: wake }],
  ['/v1/tenants/*/sleep', { POST: sleep }],
  ['/v1/tenants/*/logs', { GET: logs }],
  ['/v1/tenants/*/why', { GET: why }],
  ['/v1/tenants/*/backup', { POST: backup }],
  ['/v1/templates', { GET: ({ templates }) => ({ templates: templates.list() }) }],
  ['/v1/templates/*/rollout', { POST: rollout }],
  ['/v1/leases/*', { PUT: renew, DELETE: release }],
  ['/v1/reload', { POST: ({ reload }) => reload() }]
];

/**
 * @param {string} path
 * @returns {{ methods: Record<string, Answer>, name: string } | null}
 */
function routeOf(path) {
  const parts = path.split('/');
  for (const [pattern, methods] of ROUTES) {
    const wanted = pattern.split('/');
    if (wanted.length !== parts.length) continue;
    if (!wanted.every((part, i) => (part === '*' ? parts[i] !== '' : part === parts[i]))) continue;
    const at = wanted.indexOf('*');
    return { methods, name: at < 0 ? '' : parts[at] };
  }
  return null;
}

module.exports = { routeOf };
