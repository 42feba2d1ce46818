'use strict';
// What Kafka adds to the engine.

const { kafkaSourcesOf, kafkaUplinksOf } = require('./live');
const { allGateways } = require('./gateways/joined');
const { addGateways, addKafkaSource, addProducer } = require('./metrics');

exports.threads = () => require('./uplink');

/** @type {import('../engine/connection-test-endpoint').ConnectionTest} */
exports.connectionTest = {
  type: 'seganet-kafka',
  test: (RED, tested) => require('./cluster-test').testCluster(RED, tested)
};

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  process: (out) => {
    for (const [cluster, gateways] of allGateways()) addGateways(out, cluster, gateways.figures());
  },
  sources: {
    kafka: (out, labels, figures) => {
      if (figures) addKafkaSource(out, labels, figures);
    }
  },
  uplink: (out, labels, { producers = [] }) => {
    for (const producer of producers) addProducer(out, labels, producer);
  }
};

/** @type {import('../live/snapshot').MakeLiveAddition} */
exports.live = () => ({
  read: ({ uplinks, sources }) => ({
    kafka: {
      uplinks: kafkaUplinksOf(/** @type {import('../live/snapshot').Uplink[]} */ (uplinks)),
      sources: kafkaSourcesOf(sources)
    }
  })
});
