'use strict';
// A device publishes under a topic that the cloud's broker rejects: it closes the connection that brings it.

const { eventually } = require('../../../../bench/harness/net');
const { Device } = require('../devices/device');
const { hashOf, payloadOf } = require('../devices/payload');
const { ODD } = require('../devices/reading');

/** The class of a record without a rule. */
const UNRANKED = 3;

/** @typedef {import('../context').Context} Context */
/** @typedef {import('../schedule').Fault} Fault */

/** @param {Context} context @param {Fault} fault */
async function oddTopic(context, fault) {
  const { history, schedule, system, clock } = context;
  const id = `${ODD}000`;
  const device = new Device({
    id,
    port: system.devicePort,
    clock,
    maxUnacked: fault.records,
    topicOf: () => fault.topic,
    payloadOf: (recordClass, n) => {
      const payload = payloadOf(schedule.shape, id, recordClass, n);
      return { payload, hash: hashOf(payload) };
    },
    log: (event) => history.devices.push(event),
    onProblem: (what, text) => history.findings.push({ what, text })
  });
  context.closing.push({ close: () => device.stop() });
  device.connect();
  await eventually(() => device.isConnected, { timeoutMs: 15000, what: 'the device with the odd topic' });
  for (let i = 0; i < fault.records; i += 1) device.publish(UNRANKED);
  await context.wait(fault.for);
  // If the gateway refuses the topic, the device would retry indefinitely.
  device.stop();
}

/** @type {Record<string, (context: Context, fault: Fault) => Promise<void>>} */
const topics = { 'odd-topic': oddTopic };

module.exports = { topics };
