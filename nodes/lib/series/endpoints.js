'use strict';
// Admin endpoints of series nodes, behind the login of the editor: permission seganet.read. docs/use/series.md lists
// them.

const { readGrafanaQuery, readGrafanaSearch, readPage, readQuestion, readRange } = require('./parameters');

/** Requests that one node answers at a time. */
const MAX_REQUESTS = 8;
/** Targets that Grafana lists: for the text that a user types, and all at once. */
const MAX_FOUND = 1000;
const MAX_METRICS = 10000;

/**
 * @typedef {import('./series-thread').SeriesThread} SeriesThread
 * @typedef {import('node-red').Node & { series?: SeriesThread | null, numbers?: import('./numbers').NumberOptions }}
 *   SeriesNode numbers: which numbers of a record it stores, and under which names
 */

/** Requests that are being answered, by thread. @type {WeakMap<SeriesThread, number>} */
const busy = new WeakMap();

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Set<SeriesNode>} nodes all series nodes of the flow
 */
function addEndpoints(RED, nodes) {
  const mayRead = RED.auth.needsPermission('seganet.read');
  const { httpAdmin } = RED;
  const root = '/seganet/series';
  httpAdmin.get(root, mayRead, (/** @type {any} */ _request, /** @type {any} */ response) =>
    response.json({ nodes: [...nodes].map(viewOf) })
  );
  const handle = answer.bind(null, nodes);
  httpAdmin.get(`${root}/:id/list`, mayRead, handle(listView(false)));
  httpAdmin.get(`${root}/:id/latest`, mayRead, handle(listView(true)));
  httpAdmin.get(`${root}/:id/range`, mayRead, handle(rangeView));
  httpAdmin.get(`${root}/:id/search`, mayRead, handle(searchView));
  // Grafana tests its data source with a GET of the root.
  httpAdmin.get(
    `${root}/:id/grafana`,
    mayRead,
    handle(async () => ({ ok: true }))
  );
  httpAdmin.post(`${root}/:id/grafana/search`, mayRead, handle(grafanaSearch));
  httpAdmin.post(`${root}/:id/grafana/metrics`, mayRead, handle(grafanaMetrics));
  httpAdmin.post(
    `${root}/:id/grafana/metric-payload-options`,
    mayRead,
    handle(async () => [])
  );
  httpAdmin.post(`${root}/:id/grafana/query`, mayRead, handle(grafanaQuery));
}

/** @param {SeriesNode} node */
function viewOf({ id, name = '', series }) {
  if (!series) return { id, name, running: false };
  const { reason, series: count, openPoints, bytes, textBytes, counters } = series.state;
  const { refused, left, waitingPoints } = series;
  return {
    id,
    name,
    running: true,
    reason,
    series: count,
    waitingPoints,
    openPoints,
    bytes,
    textBytes,
    counters: { ...counters, refused, left }
  };
}

/**
 * @param {Set<SeriesNode>} nodes
 * @param {string} idOrName
 * @returns {SeriesNode | undefined} a name must be of one node only
 */
function findNode(nodes, idOrName) {
  const all = [...nodes];
  const named = all.filter(({ name }) => name === idOrName);
  return all.find(({ id }) => id === idOrName) ?? (named.length === 1 ? named[0] : undefined);
}

/**
 * @param {Set<SeriesNode>} nodes
 * @param {(thread: SeriesThread, request: any, response: any) => Promise<object | null>} work null = it has answered;
 *   rejects with a RangeError for a wrong request
 */
function answer(nodes, work) {
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    const refuse = (/** @type {number} */ status, /** @type {string} */ error) =>
      response.status(status).json({ error });
    const node = findNode(nodes, request.params.id);
    if (!node) return refuse(404, 'There is no series node with this id, and no single one with this name.');
    const { series } = node;
    if (!series) return refuse(503, 'The series node is not running. Its status shows why.');
    const open = busy.get(series) ?? 0;
    if (open >= MAX_REQUESTS) {
      response.setHeader('Retry-After', '1');
      return refuse(503, `The series node answers ${MAX_REQUESTS} requests at a time. Ask again.`);
    }
    busy.set(series, open + 1);
    try {
      const value = await work(series, request, response);
      if (value !== null) response.json(value);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      refuse(error instanceof RangeError ? 400 : 503, message);
    } finally {
      busy.set(series, (busy.get(series) ?? 1) - 1);
    }
  };
}

/**
 * @param {boolean} withValues
 * @returns {(thread: SeriesThread, request: any) => Promise<object>}
 */
function listView(withValues) {
  return async (thread, { query }) => thread.list(readPage(query, withValues));
}

/** @param {SeriesThread} thread @param {any} request @param {any} response */
async function rangeView(thread, { query }, response) {
  const { wanted, range, format } = readRange(query);
  const { type, text, next } = await thread.range(wanted, range, format);
  response.setHeader('Content-Type', type);
  if (next !== null) {
    response.setHeader('Seganet-Truncated', 'true');
    // With several series, those behind the last one of the answer would be left out.
    if (wanted[0].name) response.setHeader('Seganet-Next', String(next));
  }
  // end() instead of send(), which reorders the parameters of the content type.
  response.end(text);
  return null;
}

/** @param {SeriesThread} thread @param {any} request */
async function searchView(thread, { query }) {
  return thread.search(readQuestion(query));
}

/**
 * @param {SeriesThread} thread
 * @param {string} contains
 * @param {number} limit
 * @returns {Promise<string[]>} targets
 */
async function targetsOf(thread, contains, limit) {
  const page = { device: '', name: '', contains, after: 0, limit, withValues: false };
  const { series } = await thread.list(page);
  return series.map((/** @type {any} */ { device, name }) => `${device}|${name}`);
}

/** SimpleJson asks this. @param {SeriesThread} thread @param {any} request */
async function grafanaSearch(thread, { body }) {
  return targetsOf(thread, readGrafanaSearch(body), MAX_FOUND);
}

/** simpod-json-datasource asks this, and finds in it what a user types. @param {SeriesThread} thread */
async function grafanaMetrics(thread) {
  const targets = await targetsOf(thread, '', MAX_METRICS);
  return targets.map((target) => ({ label: target, value: target }));
}

/** @param {SeriesThread} thread @param {any} request @param {any} response */
async function grafanaQuery(thread, { body }, response) {
  const { wanted, range } = readGrafanaQuery(body);
  const { type, text } = await thread.range(wanted, range, 'grafana');
  response.setHeader('Content-Type', type);
  response.end(text);
  return null;
}

module.exports = { addEndpoints, viewOf };
