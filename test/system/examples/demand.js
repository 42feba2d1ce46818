'use strict';
// The examples of monitoring on demand and of device shadows.

const { eventually } = require('../../../bench/harness/net');

/**
 * @param {{ nodeRed: any, idOf: (type: string, name?: string) => string }} context
 * @param {(topic: string, payload: string) => Promise<any>} publish as the device pump-7, whose client it returns
 */
async function runDemand({ nodeRed, idOf }, publish) {
  const client = await publish('d/pump-7/t', '{"mark":31}');
  await nodeRed.shows('arrived in the cloud', /mark/);
  /** @type {string[]} */
  const got = [];
  client.on('message', (/** @type {string} */ _topic, /** @type {Buffer} */ payload) =>
    got.push(String(payload))
  );
  await client.subscribeAsync('cmd/pump-7/#', { qos: 1 });
  await nodeRed.inject(idOf('inject'));
  await eventually(() => got.some((text) => /"everyMs":500/.test(text)), { what: 'the rate' });
  await nodeRed.shows('state of the device', /on/);
}

/**
 * @param {{ nodeRed: any, idOf: (type: string, name?: string) => string }} context
 * @param {(topic: string, payload: string) => Promise<any>} publish as the device pump-7, whose client it returns
 */
async function runShadow({ nodeRed, idOf }, publish) {
  const client = await publish('d/pump-7/t', '{"mark":33}');
  await nodeRed.shows('arrived in the cloud', /mark/);
  /** @type {string[]} */
  const got = [];
  client.on('message', (/** @type {string} */ topic, /** @type {Buffer} */ payload) =>
    got.push(`${topic} ${payload}`)
  );
  await client.subscribeAsync('cmd/pump-7/#', { qos: 1 });
  await nodeRed.inject(idOf('inject'));
  await eventually(() => got.some((text) => /shadow\/delta .*"rate":5/.test(text)), {
    what: 'the difference'
  });
  await client.publishAsync('shadow/reported', '{"rate":5}', { qos: 1 });
  await nodeRed.shows('change of a shadow', /reported/);
}

module.exports = { runDemand, runShadow };
