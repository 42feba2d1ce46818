'use strict';
// How connections and sessions of the OCF cloud end, and what they leave behind: nothing.

const { randomUUID } = require('node:crypto');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { Client } = require('../../../flows/demo/ocf/client');
const { seeded } = require('../../fixtures/random');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(120000);

let cloud;
beforeAll(async () => {
  cloud = await startControlPlane();
});
afterAll(() => cloud?.stop());
beforeEach(() => cloud.pass(61000));
const { connected, lamp, signedIn } = scenes(() => cloud);

/** @param {string} di */
const reasons = (di) =>
  cloud.events.presence.filter((event) => event.di === di).map(({ state, reason }) => `${state} ${reason}`);

test('a stolen refresh token is reported, and ends the session of the device after a while', async () => {
  const device = await signedIn(newUser());
  const old = device.refreshToken;
  await device.refresh();
  await device.signIn();
  const thief = (await connected()).as(device);
  await thief.refresh(old);
  expect(cloud.events.tokenReused).toEqual([
    { di: device.di, uid: device.uid, address: expect.stringMatching(/^127\.0\.0\.1:/) }
  ]);
  expect((await device.request('GET', '/oic/res')).code).toBe('2.05');
  await cloud.pass(31000);
  expect((await device.request('GET', '/oic/res')).code).toBe('4.01');
  await cloud.pass(31000);
  await device.closed;
  await eventually(() => reasons(device.di).length === 2, 'the presence event');
  expect(reasons(device.di)).toEqual(['on signedIn', 'off revoked']);
});

test('a connection that asked to be watched is closed when it is silent', async () => {
  const device = await signedIn(newUser());
  expect((await device.request('PUT', '/oic/ping', { body: { in: 1 } })).code).toBe('2.03');
  await cloud.pass(60000);
  expect((await device.request('GET', '/oic/ping')).code).toBe('2.05');
  await cloud.pass(60000);
  expect((await device.request('GET', '/oic/res')).code).toBe('2.05');
  await cloud.pass(67000);
  await device.closed;
  await eventually(() => reasons(device.di).length === 2, 'the presence event');
  expect(reasons(device.di)).toEqual(['on signedIn', 'off silent']);
});

test('a controller that leaves ends its observation at the device', async () => {
  const user = newUser();
  const device = await lamp(user);
  const controller = await signedIn(user);
  await controller.request('GET', device.href, { observe: 0, onNext: () => {} });
  expect(device.observers).toHaveLength(1);
  controller.destroy();
  await eventually(() => device.observers.length === 0, 'the end at the device');
  expect(cloud.cloud.route.observations).toBe(0);
});

test('an observation that ends before its first answer is answered, too', async () => {
  const user = newUser();
  const device = await lamp(user);
  const controller = await signedIn(user);
  device.serve = () => undefined;
  const open = controller.request('GET', device.href, { observe: 0 });
  await eventually(() => device.requests.length === 1, 'the request at the device');
  await controller.request('POST', '/oic/sec/session', { body: {} });
  expect((await open).code).toBe('5.03');
  // The device gets the end of the observation, as far as it knows of it.
  await eventually(() => device.requests.some(({ observe }) => observe === 1), 'the end at the device');
});

test('a guest sees the presence of a shared device, and its observation ends with the share', async () => {
  const device = await lamp(newUser());
  const guest = await signedIn(newUser());
  expect(await cloud.cloud.share(device.di, guest.uid, 'r')).toBe('');
  expect(await cloud.cloud.share(device.di, device.uid, 'r')).toBe('owner');
  expect(await cloud.cloud.share(randomUUID(), guest.uid, 'r')).toBe('device');
  const list = await guest.request('GET', '/oic/prs', { query: [`di=${device.di}`] });
  expect(list.value.prslist).toEqual([{ di: device.di, state: 'on' }]);
  const seen = [];
  const watch = { observe: 0, onNext: ({ code }) => seen.push(code) };
  expect((await guest.request('GET', device.href, watch)).code).toBe('2.05');
  await cloud.cloud.share(device.di, guest.uid, '');
  await eventually(() => seen.length > 0, 'the end of the observation');
  expect(seen).toEqual(['4.03']);
  await eventually(() => device.observers.length === 0, 'the end at the device');
  expect((await guest.request('GET', '/oic/prs')).value.prslist.map(({ di }) => di)).not.toContain(device.di);
});

test('a deleted device ends what controllers observe with 4.04', async () => {
  const user = newUser();
  const device = await lamp(user);
  const controller = await signedIn(user);
  const seen = [];
  await controller.request('GET', device.href, { observe: 0, onNext: ({ code }) => seen.push(code) });
  const query = [`di=${device.di}`, `accesstoken=${device.access}`];
  expect((await controller.request('DELETE', '/oic/sec/account', { query })).code).toBe('2.02');
  await device.closed;
  await eventually(() => seen.length > 0, 'the end of the observation');
  expect(seen).toEqual(['4.04']);
});

test('clients that vanish at any moment leave no session, observation or error', async () => {
  const user = newUser();
  const { next } = seeded(3);
  const device = await lamp(user);
  const known = await signedIn(user);
  await known.request('PUT', '/oic/ps/a');
  const body = { di: known.di, uid: known.uid, accesstoken: known.access, login: true };
  for (let i = 0; i < 60; i++) {
    const client = await Client.open(cloud);
    // Nobody waits for the answers.
    const send = (...args) => void client.request(...args).catch(() => {});
    send('POST', '/oic/sec/session', { body });
    const steps = [
      () => send('GET', device.href, { observe: 0, onNext: () => {} }),
      () => send('GET', '/oic/prs', { observe: 0, onNext: () => {} }),
      () => send('GET', '/oic/ps/a', { observe: 0, onNext: () => {} }),
      () => send('POST', '/oic/ps/a', { body: { i } }),
      () => send('GET', '/oic/res'),
      () => send('POST', '/oic/sec/session', { body: {} }),
      () => send('POST', '/oic/sec/session', { body })
    ];
    for (let k = 0; k < next() * 8; k++) steps[Math.floor(next() * steps.length)]();
    if (next() < 0.5) await new Promise((resolve) => setTimeout(resolve, next() * 8));
    client.destroy();
  }
  known.destroy();
  const { sessions, route } = cloud.cloud;
  await eventually(() => sessions.size === 1, 'the end of all connections but one');
  await eventually(
    () => route.observations === 0 && device.observers.length === 0,
    'the end of all observations'
  );
  expect(sessions.of(known.di)).toBe(undefined);
  expect(cloud.problems()).toEqual([]);
  expect((await device.request('GET', '/oic/ps')).value).toEqual({ topiclist: ['/oic/ps/a'] });
});

test('an answer that the desk does not take becomes 5.02', async () => {
  const user = newUser();
  const device = await lamp(user);
  const controller = await signedIn(user);
  const send = cloud.desk.answer.bind(cloud.desk);
  jest.spyOn(cloud.desk, 'answer').mockImplementation((...all) => {
    if (all[2] !== '5.02') throw new RangeError('The answer is too large.');
    return send(...all);
  });
  expect((await controller.request('GET', device.href)).code).toBe('5.02');
  jest.restoreAllMocks();
  expect((await controller.request('GET', device.href)).code).toBe('2.05');
  expect(cloud.problems().splice(0)).toMatchObject([{ message: 'The answer is too large.' }]);
});

test('what is to be done later is not done after the end', async () => {
  const own = await startControlPlane();
  const timers = jest.spyOn(global, 'setTimeout');
  own.cloud.close();
  own.cloud.later(54321, () => {});
  expect(timers.mock.calls.filter(([, ms]) => ms === 54321)).toEqual([]);
  jest.restoreAllMocks();
  await own.stop();
});
