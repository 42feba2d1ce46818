'use strict';
// Reads last values of an engine in small portions, between which the event loop does its other work: each portion
// waits for the workers.

const { setImmediate: turn } = require('node:timers/promises');
const { ONLY_SLASHES, cursorOf, rowOf } = require('./value-query');

/** A request ends after this long with what was found, and where to go on, ms. */
const MAX_MS = 1000;
/** Levels of one answer. */
const MAX_LEVELS = 1000;

/** @typedef {Pick<import('../../../native/index.js').Engine, 'values' | 'valueLevels' | 'workers'>} Engine */

/**
 * @param {Engine} engine
 * @param {number} ms since 1970
 * @returns {number} the same time on the clock of the engine's pages
 */
function engineTime(engine, ms) {
  const { at } = engine.values({ limit: 1, since: Number.MAX_SAFE_INTEGER });
  return Math.floor(at - (Date.now() - ms) * 1000);
}

/**
 * @param {Engine} engine
 * @param {Pick<import('./value-query').ValueRequest, 'query' | 'sinceMs'>} request
 * @param {{ isOver?: () => boolean, maxMs?: number }} [options] isOver: true if the answer has no reader any more
 * @returns {Promise<{ values: object[], next?: string, more?: true }>}
 */
async function readValues(engine, { query, sinceMs }, { isOver = () => false, maxMs = MAX_MS } = {}) {
  if (sinceMs !== null) {
    const { values, more } = engine.values({ ...query, since: engineTime(engine, sinceMs) });
    return { values: values.map(rowOf), ...(more && { more }) };
  }
  const until = performance.now() + maxMs;
  const rows = [];
  let after = query.after ?? null;
  for (;;) {
    const { values, next } = engine.values({ ...query, after, limit: query.limit - rows.length });
    rows.push(...values.map(rowOf));
    if (!next) return { values: rows };
    if (rows.length >= query.limit || performance.now() > until || isOver())
      return { values: rows, next: cursorOf(next) };
    after = next;
    await turn();
  }
}

/**
 * Returns one level of the topics.
 * @param {Engine} engine
 * @param {string} prefix '' or with a slash at its end
 * @param {() => boolean} [isOver]
 * @returns {Promise<{ topics: object[], more?: true }>} more: there are more levels than are listed
 */
async function readTopics(engine, prefix, isOver = () => false) {
  /** @type {Map<string, import('../../../native/index.js').TopicLevel>} */
  const levels = new Map();
  for (let worker = 0; worker < engine.workers().length; worker++) {
    let page = engine.valueLevels(worker, prefix, null);
    while (page) {
      for (const found of page.levels) add(levels, found);
      if (!page.next || isOver()) break;
      await turn();
      page = engine.valueLevels(worker, prefix, page.next);
    }
  }
  const sorted = [...levels.values()].sort((a, b) => (a.level < b.level ? -1 : 1));
  const topics = sorted.slice(0, MAX_LEVELS).map((each) => ({
    ...each,
    topic: prefix + (each.level === '' && each.hasChildren && ONLY_SLASHES.test(prefix) ? '/' : each.level)
  }));
  return { topics, ...(sorted.length > MAX_LEVELS && { more: true }) };
}

/**
 * @param {Map<string, import('../../../native/index.js').TopicLevel>} levels
 * @param {import('../../../native/index.js').TopicLevel} found
 */
function add(levels, found) {
  const known = levels.get(found.level);
  if (!known) return void levels.set(found.level, found);
  known.values += found.values;
  known.hasChildren ||= found.hasChildren;
  known.ts = Math.max(known.ts, found.ts);
}

module.exports = { MAX_LEVELS, engineTime, readTopics, readValues };
