'use strict';
// A tenant without a flow of its own: the shipped one keeps what its devices send, for a newcomer's first try.

const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { eventually } = require('../../../bench/harness/net');
const { PASSWORD, RealFront } = require('../../fixtures/tenants/real-front');

jest.setTimeout(120_000);

const LONG = { timeoutMs: 60_000 };
const SLOW_START = { timeoutMs: 90_000, everyMs: 200 };

/** @type {RealFront} */
let front;
beforeAll(async () => {
  front = new RealFront({ acme: null });
  await front.start(['acme/pump-1']);
});
afterAll(() => front?.stop());

test('the numbers of its devices are time series of the tenant, and the front has nothing left', async () => {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${front.ports.mqtt}`, {
    username: 'acme/pump-1',
    password: PASSWORD,
    clientId: 'pump-1',
    reconnectPeriod: 0
  });
  try {
    for (let i = 0; i < 20; i++)
      await client.publishAsync('t', JSON.stringify({ bar: 4 + i / 10 }), { qos: 1 });
    const latest = () => front.tell('acme', 'seganet/series/values/latest').catch(() => null);
    const { series } = await eventually(async () => {
      const answer = await latest();
      return answer?.series?.some((/** @type {any} */ { value }) => value === 5.9) && answer;
    }, SLOW_START);
    expect(series).toEqual([{ device: 'pump-1', name: 'bar', ts: expect.any(Number), value: 5.9 }]);
    // The tenant has acknowledged all: the front gives the lease back.
    await eventually(async () => (await front.list())[0].leases === 0, LONG);
    const user = path.join(front.volume('acme'), 'gateway.json');
    expect(JSON.parse(fs.readFileSync(user, 'utf8'))[0].label).toBe('Tenant');
  } finally {
    await client.endAsync(true);
  }
});
