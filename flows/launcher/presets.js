'use strict';

// SEGANET_PRESET: which default flow the gateway has, and defaults of variables for it.

const path = require('path');

const FLOWS = path.join(__dirname, '..');

/**
 * @typedef {object} Preset
 * @property {string} flow file of the default flow
 * @property {Record<string, string>} variables defaults
 */

/** @type {Record<string, Preset>} */
const PRESETS = {
  single: { flow: path.join(FLOWS, 'gateway.json'), variables: {} },
  cluster: {
    flow: path.join(FLOWS, 'cluster.json'),
    variables: { SEGANET_ACKNOWLEDGE: 'replicated', SEGANET_CLUSTER_NAME: 'cluster' }
  }
};

/**
 * @param {string | undefined} name SEGANET_PRESET
 * @returns {Preset} that of a single gateway for an unknown name, which the check of the variable refuses
 */
function presetOf(name) {
  const known = (name ?? '').trim();
  return Object.hasOwn(PRESETS, known) ? PRESETS[known] : PRESETS.single;
}

/**
 * Checks the values that a preset needs, or has no use for.
 * @param {Record<string, string>} values
 * @returns {string[]} sentences
 */
function presetProblems(values) {
  if (values.SEGANET_PRESET !== 'cluster') {
    if (!values.SEGANET_KAFKA_BROKERS) return [];
    return [
      'SEGANET_KAFKA_BROKERS has no effect with SEGANET_PRESET single. Set SEGANET_PRESET=cluster, or unset it.'
    ];
  }
  const problems = [];
  if (!values.SEGANET_KAFKA_BROKERS) {
    problems.push(
      'SEGANET_PRESET cluster needs the brokers of its Kafka cluster. Set SEGANET_KAFKA_BROKERS, for example kafka-1:9092,kafka-2:9092,kafka-3:9092.'
    );
  }
  if (!values.SEGANET_UPLINK_URL) {
    problems.push(
      'SEGANET_PRESET cluster has no demo cloud. Set SEGANET_UPLINK_URL to the cloud broker, for example mqtts://broker.example.org:8883.'
    );
  }
  if (values.SEGANET_ACKNOWLEDGE !== 'replicated') {
    problems.push(
      `SEGANET_ACKNOWLEDGE ${values.SEGANET_ACKNOWLEDGE} would acknowledge records that only this machine has, and SEGANET_PRESET cluster is for the loss of a machine. Set replicated, or unset it.`
    );
  }
  if (values.SEGANET_BATCH_MODE !== 'envelope') {
    problems.push(
      `SEGANET_BATCH_MODE ${values.SEGANET_BATCH_MODE} would send records without their time and number, by which a receiver recognizes copies after a takeover. With SEGANET_PRESET cluster, set envelope, or unset it.`
    );
  }
  if (values.SEGANET_BATCH_FORMAT === 'sparkplug') {
    problems.push(
      'SEGANET_BATCH_FORMAT sparkplug has an order of messages for each session, which another gateway cannot continue after a takeover. Set another one with SEGANET_PRESET cluster.'
    );
  }
  if ((values.SEGANET_KAFKA_SASL === 'none') !== (values.SEGANET_KAFKA_USERNAME === '')) {
    problems.push('SEGANET_KAFKA_SASL and SEGANET_KAFKA_USERNAME belong together: set both or neither.');
  }
  return problems;
}

module.exports = { PRESETS, presetOf, presetProblems };
