'use strict';
// Reads the state of a gateway's network from its admin API.

const { CliError, messageOf } = require('../base/errors');
const { page: pageOf } = require('../../../../nodes/lib/base/texts/page');

const ANSWER_MS = 15_000;
const PAGE = 2000;
const MAX_ANSWER_BYTES = 32 << 20;
const MAX_LIVE_BYTES = 4 << 20;
/** Devices and values of a snapshot; further ones are omitted, and the last line reports that. */
const MAX_ROWS = 200_000;

/**
 * @typedef {object} Gateway
 * @property {string} url of the admin API, without / at its end
 * @property {string} token '' = the API needs none
 *
 * @typedef {Record<string, unknown> & { type: string }} Line
 */

/**
 * @param {Gateway} gateway
 * @param {string} path
 * @returns {Promise<Response>} any status
 * @throws {CliError}
 */
async function get({ url, token }, path) {
  try {
    return await fetch(url + path, {
      headers: token ? { authorization: `Bearer ${token}` } : {},
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS)
    });
  } catch (error) {
    const { cause } = /** @type {Error} */ (error);
    throw new CliError(`The gateway at ${url} does not answer: ${messageOf(cause ?? error)}.`);
  }
}

/** @param {Gateway} gateway @param {Response} response @param {string} path @returns {Error} */
function refused({ url }, { status }, path) {
  const why =
    status === 401 || status === 403
      ? `It needs a login: name a file with a token with the permission seganet.read (${pageOf('reference/metrics.md')} shows how to get one).`
      : `It answered ${path} with status ${status}.`;
  return new CliError(`The gateway at ${url} cannot be read. ${why}`);
}

/**
 * Reads a body.
 * @param {Response} response
 * @param {{ most?: number, end?: string }} [limits] most: bytes; end: text after which reading stops, '' = none
 * @returns {Promise<string>}
 * @throws {CliError}
 */
async function textOf(response, { most = MAX_ANSWER_BYTES, end = '' } = {}) {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const part of /** @type {any} */ (response.body ?? [])) {
      bytes += part.length;
      if (bytes > most) throw new CliError('The gateway sends too long an answer.');
      const from = Math.max(0, text.length - end.length);
      text += decoder.decode(part, { stream: true });
      if (end && text.includes(end, from)) break;
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`The gateway does not send all of its answer: ${messageOf(error)}.`);
  }
  return text;
}

/** @param {string} text @returns {any} */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError('The gateway sends an answer that is not JSON. Is it the admin API of a gateway?');
  }
}

/** @param {Gateway} gateway @param {string} path @returns {Promise<any>} null = there is no such thing */
async function getJson(gateway, path) {
  const response = await get(gateway, path);
  if (response.status === 404 || response.status === 503) {
    await response.body?.cancel();
    return null;
  }
  if (!response.ok) throw refused(gateway, response, path);
  return parse(await textOf(response));
}

/**
 * Reads the first snapshot of the live stream.
 * @param {Gateway} gateway
 * @param {string} engine '' = the first
 * @returns {Promise<any>}
 */
async function live(gateway, engine) {
  const path = `/seganet/live?devices=off&engine=${encodeURIComponent(engine)}`;
  const response = await get(gateway, path);
  if (!response.ok) throw refused(gateway, response, '/seganet/live');
  const text = await textOf(response, { most: MAX_LIVE_BYTES, end: '\n\n' });
  const [, data = ''] = /event: snapshot\ndata: (.*)/.exec(text) ?? [];
  return parse(data);
}

/**
 * @param {Gateway} gateway
 * @param {Date} now
 * @returns {AsyncGenerator<Line, void>} the lines of a snapshot, without its first and last one
 */
async function* readNetwork(gateway, now) {
  const { engines = [] } = await live(gateway, '');
  for (const { id, name = '', running, reason = '' } of engines) {
    if (!running) {
      yield { type: 'engine', engine: id, name, running: false, reason };
      continue;
    }
    const view = await live(gateway, id);
    const { devices, received, delivered, dropped, waitsFor } = view.summary ?? {};
    const waiting = sum(view.classes, 'inMemory') + sum(view.classes, 'backlog');
    const figures = {
      devices,
      received,
      delivered,
      dropped,
      waiting,
      waitsFor,
      log: view.log?.state ?? null
    };
    yield { type: 'engine', engine: id, name, running: true, reason: '', gateway: view.gateway, ...figures };
    yield* linksOf(id, view.uplinks ?? []);
    yield* devicesOf(gateway, id, now);
  }
  yield* valuesOf(gateway);
}

/** @param {any} rows @param {string} key */
const sum = (rows, key) =>
  (Array.isArray(rows) ? rows : []).reduce((all, row) => all + (Number(row[key]) || 0), 0);

/** @param {string} engine @param {any[]} uplinks @returns {Generator<Line, void>} */
function* linksOf(engine, uplinks) {
  for (const { broker: uplink, name = '', state, reason = '', network, sessions = [] } of uplinks) {
    const common = { engine, uplink, name };
    if (sessions.length === 0) yield { type: 'link', ...common, session: '', path: '', state, reason };
    for (const session of sessions) {
      const { rttMs, oldestMs, inflight, acknowledged } = session;
      const at = { ...common, session: String(session.classes ?? session.clientId ?? '') };
      const facts = { rttMs, oldestMs, inflight, acknowledged, interface: network?.interface ?? null };
      yield { type: 'link', ...at, path: '', state: session.state, reason: session.reason ?? '', ...facts };
      for (const path of session.paths ?? []) {
        const { name: called, state: pathState, role, rttMs: rtt, bytesAcked, address } = path;
        const more = { role, address, interface: path.interface, rttMs: rtt, bytesAcked };
        yield { type: 'link', ...at, path: called, state: pathState, reason: '', ...more };
      }
    }
  }
}

/** @param {Gateway} gateway @param {string} engine @param {Date} now @returns {AsyncGenerator<Line, void>} */
async function* devicesOf(gateway, engine, now) {
  /** @type {string | null} */
  let after = '';
  for (let rows = 0; after !== null;) {
    if (rows >= MAX_ROWS) {
      yield { type: 'cut', what: 'devices', engine, rows };
      return;
    }
    const query = `after=${encodeURIComponent(after)}&limit=${PAGE}`;
    /** @type {any} */
    const page = await getJson(gateway, `/seganet/engines/${encodeURIComponent(engine)}/agents?${query}`);
    if (!Array.isArray(page?.agents)) return;
    for (const row of page.agents) yield deviceLine(engine, row, now);
    rows += page.agents.length;
    // Without progress, the loop would read the same answer endlessly.
    after = typeof page.next === 'string' && page.next !== after ? page.next : null;
  }
}

/** @param {string} engine @param {any} row @param {Date} now @returns {Line} */
function deviceLine(engine, row, now) {
  const { device, protocol, node, connected, listening, records, bytes, ratePerS, silentMs, address } = row;
  const lastSeen = silentMs >= 0 ? new Date(now.getTime() - silentMs).toISOString() : null;
  const facts = { protocol, node, connected, listening, class: row.class, lastSeen };
  return { type: 'device', engine, device, ...facts, records, bytes, ratePerS, address };
}

/**
 * Latest values of the series nodes, if there are any.
 * @param {Gateway} gateway
 * @returns {AsyncGenerator<Line, void>}
 */
async function* valuesOf(gateway) {
  const list = await getJson(gateway, '/seganet/series');
  for (const { id, running } of Array.isArray(list?.nodes) ? list.nodes : []) {
    if (!running) continue;
    let rows = 0;
    for (let after = 0; rows < MAX_ROWS;) {
      const page = await getJson(
        gateway,
        `/seganet/series/${encodeURIComponent(id)}/latest?after=${after}&limit=${PAGE}`
      );
      if (!Array.isArray(page?.series)) break;
      for (const { device, name, ts, value } of page.series) {
        if (ts !== undefined)
          yield { type: 'value', series: id, device, name, at: new Date(ts).toISOString(), value };
      }
      rows += page.series.length;
      if (!(page.next > after)) break;
      after = page.next;
    }
    if (rows >= MAX_ROWS) yield { type: 'cut', what: 'values', series: id, rows };
  }
}

module.exports = { MAX_ROWS, readNetwork };
