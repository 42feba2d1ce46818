'use strict';
// Clients that may read the records of all devices (SourceSettings::subscribers of the engine), from text.

const { shown } = require('../base/values');
const { filterProblem } = require('./rules');

/** @typedef {{ client: string, filters: string[] }} SubscriberRow */

// As in the engine.
const MAX_ROWS = 64;
const MAX_FILTERS = 64;
const MAX_PATTERN_BYTES = 256;

/**
 * @param {string} text such as "dashboard=#, homeassistant=zigbee2mqtt/#"; a client may be a glob and occur repeatedly
 * @returns {SubscriberRow[]} in their order: the first that matches a client applies
 * @throws {RangeError} with a sentence
 */
function parseSubscribers(text) {
  /** @type {Map<string, string[]>} */
  const rows = new Map();
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const { client, filter } = partOf(part.trim());
    const filters = rows.get(client) ?? [];
    if (!filters.includes(filter)) filters.push(filter);
    if (filters.length > MAX_FILTERS)
      throw new RangeError(`Subscribers: "${shown(client)}" has more than ${MAX_FILTERS} topic filters.`);
    rows.set(client, filters);
  }
  if (rows.size > MAX_ROWS)
    throw new RangeError(
      `Subscribers has ${rows.size} clients; there may be ${MAX_ROWS} at most. Use patterns with *.`
    );
  return Array.from(rows, ([client, filters]) => ({ client, filters }));
}

/** @param {string} text */
function partOf(text) {
  const [, client = '', filter = ''] = /^([^=\s]+)\s*=\s*(\S+)$/.exec(text) ?? [];
  const where = `Subscribers: "${shown(text)}"`;
  if (!client)
    throw new RangeError(`${where} must be CLIENT=FILTER, such as dashboard=# or panel-*=plant/#.`);
  if (Buffer.byteLength(client) > MAX_PATTERN_BYTES || client.includes('\0'))
    throw new RangeError(`${where}: the client exceeds ${MAX_PATTERN_BYTES} bytes or contains NUL.`);
  const problem = filterProblem(filter);
  if (problem) throw new RangeError(`${where}: the topic filter ${problem}.`);
  return { client, filter };
}

module.exports = { parseSubscribers };
