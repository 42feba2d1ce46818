'use strict';
// A filter with windows in a gateway that is killed: the cloud gets every acknowledged record as a part of a window.

const mqtt = require('mqtt');
const { startCloud } = require('../../../bench/harness/cloud');
const { receive } = require('../../fixtures/devices/device');
const { homeWith } = require('../../fixtures/gateway/flow-home');
const { startGateway } = require('../../../bench/harness/gateway');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

const { test } = needs('mosquitto', 'openssl');

jest.setTimeout(90000);

const IN_FLIGHT = 10;

/** @typedef {{ id: string, acknowledged: number[], end: () => Promise<unknown> }} Device */

/**
 * Publishes 0, 1, 2 … with QoS 1, at most IN_FLIGHT of them unacknowledged, until its connection ends.
 * @param {number} port @param {string} id
 * @returns {Promise<Device>}
 */
async function device(port, id) {
  const client = await mqtt.connectAsync({ host: '127.0.0.1', port, clientId: id, reconnectPeriod: 0 });
  const acknowledged = /** @type {number[]} */ ([]);
  let next = 0;
  const publish = () => {
    if (!client.connected) return;
    const n = next++;
    client.publish(`${id}/t`, `{"n":${n}}`, { qos: 1 }, (error) => {
      if (error) return;
      acknowledged.push(n);
      publish();
    });
  };
  client.on('error', () => {});
  for (let i = 0; i < IN_FLIGHT; i++) publish();
  return { id, acknowledged, end: () => client.endAsync(true) };
}

test('the windows in the cloud contain every acknowledged record after kill -9 and a stop', async () => {
  const cloud = await startCloud();
  const port = await freePort();
  const { home, remove } = homeWith([
    { id: 'in', type: 'seganet-mqtt-devices', port: String(port), wires: [['windows']] },
    {
      id: 'windows',
      type: 'seganet-filter',
      mode: 'window',
      values: 'n',
      aggregates: 'first last count',
      windowS: '1',
      windowRecords: '7',
      acknowledge: 'withWindow'
    }
  ]);
  const start = async () => {
    const started = await startGateway(cloud, { env: { SEGANET_HOME: home } });
    await waitForPort(port);
    return started;
  };
  let gateway = await start();
  const receiver = await receive(cloud);
  const all = /** @type {Device[]} */ ([]);
  try {
    for (const run of [0, 1, 2]) {
      const devices = await Promise.all([0, 1, 2, 3].map((d) => device(port, `run${run}-dev${d}`)));
      all.push(...devices);
      await eventually(() => devices.every(({ acknowledged }) => acknowledged.length > 200), {
        timeoutMs: 20000,
        what: 'acknowledgements'
      });
      if (run < 2) {
        gateway.child.kill('SIGKILL');
        await gateway.child.exited;
      } else {
        await gateway.child.stop('SIGTERM', 15000);
      }
      await Promise.all(devices.map(({ end }) => end()));
      gateway = await start();
    }
    const missing = () => {
      const arrived = new Set();
      for (const { d, p } of receiver.records().filter(({ p: payload }) => payload.values?.n)) {
        const { first, last, count } = p.values.n;
        // The records of one connection are in order, so a window has all from its first to its last.
        expect([d, first, last - first + 1]).toEqual([d, first, count]);
        for (let n = first; n <= last; n++) arrived.add(`${d} ${n}`);
      }
      return all.flatMap(({ id, acknowledged }) =>
        acknowledged.map((n) => `${id} ${n}`).filter((record) => !arrived.has(record))
      );
    };
    await eventually(() => missing().length === 0, { timeoutMs: 20000, what: 'all acknowledged records' });
    expect(all).toHaveLength(12);
  } finally {
    await Promise.all(all.map(({ end }) => end()));
    await receiver.close();
    await gateway.stop();
    await cloud.close();
    remove();
  }
});
