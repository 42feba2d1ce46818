'use strict';
// What the live view shows of Kafka.

const { shortReason } = require('../base/texts/short-reasons');

/** @typedef {import('../engine/figures/snapshot').SourceFigures} SourceFigures */
/** @typedef {import('./metrics').GroupFigures} GroupFigures */
/** @typedef {import('./metrics').KafkaSourceFigures} KafkaSourceFigures */

/** Uplinks and sources of a snapshot. */
const MOST_ROWS = 50;

/**
 * @param {{ broker: string, name: string, window?: number, brokers?: string[], producers?: GroupFigures[],
 *   sessions?: import('../engine/modules').SessionState[] }[]} uplinks
 */
function kafkaUplinksOf(uplinks) {
  const own = uplinks.filter(({ producers }) => producers).slice(0, MOST_ROWS);
  return own.map(({ broker, name, window = null, brokers = [], producers = [], sessions = [] }) => ({
    broker,
    name,
    window,
    brokers,
    producers: producers.map((figures) => {
      const session = sessions.find(({ group }) => group === figures.group);
      const { state = 'connecting', code = '', reason = '', oldestMs = -1, classes = [] } = session ?? {};
      return { ...figures, state, reason, short: shortReason(code), oldestMs, classes };
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
      node,
      name,
      state,
      code,
      reason,
      short: shortReason(code),
      waits,
      group,
      counters,
      topics: topics.map((topic) => ({ topic, lag: lags.find(([each]) => each === topic)?.[1] ?? null })),
      partitions: consumer?.partitions ?? null,
      unsafe: consumer?.unsafe ?? null,
      committed: consumer?.committed ?? null,
      rebalances: consumer?.rebalances ?? null
    };
  });
}

module.exports = { kafkaSourcesOf, kafkaUplinksOf };
