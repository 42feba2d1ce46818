'use strict';

require('../native/node/needs-node');
const { onInput } = require('./lib/base/message-input');
const { claimLink } = require('./lib/engine/claim-link');
const { join } = require('./lib/engine/join');
const { schema } = require('./lib/settings/uplink');
const { toRecord, toEnvelope, isBatch } = require('./lib/base/record');
const { checkCompression } = require('./lib/engine/check-compression');
const { checkSparkplug } = require('./lib/engine/check-sparkplug');
const { checkTemplate } = require('./lib/engine/check-template');
const { uplinkShown, heldShown } = require('./lib/engine/uplink-status');

const BROKER = { type: 'seganet-uplink-broker', word: 'broker', noun: 'uplink broker' };

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Uplink(config) {
    RED.nodes.createNode(this, config);
    const member = join(
      RED,
      this,
      config,
      schema,
      (values, host) => {
        const { broker, qos, ...topics } = values;
        checkTemplate('topic', topics.topic);
        checkTemplate('recordTopic', topics.recordTopic);
        checkCompression(topics.compress, topics.neverCompress);
        const link = claimLink(RED, this, broker, host, BROKER);
        const isSparkplug = topics.format === 'sparkplug';
        if (isSparkplug) checkSparkplug(link, topics.compress);
        return {
          kind: 'uplink',
          // A single record becomes metrics with its time, so the engine keeps that with it.
          settings: { uplink: host.uplinks.numberOf(link.id), ...(isSparkplug && { stamps: true }) },
          uplink: { link, topics: { ...topics, qos: qos === '0' ? 0 : 1 } },
          shown: (_rates, stats) => uplinkShown(link.state, stats, host.uplinks.size === 1)
        };
      },
      // As for an unreachable broker, records wait and the log keeps them.
      (wrong, host) => ({
        kind: 'uplink',
        settings: { uplink: host.uplinks.numberWithout(this.id) },
        shown: (_rates, stats) => heldShown(wrong.shown, stats, host.uplinks.size === 0)
      })
    );
    if (!member) return;

    onInput(this, (msg, _send, done) =>
      member.inlet.put(isBatch(msg) ? toEnvelope(msg) : toRecord(msg), done, { delivery: true, msg })
    );
  }

  RED.nodes.registerType('seganet-uplink', Uplink);
};
