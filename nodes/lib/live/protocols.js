'use strict';
// What the live view shows of OCF clouds and of Kafka.

/** @typedef {import('../engine/figures/snapshot').SourceFigures} SourceFigures */
/** @typedef {import('../metrics/ocf').CloudFigures} CloudFigures */
/** @typedef {import('../metrics/kafka').GroupFigures} GroupFigures */
/** @typedef {import('../metrics/kafka').KafkaSourceFigures} KafkaSourceFigures */

/** Clouds, uplinks and sources of a snapshot. */
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
      ...{ node, name, isOpen: true },
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

/**
 * @param {{ broker: string, name: string, window?: number, brokers?: string[], producers?: GroupFigures[],
 *   sessions?: import('../engine/modules').SessionState[] }[]} uplinks
 */
function kafkaUplinksOf(uplinks) {
  const own = uplinks.filter(({ producers }) => producers).slice(0, MOST_ROWS);
  return own.map(({ broker, name, window = null, brokers = [], producers = [], sessions = [] }) => ({
    ...{ broker, name, window, brokers },
    producers: producers.map((figures) => {
      const session = sessions.find(({ group }) => group === figures.group);
      const { state = 'connecting', reason = '', oldestMs = -1, classes = [] } = session ?? {};
      return { ...figures, state, reason, oldestMs, classes };
    })
  }));
}

/** @param {SourceFigures[]} sources */
function kafkaSourcesOf(sources) {
  const own = sources.filter(({ protocol, figures }) => protocol === 'kafka' && figures).slice(0, MOST_ROWS);
  return own.map(({ nodeId: node, name, figures }) => {
    /** @type {KafkaSourceFigures} */
    const { state, code, reason, waits, group, topics, counters, consumer } = figures;
    const lags = Object.entries(consumer?.lag ?? {});
    return {
      ...{ node, name, state, code, reason, waits, group, counters },
      topics: topics.map((topic) => ({ topic, lag: lags.find(([each]) => each === topic)?.[1] ?? null })),
      partitions: consumer?.partitions ?? null,
      unsafe: consumer?.unsafe ?? null,
      committed: consumer?.committed ?? null,
      rebalances: consumer?.rebalances ?? null
    };
  });
}

module.exports = { StoreStates, cloudsOf, kafkaUplinksOf, kafkaSourcesOf };
