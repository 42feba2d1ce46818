'use strict';

const path = require('node:path');
const { checkOptions } = require('../settings/kafka-options');
const { checkStage } = require('./stage');
const { UplinkThread } = require('../../uplink/uplink-thread');

/** What differs from the thread of an MQTT broker. */
const KAFKA = {
  file: path.join(__dirname, 'kafka-worker.js'),
  name: 'seganet-kafka',
  checkOptions,
  checkStage
};

/** The thread of one Kafka cluster: see UplinkThread for its methods, events and counters. */
class KafkaThread extends UplinkThread {
  /**
   * Throws TypeError with a sentence for the user.
   * @param {import('../settings/kafka-options').KafkaOptions} options
   */
  constructor(options) {
    super(options, KAFKA);
  }
}

module.exports = { UplinkThread: KafkaThread };
