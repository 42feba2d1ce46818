'use strict';

/** More topics are forgotten, and looked up again when they are needed. */
const MAX_TOPICS = 5000;
const NONE = -1;

/** The brokers that lead the partitions of a cluster, as its metadata last named them. */
class Leaders {
  constructor() {
    /** @type {Map<string, number[]>} ids of brokers by topic and partition, -1 = not known */
    this.topics = new Map();
    /** @type {Map<number, { host: string, port: number }>} */
    this.brokers = new Map();
  }

  /**
   * @param {{ brokers: Map<number, { host: string, port: number }>,
   *   topics: Map<string, { partitions: { leader: number }[] } | undefined> }} metadata
   */
  learn({ brokers, topics }) {
    this.brokers = new Map(brokers);
    if (this.topics.size > MAX_TOPICS) this.topics.clear();
    for (const [name, topic] of topics)
      if (topic)
        this.topics.set(
          name,
          Array.from(topic.partitions, (each) => each?.leader ?? NONE)
        );
  }

  /** @param {string} topic @param {number} partition @returns {number} the id of the broker, -1 = not known */
  of(topic, partition) {
    return this.topics.get(topic)?.[partition] ?? NONE;
  }

  /** @param {string} topic @param {number} partition whose leader may have changed */
  forget(topic, partition) {
    const leaders = this.topics.get(topic);
    if (leaders) leaders[partition] = NONE;
  }

  /** @param {number} id @returns {{ host: string, port: number } | undefined} its address */
  broker(id) {
    return this.brokers.get(id);
  }
}

exports.Leaders = Leaders;
