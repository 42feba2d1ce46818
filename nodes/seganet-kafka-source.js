'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('kafka');
const { claimedOptions, findKafkaLoop } = require('./lib/kafka/source/cluster-of');
const gateways = require('./lib/kafka/gateways/joined');
const { KafkaSource } = require('./lib/kafka/source/kafka-source');
const { schema, sourceOptions } = require('./lib/kafka/source/kafka-source-options');
const { shown } = require('./lib/sources/mqtt-source/mqtt-source-status');
const { deliveryOf } = require('./lib/settings/delivery');
const { join } = require('./lib/engine/join');

/** @typedef {import('./lib/kafka/source/kafka-source-options').SourceOptions} SourceOptions */
/** @typedef {import('./lib/kafka/source/message-record').ReadingOptions} ReadingOptions */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function KafkaSourceNode(config) {
    RED.nodes.createNode(this, config);
    /** @type {SourceOptions | null} */
    let options = null;
    /** @type {ReadingOptions | null} */
    let reading = null;
    let clusterId = '';
    /** @type {KafkaSource | null} */
    let source = null;
    const member = join(RED, this, config, schema, (settings, host) => {
      const cluster = claimedOptions(RED, settings.cluster);
      options = sourceOptions(settings, cluster, { gateway: host.gatewayId, nodeId: this.id });
      reading = settings;
      clusterId = settings.cluster;
      return {
        kind: 'source',
        protocol: 'kafka',
        delivery: deliveryOf(settings),
        settings: { protocol: 'pushed' },
        figures: () => source?.figures() ?? null,
        shown: (rates, stats, joined) => shown(source, rates, stats, joined)
      };
    });
    if (!member || !options || !reading) return;

    const { topics } = /** @type {SourceOptions} */ (options);
    const { host } = member;
    gateways.join(this, clusterId, host);
    source = new KafkaSource(options, reading, {
      put: (args, done, how) => member.inlet.put(args, done, how),
      warn: (sentence) => this.warn(sentence)
    });
    const running = source;
    /** @type {unknown} */
    let plan = null;
    let isStarted = false;
    const unsubscribe = host.upkeep.onBell(() => {
      if (!host.plan || host.plan === plan || !member.route) return;
      plan = host.plan;
      // Records have no route before the first plan. Each plan may have other uplinks.
      const isShut = member.route.shut !== null;
      running.hold(isShut);
      const starts = !isStarted && !isShut && !host.handover.isOn;
      if (starts) running.start();
      isStarted ||= starts;
      const loop = findKafkaLoop({ clusterId, topics }, host.uplinks.kafkaTargets(), host.gatewayId);
      if (loop) this.warn(loop);
    });
    // Another member of the group goes on with its partitions.
    const endHandover = host.handover.onStart(() => {
      isStarted = true;
      void running.stop();
    });
    this.on('close', (/** @type {() => void} */ done) => {
      unsubscribe();
      endHandover();
      void running.stop().finally(done);
    });
  }

  RED.nodes.registerType('seganet-kafka-source', KafkaSourceNode);
};
