'use strict';
// An existing broker, a gateway that is killed while it reads from it, and the cloud.

const mqtt = require('mqtt');
const { Broker } = require('../../bench/harness/broker');
const { startCloud } = require('../../bench/harness/cloud');
const { receive } = require('../fixtures/devices/device');
const { homeWith } = require('../fixtures/gateway/flow-home');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('mosquitto', 'openssl');

jest.setTimeout(90000);

const DEVICES = 10;
const EACH = 150;

describe.each([
  ['5', 1],
  ['4', 2]
])('MQTT version %s, QoS %i', (protocolVersion, qos) => {
  test("delivers the broker's messages after two kill -9 of the gateway, in order for each device and run", async () => {
    const cloud = await startCloud();
    const broker = await Broker.start({ log: false });
    const { home, remove } = homeWith([
      {
        id: 'source',
        type: 'seganet-mqtt-source',
        url: broker.plainUrl,
        topics: 'f/+/t',
        qos: String(qos),
        protocolVersion
      }
    ]);
    const start = () => startGateway(cloud, { env: { SEGANET_HOME: home } });
    let gateway = await start();
    const receiver = await receive(cloud);
    const publisher = await mqtt.connectAsync(broker.plainUrl, { protocolVersion: 5 });
    try {
      // The subscription exists when the first message passes.
      await eventually(async () => {
        await publisher.publishAsync('f/first/t', '0', { qos: 1 });
        return receiver.records().some(({ d }) => d === 'first');
      });
      const arrived = () => receiver.records().filter(({ d }) => d.startsWith('dev'));
      /** @type {Promise<unknown>[]} */
      const published = [];
      for (let n = 0; n < EACH; n++) {
        for (let d = 0; d < DEVICES; d++) {
          published.push(publisher.publishAsync(`f/dev${d}/t`, String(n), { qos: 1 }));
        }
        if (n === 50 || n === 100) {
          await eventually(() => arrived().length > n);
          gateway.child.kill('SIGKILL');
          await gateway.child.exited;
          gateway = await start();
        }
      }
      await Promise.all(published);
      const unique = () => new Set(arrived().map(({ d, p }) => `${d} ${p}`)).size;
      await eventually(() => unique() === DEVICES * EACH, { timeoutMs: 30000, what: `${unique()} of all` });
      // A killed run's data on disk arrive in parallel with the live records of the next one, so the order is that of
      // each run.
      /** @type {Record<string, number[]>} */
      const runs = {};
      let key = '';
      for (const { k, d, p } of receiver.records()) {
        key = k ?? key; // an envelope has it in its first line
        if (d.startsWith('dev')) (runs[`${key.split('/')[1]} ${d}`] ??= []).push(p);
      }
      for (const numbers of Object.values(runs)) {
        const first = [...new Set(numbers)];
        expect(first).toEqual([...first].sort((left, right) => left - right));
      }
    } finally {
      await publisher.endAsync(true);
      await receiver.close();
      await gateway.stop();
      await broker.remove();
      await cloud.close();
      remove();
    }
  });
});
