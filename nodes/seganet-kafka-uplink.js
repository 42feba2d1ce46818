'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('kafka');
const { onInput } = require('./lib/base/message-input');
const gateways = require('./lib/kafka/gateways/joined');
const { validateNameTemplate } = require('./lib/kafka/settings/kafka-names');
const { claimLink } = require('./lib/engine/claim-link');
const { join } = require('./lib/engine/join');
const { schema } = require('./lib/kafka/settings/kafka-uplink');
const { toRecord, toEnvelope, isBatch } = require('./lib/base/record');
const { uplinkShown, heldShown } = require('./lib/engine/uplink-status');

const CLUSTER = { type: 'seganet-kafka', word: 'cluster', noun: 'Kafka cluster' };

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function KafkaUplink(config) {
    RED.nodes.createNode(this, config);
    const member = join(
      RED,
      this,
      config,
      schema,
      ({ cluster, topic, envelopeTopic, createTopics }, host) => {
        check('topic', validateNameTemplate(topic));
        check('envelopeTopic', validateNameTemplate(envelopeTopic, { ofRecord: false }));
        const link = claimLink(RED, this, cluster, host, CLUSTER);
        gateways.join(this, cluster, host);
        return {
          kind: 'uplink',
          settings: { uplink: host.uplinks.numberOf(link.id), stamps: true },
          uplink: { link, topics: { topic, envelopeTopic, create: createTopics === 'on' } },
          shown: (_rates, stats) =>
            gateways.withTrouble(cluster, uplinkShown(link.state, stats, host.uplinks.size === 1))
        };
      },
      // As for an unreachable cluster, records wait and the log keeps them.
      (wrong, host) => ({
        kind: 'uplink',
        settings: { uplink: host.uplinks.numberWithout(this.id), stamps: true },
        shown: (_rates, stats) => heldShown(wrong.shown, stats, host.uplinks.size === 0)
      })
    );
    if (!member) return;

    onInput(this, (msg, _send, done) =>
      member.inlet.put(isBatch(msg) ? toEnvelope(msg) : toRecord(msg), done, { delivery: true, msg })
    );
  }

  RED.nodes.registerType('seganet-kafka-uplink', KafkaUplink);
};

/**
 * @param {string} name of the property
 * @param {true | string} valid or why not
 * @throws {Error} with a sentence
 */
function check(name, valid) {
  if (valid !== true) throw new Error(`"${name}": ${valid}`);
}
