'use strict';
// Several real Kafka brokers on this machine, each a voter of the controllers' quorum.

const { KafkaBroker } = require('./broker');
const { freePort } = require('../broker');

/** Lines of server.properties for topics that survive the loss of one broker. */
const LINES = [
  'default.replication.factor=3',
  'offsets.topic.replication.factor=3',
  'min.insync.replicas=2',
  'controller.quorum.election.timeout.ms=500',
  'controller.quorum.fetch.timeout.ms=1000'
];

class KafkaCluster {
  /**
   * @param {number} [size] odd, so that one less than half may be away
   * @param {string[]} [lines] of server.properties
   */
  constructor(size = 3, lines = []) {
    this.size = size;
    this.lines = [...LINES, ...lines];
    /** @type {KafkaBroker[]} by node id - 1 */
    this.brokers = [];
  }

  /** The addresses of all brokers, separated by commas. */
  get addresses() {
    return this.brokers.map(({ address }) => address).join(',');
  }

  /** @returns {Promise<this>} */
  async start() {
    const ports = [];
    for (let i = 0; i < this.size; i++) ports.push(await freePort());
    const voters = ports.map((port, i) => `${i + 1}@127.0.0.1:${port}`).join(',');
    this.brokers = ports.map(
      (port, i) => new KafkaBroker({ lines: this.lines, member: { id: i + 1, port, voters } })
    );
    await Promise.all(this.brokers.map((broker) => broker.start()));
    return this;
  }

  /** @param {number} id of the node @returns {KafkaBroker} */
  broker(id) {
    return this.brokers[id - 1];
  }

  async stop() {
    await Promise.all(this.brokers.map((broker) => broker.stop()));
  }
}

module.exports = { KafkaCluster };
