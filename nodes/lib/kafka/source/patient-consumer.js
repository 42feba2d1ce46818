'use strict';
// The client's consumer gives up a request to the leaders of partitions after some tries, and then closes its stream.
// But a lost leader is replaced only after seconds, and a request for several of its partitions never succeeds if these
// have different leaders then. A source that begins again leaves its group, and joins it again: two more rebalances.

const { meaningOf } = require('../uplink/errors');

const AGAIN_MS = 200;
const RETRY_MS = 300;
const FETCH_RETRY_MS = 50;
/** Answers of a broker that no longer leads a partition, or that knows nothing of a session of fetches. */
const MOVED = new Set([
  'NOT_LEADER_OR_FOLLOWER',
  'LEADER_NOT_AVAILABLE',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'OFFSET_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
  'FETCH_SESSION_ID_NOT_FOUND',
  'INVALID_FETCH_SESSION_EPOCH',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR'
]);

/**
 * The client's tries of a fetch are over soon: what it has learned from the answer is enough, or the stream must ask
 * other leaders.
 */
const retryDelay = (
  /** @type {any} */ _client,
  /** @type {string} */ operation,
  /** @type {number} */ _attempt,
  /** @type {number} */ _retries,
  /** @type {unknown} */ error
) => (operation !== 'fetch' ? RETRY_MS : MOVED.has(meaningOf(error).code) ? 0 : FETCH_RETRY_MS);

/** @param {any} error @returns {boolean} true: another leader may take the request soon */
function isMove(error) {
  const { kind, code } = meaningOf(error);
  return kind === 'connection' || MOVED.has(code);
}

/**
 * Changes a consumer of the client. Requests to leaders are repeated while brokers move, for a limited time.
 * @param {any} consumer
 * @param {number} limitMs
 */
function makePatient(consumer, limitMs) {
  for (const name of ['listOffsets', 'listCommittedOffsets']) repeat(consumer, name, limitMs);
  const fetch = consumer.fetch.bind(consumer);
  let goodAt = performance.now();
  consumer.fetch = (/** @type {any} */ options, /** @type {(error: any, response?: any) => void} */ done) =>
    fetch(options, (/** @type {any} */ error, /** @type {any} */ response) => {
      const now = performance.now();
      if (!error) goodAt = now;
      if (!error || !isMove(error) || now - goodAt > limitMs) return done(error, response);
      consumer.clearMetadata();
      // Nothing was read: the stream asks those who lead the partitions then.
      setTimeout(done, AGAIN_MS, null, { responses: [] });
    });
}

/** @param {any} consumer @param {string} name @param {number} limitMs */
function repeat(consumer, name, limitMs) {
  const call = consumer[name].bind(consumer);
  consumer[name] = (
    /** @type {any} */ options,
    /** @type {((error: any, result?: any) => void) | undefined} */ done
  ) => {
    if (!done) return call(options);
    const until = performance.now() + limitMs;
    const attempt = () =>
      call(options, (/** @type {any} */ error, /** @type {any} */ result) => {
        if (!error || !isMove(error) || consumer.closed || performance.now() > until)
          return done(error, result);
        consumer.clearMetadata();
        setTimeout(attempt, AGAIN_MS);
      });
    attempt();
  };
}

module.exports = { makePatient, retryDelay };
