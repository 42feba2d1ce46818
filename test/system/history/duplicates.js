'use strict';
// At-least-once delivery has a price, and the price has a bound: the in-flight records, and the chunks in progress, at
// each disruption. Every copy carries the key of the first one, so that a receiver can detect it.

const { nameOf } = require('./history');

/**
 * @typedef {import('./history').History} History
 * @typedef {import('./history').Settings} Settings
 * @typedef {import('./checker').Known} Known
 */

/**
 * Records that the gateway may send again after a disruption.
 * @param {Settings} settings
 */
function bounds({ window, recordsPerPublish, chunks, chunkRecords }) {
  const connection = window * recordsPerPublish;
  return { connection, process: connection + chunks * chunkRecords };
}

/**
 * A copy is the gateway's own when the device has sent the record fewer times: by key where there is one, else by
 * number.
 * @param {History} history @param {Settings} settings @param {Map<string, Known>} known @param
 *  {import('./checker').Findings} findings
 */
function checkDuplicates(history, settings, known, findings) {
  const perDisruption = bounds(settings);
  /** @type {Set<string>} */
  const seen = new Set();
  /** @type {Map<string, number>} */
  const copies = new Map();
  let duplicates = 0;
  let bound = 0;
  let next = 0;
  let isTold = false;
  for (const arrival of history.arrivals) {
    // Each copy is due to an earlier disruption: the sum so far may never exceed the sum of the allowances so far.
    for (; next < history.disruptions.length && history.disruptions[next].time <= arrival.time; next += 1) {
      bound += perDisruption[history.disruptions[next].kind];
    }
    const name = nameOf(arrival);
    const sends = known.get(name)?.sends ?? 0;
    const count = (copies.get(name) || 0) + 1;
    copies.set(name, count);
    const id = arrival.key ? `${name} ${arrival.key} ${arrival.index}` : '';
    const isCopy = arrival.key ? seen.has(id) : count > sends && count > 1;
    if (id) seen.add(id);
    if (!isCopy) continue;
    duplicates += 1;
    if (duplicates <= bound || isTold) continue;
    isTold = true;
    const text = `${name} is duplicate ${duplicates}, and all disruptions before it allow ${bound}`;
    findings.add('duplicates', text, [arrival]);
  }
  return { duplicates, bound, perDisruption };
}

/**
 * A receiver that drops seen keys must lose nothing and pass no copy.
 * @param {History} history @param {Map<string, Known>} known @param {import('./checker').Findings} findings
 */
function checkKeys(history, known, findings) {
  /** @type {Map<string, string>} */
  const contentOf = new Map();
  /** @type {Map<string, Set<string>>} */
  const keysOf = new Map();
  for (const arrival of history.arrivals) {
    if (!arrival.key) continue;
    const content = contentOf.get(arrival.key);
    if (content === undefined) contentOf.set(arrival.key, arrival.content);
    else if (content !== arrival.content) {
      findings.add('key', `${arrival.key} was used for two different messages`, [arrival]);
      contentOf.set(arrival.key, arrival.content);
    }
    const name = nameOf(arrival);
    const keys = keysOf.get(name);
    if (keys) keys.add(arrival.key);
    else keysOf.set(name, new Set([arrival.key]));
    const sends = known.get(name)?.sends ?? 0;
    if (keys && keys.size > sends && sends > 0) {
      findings.add('key', `${name} was sent ${sends} times and arrived under ${keys.size} keys`, [arrival]);
    }
  }
}

module.exports = { checkDuplicates, checkKeys, bounds };
