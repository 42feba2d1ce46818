'use strict';
// Admin endpoints of the events and the audit log.

const { needsWrite } = require('../base/permission');

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 200;

/** @typedef {import('./gateway-events').GatewayEvents} GatewayEvents */

/**
 * Adds GET /seganet/events, POST /seganet/events/:event/acknowledge and GET /seganet/audit.
 * @param {import('node-red').NodeAPI} RED
 * @param {GatewayEvents} events
 */
function addEventEndpoints(RED, events) {
  const { httpAdmin } = RED;
  httpAdmin.get('/seganet/events', RED.auth.needsPermission('seganet.read'), answer(listView(events)));
  // Who changed what is not for all who may read figures.
  httpAdmin.get('/seganet/audit', needsWrite(RED), answer(auditView(events)));
  httpAdmin.post(
    '/seganet/events/:event/acknowledge',
    needsWrite(RED),
    answer((request) => {
      // A page of another site can post a form without asking first, but no JSON.
      if (!request.is('application/json')) throw new RangeError('Content-Type must be application/json.');
      const id = wholeNumber('The id of the event', request.params.event, 1, Number.MAX_SAFE_INTEGER);
      const event = events.book.acknowledge(id, request.user?.username ?? '');
      if (event) RED.log.audit(/** @type {any} */ ({ event: 'seganet.events.acknowledge', id }), request);
      return event;
    })
  );
}

/** @param {(request: any) => object | null} work throws RangeError for a wrong request; null: there is no such event */
function answer(work) {
  return (/** @type {any} */ request, /** @type {any} */ response) => {
    try {
      const body = work(request);
      if (body) response.json(body);
      else
        response.status(404).json({ error: 'There is no such event. Old events are deleted after 90 days.' });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      response.status(400).json({ error: error.message });
    }
  };
}

/** @param {GatewayEvents} events */
function listView({ book }) {
  return (/** @type {any} */ { query }) => {
    const { open = 'no' } = query;
    if (open !== 'yes' && open !== 'no') throw new RangeError('open must be yes or no.');
    const page = pageOf(query);
    const since = wholeNumber('since', query.since ?? '0', 0, Number.MAX_SAFE_INTEGER);
    const rows = book.page({ ...page, since, isOpen: open === 'yes' });
    const { open: openCount, unacknowledged } = book.summary();
    return { open: openCount, unacknowledged, events: rows, next: nextOf(rows, page) };
  };
}

/** @param {GatewayEvents} events */
function auditView(events) {
  return (/** @type {any} */ { query }) => {
    const page = pageOf(query);
    const lines = events.audit(page);
    return { lines, next: nextOf(lines, page) };
  };
}

/** @param {Record<string, unknown>} query */
function pageOf({ before, limit = String(DEFAULT_LIMIT) }) {
  return {
    before: before === undefined ? Infinity : wholeNumber('before', before, 1, Number.MAX_SAFE_INTEGER),
    limit: wholeNumber('limit', limit, 1, MAX_LIMIT)
  };
}

/** @param {{ id: number }[]} rows @param {{ limit: number }} page @returns {number | null} `before` of the next page */
const nextOf = (rows, { limit }) => (rows.length === limit ? rows[limit - 1].id : null);

/** @param {string} name @param {unknown} value @param {number} min @param {number} max */
function wholeNumber(name, value, min, max) {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : -1;
  if (number < min || number > max) throw new RangeError(`${name} must be a number from ${min} to ${max}.`);
  return number;
}

module.exports = { addEventEndpoints, wholeNumber };
