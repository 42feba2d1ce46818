'use strict';

const INTERVAL_MS = 10000;

/** How far the commits of a consumer are behind the end of its partitions. Asks the cluster every 10 s. */
class Lag {
  #offsets;
  #intervalMs;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** Increases when an answer that is under way no longer counts. */
  #life = 0;
  /** Offsets by topic; a topic whose lag is unknown is missing. @type {Record<string, number>} */
  byTopic = {};

  /** @param {import('./offsets').Offsets} offsets @param {number} [intervalMs] */
  constructor(offsets, intervalMs = INTERVAL_MS) {
    this.#offsets = offsets;
    this.#intervalMs = intervalMs;
  }

  /** @param {any} consumer the client's @param {any} stream the client's */
  follow(consumer, stream) {
    this.stop();
    const life = this.#life;
    const ask = () => void this.#ask(consumer, stream, life);
    this.#timer = setInterval(ask, this.#intervalMs);
    ask();
  }

  stop() {
    this.#life++;
    clearInterval(this.#timer);
    this.byTopic = {};
  }

  /** @param {any} consumer @param {any} stream @param {number} life */
  async #ask(consumer, stream, life) {
    /** @type {{ topic: string, partitions: number[] }[]} */
    const assigned = consumer.assignments ?? [];
    const own = assigned.filter(({ partitions }) => partitions.length > 0);
    /** @type {Record<string, number>} */
    let found = {};
    if (own.length > 0) {
      try {
        const ends = await consumer.listOffsets({
          topics: own.map(({ topic }) => topic),
          partitions: Object.fromEntries(own.map(({ topic, partitions }) => [topic, partitions]))
        });
        found = this.#between(own, stream, ends);
      } catch {
        // Unknown: the source itself reports that the cluster does not answer.
      }
    }
    if (life === this.#life) this.byTopic = found;
  }

  /**
   * @param {{ topic: string, partitions: number[] }[]} own
   * @param {any} stream
   * @param {Map<string, bigint[]>} ends by topic and partition
   */
  #between(own, stream, ends) {
    /** @type {Record<string, number>} */
    const found = {};
    for (const { topic, partitions } of own) {
      let sum = 0n;
      for (const partition of partitions) {
        // Before the first record, the position at which the consumer began.
        const from =
          this.#offsets.uncommitted(topic, partition) ?? stream.offsetsToFetch.get(`${topic}:${partition}`);
        const end = ends.get(topic)?.[partition];
        if (from !== undefined && end !== undefined && end > from) sum += end - from;
      }
      found[topic] = Number(sum);
    }
    return found;
  }
}

exports.Lag = Lag;
