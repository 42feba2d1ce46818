'use strict';
// What is desired of devices of an ocf cloud, in a gateway, with devices that speak CoAP over TCP.

const cbor = require('cbor');
const mqtt = require('mqtt');
const { freePort, waitForPort } = require('../../../bench/harness/net');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { LIGHT, asLamp, eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(240000);

/** @type {any} */
let cloud;
/** @type {number} of the MQTT devices */
let port;
beforeAll(async () => {
  port = await freePort();
  const node = { z: 'tab', x: 0, y: 0, engine: 'engine' };
  cloud = await startGatewayCloud({
    more: [
      { ...node, id: 'devices', type: 'seganet-mqtt-devices', port: String(port), wires: [['shadow']] },
      { ...node, id: 'shadow', type: 'seganet-shadow', wires: [[], []] }
    ]
  });
  await waitForPort(port);
});
afterAll(() => cloud?.stop());
const { connected, lamp, signedIn } = scenes(() => cloud);

const address = () => `http://127.0.0.1:${cloud.gateway.adminPort}/seganet/shadow`;

/** @param {string} device @param {object} desired */
async function desire(device, desired) {
  const response = await fetch(address(), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device, desired })
  });
  expect(response.status).toBe(200);
}

/** @param {string} device */
const shadowOf = async (device) => (await fetch(`${address()}?device=${device}`)).json();
/** @param {string} device @param {(shadow: any) => boolean} probe @param {string} what */
const until = (device, probe, what) => eventually(async () => probe(await shadowOf(device)), what, 60000);
/** @param {any} device @returns {any[]} bodies of the UPDATE requests that it got */
const updatesAt = (device) =>
  device.requests
    .filter(({ method, path }) => method === 'POST' && path === LIGHT.href)
    .map(({ payload }) => cbor.decodeFirstSync(payload));

/** @returns {Promise<number>} differences that devices did not take */
async function failures() {
  const text = await (await fetch(`${new URL('/seganet/metrics', address())}`)).text();
  return Number(/^seganet_shadow_deltas_failed_total\{.*\} (\d+)$/m.exec(text)?.[1]);
}

test('writes the desired values, and reports answers and notifications of the device', async () => {
  const device = await lamp(newUser());
  await desire(device.di, { [LIGHT.href]: { on: true }, note: 'for the flow' });
  await until(device.di, ({ reported }) => reported?.[LIGHT.href]?.on === true, 'it is on');
  expect(await shadowOf(device.di)).toMatchObject({ delta: { note: 'for the flow' } });
  expect(updatesAt(device)).toEqual([{ on: true }]);
  // Somebody switches it off by hand: it notifies, and gets what is desired once more.
  await eventually(() => device.observers.length > 0, 'it is observed');
  device.state.on = false;
  for (const each of device.observers)
    device.respond(each.token, { observe: ++each.next, body: { on: false } });
  await eventually(() => device.state.on, 'it is on again');
  await until(device.di, ({ reported }) => reported[LIGHT.href].on === true, 'it has reported so');
});

test('writes only the newest value when the device signs in, and again after a restart in the middle', async () => {
  const device = await signedIn(newUser());
  device.serve = () => undefined;
  await desire(device.di, { [LIGHT.href]: { on: false, level: 1 } });
  await eventually(() => updatesAt(device).length > 0, 'the first write');
  device.destroy();
  await desire(device.di, { [LIGHT.href]: { level: 2 } });
  await desire(device.di, { [LIGHT.href]: { level: 3 } });
  cloud = await cloud.restart('SIGKILL');
  const again = (await connected()).as(device);
  asLamp(again);
  expect((await again.signIn()).code).toBe('2.04');
  await eventually(() => updatesAt(again).length > 0, 'a write');
  await until(device.di, ({ reported }) => reported?.[LIGHT.href]?.on === false, 'its report');
  for (const body of updatesAt(again)) expect(body.level).toBe(3);
});

test('has one write of a device in flight, and no older value after a newer one', async () => {
  const device = await lamp(newUser());
  const works = device.serve;
  /** Writes without an answer. @type {Buffer[]} */
  const held = [];
  device.serve = (request) => (request.method === 'POST' ? void held.push(request.token) : works(request));
  await desire(device.di, { [LIGHT.href]: { level: 1 } });
  await eventually(() => held.length > 0, 'the first write');
  await desire(device.di, { [LIGHT.href]: { level: 2 } });
  await desire(device.di, { [LIGHT.href]: { level: 3 } });
  expect(updatesAt(device)).toEqual([{ level: 1 }]);
  device.respond(held[0], { code: '2.04', body: { level: 1 } });
  await eventually(() => held.length > 1, 'the next write');
  device.respond(held[1], { code: '2.04', body: { level: 3 } });
  await until(device.di, ({ delta }) => delta === undefined, 'no difference');
  expect(updatesAt(device)).toEqual([{ level: 1 }, { level: 3 }]);
});

test('reads a resource that answers a write without its representation, and that cannot be observed', async () => {
  const device = await lamp(newUser());
  const state = { level: 0 };
  device.serve = ({ method, payload }) => {
    if (method === 'GET') return { body: state };
    Object.assign(state, cbor.decodeFirstSync(payload));
    return { code: '2.04' };
  };
  await desire(device.di, { [LIGHT.href]: { level: 7 } });
  await until(device.di, ({ reported }) => reported?.[LIGHT.href]?.level === 7, 'its state');
});

test('reports values that cannot be written', async () => {
  const device = await lamp(newUser());
  await desire(device.di, { '/a/../b': { on: true }, [LIGHT.href]: 5, '/none': { on: true } });
  await until(device.di, ({ failed }) => Object.keys(failed ?? {}).length === 3, 'three failures');
  const { failed } = await shadowOf(device.di);
  expect(Object.fromEntries(Object.entries(failed).map(([href, { reason }]) => [href, reason]))).toEqual({
    '/a/../b': 'The href must not have the segments . and ...',
    [LIGHT.href]: 'What is desired of a resource must be an object.',
    '/none': 'The device answers 4.04.'
  });
});

test('ignores devices of other protocols whose ids are UUIDs', async () => {
  const id = '11111111-2222-4333-8444-555555555555';
  await desire(id, { [LIGHT.href]: { on: true } });
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: id });
  /** @type {any} */
  let delta;
  client.on('message', (_topic, payload) => (delta = JSON.parse(String(payload))));
  await client.subscribeAsync(`cmd/${id}/#`, { qos: 1 });
  await eventually(() => delta, 'the difference');
  expect(delta.state).toEqual({ [LIGHT.href]: { on: true } });
  await client.endAsync(true);
});

test('reports a refused value, does not resend it after each report, and clears the failure with a new value', async () => {
  const device = await lamp(newUser());
  const works = device.serve;
  device.serve = (request) => (request.method === 'POST' ? { code: '4.00' } : works(request));
  await desire(device.di, { [LIGHT.href]: { on: true } });
  await until(device.di, ({ failed }) => failed !== undefined, 'the failure');
  expect((await shadowOf(device.di)).failed).toEqual({
    [LIGHT.href]: { reason: 'The device answers 4.00.', timestamp: expect.any(Number) }
  });
  // Each has another difference, which is sent to the device and ends in the same failure.
  for (let i = 1; i <= 5; i++) {
    const before = await failures();
    await desire(device.di, { count: i });
    await eventually(async () => (await failures()) > before, 'the failure of the next difference');
  }
  expect(updatesAt(device)).toEqual([{ on: true }]);
  device.serve = works;
  await desire(device.di, { [LIGHT.href]: { on: 1 } });
  await eventually(() => device.state.on, 'it is on');
});

test('retries twice while the device answers 5.xx, and again after its next sign-in', async () => {
  const device = await lamp(newUser());
  const works = device.serve;
  device.serve = (request) => (request.method === 'POST' ? { code: '5.00' } : works(request));
  await desire(device.di, { [LIGHT.href]: { on: true } });
  await eventually(() => updatesAt(device).length === 3, 'three tries', 60000);
  await until(device.di, ({ failed }) => /5\.00/.test(failed?.[LIGHT.href].reason), 'the failure');
  device.destroy();
  const again = (await connected()).as(device);
  asLamp(again);
  expect((await again.signIn()).code).toBe('2.04');
  await eventually(() => again.state.on, 'it is on');
  await until(device.di, ({ failed, delta }) => failed === undefined && delta === undefined, 'no failure');
});
