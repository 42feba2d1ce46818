'use strict';
// What the live view shows of OCF clouds.

const { ListPages } = require('../live/list-pages');

/** @typedef {import('../engine/figures/snapshot').SourceFigures} SourceFigures */
/** @typedef {import('./metrics').CloudFigures} CloudFigures */
/** @typedef {import('../live/live-query').CloudQuery} CloudQuery */

/** Clouds of a snapshot. */
const MOST_ROWS = 50;
/** Time for which a failed call counts as the state of the store, ms. */
const FAILING_MS = 10000;
/** Calls that wait when the store counts as busy. */
const BUSY_CALLS = 64;

/** Whether the stores of the clouds work: one whose calls fail while a viewer looks is failing. */
class StoreStates {
  /** @type {Map<string, { failed: number, at: number }>} */
  #seen = new Map();

  /**
   * @param {string} node
   * @param {NonNullable<CloudFigures>['store']} figures
   * @param {number} now ms
   * @returns {'ready' | 'busy' | 'failing'}
   */
  read(node, { read, write, waiting }, now) {
    const failed = read.failed + write.failed;
    const before = this.#seen.get(node);
    const at = before && failed > before.failed ? now : (before?.at ?? -Infinity);
    this.#seen.set(node, { failed, at });
    if (now - at < FAILING_MS) return 'failing';
    return waiting >= BUSY_CALLS ? 'busy' : 'ready';
  }
}

/**
 * @param {SourceFigures[]} sources
 * @param {StoreStates} states
 * @param {number} now ms
 */
function cloudsOf(sources, states, now) {
  const own = sources.filter(({ protocol }) => protocol === 'ocf').slice(0, MOST_ROWS);
  return own.map(({ nodeId: node, name, figures }) => {
    /** @type {CloudFigures} */
    const view = figures;
    if (!view) return { node, name, isOpen: false };
    const { read, write, waiting } = view.store;
    return {
      ...view,
      node,
      name,
      isOpen: true,
      store: {
        state: states.read(node, view.store, now),
        waiting,
        failed: read.failed + write.failed,
        readMs: meanMs(read),
        writeMs: meanMs(write)
      }
    };
  });
}

/** @param {{ done: number, failed: number, seconds: number }} calls @returns {number | null} null = there was none */
function meanMs({ done, failed, seconds }) {
  const ended = done + failed;
  return ended > 0 ? Math.round((seconds * 1e5) / ended) / 100 : null;
}

/** The clouds of one engine. */
class CloudsLive {
  #host;
  #now;
  #lists;
  #stores = new StoreStates();

  /** @param {import('../engine/host').EngineHost} host @param {() => number} now ms */
  constructor(host, now) {
    this.#host = host;
    this.#now = now;
    this.#lists = new ListPages(now);
  }

  /** @param {{ sources: SourceFigures[] }} stats */
  read({ sources }) {
    return { clouds: cloudsOf(sources, this.#stores, this.#now()) };
  }

  /**
   * @param {{ cloud: CloudQuery | null }} query
   * @returns {{ cloudPage: object | null }} null = not read yet, or there is no such cloud
   */
  pages({ cloud: query }) {
    return { cloudPage: query && this.#page(query) };
  }

  /** @param {CloudQuery} query */
  #page(query) {
    const clouds = this.#host.members.filter(({ protocol, list }) => protocol === 'ocf' && list);
    const cloud = query.node ? clouds.find(({ id }) => id === query.node) : clouds[0];
    if (!cloud?.list) return null;
    const page = this.#lists.page(cloud.list, { ...query, node: cloud.id });
    return page && { node: cloud.id, ...page };
  }
}

module.exports = { CloudsLive, StoreStates, cloudsOf };
