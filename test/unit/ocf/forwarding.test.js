'use strict';
// What the OCF cloud tells a desk that forwards requests itself: whose device it is, who else may use it, until when.

const { forwardOptions } = require('../../../nodes/lib/ocf/cloud/route-options');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

let cloud;
/** Calls of the desk, without those of other tests. @type {any[][]} */
let calls = [];
/** As forwardUntil: a time in the past. */
const OVER = 1;

/** @param {any} desk */
function prepareDesk(desk) {
  const identify = desk.identify.bind(desk);
  desk.identify = (connection, session) => {
    calls.push(['identify', session.owner, session.forwardUntil]);
    return identify(connection, session);
  };
  desk.grant = (_connection, owner, rights) => calls.push(['grant', owner, rights]);
  desk.revoke = (_connection, owner) => calls.push(['revoke', owner]);
  desk.settled = () => calls.push(['settled']);
}

beforeAll(async () => {
  cloud = await startControlPlane({ accessSeconds: -1 }, { prepareDesk });
});
afterAll(() => cloud?.stop());
beforeEach(async () => {
  await cloud.pass(61000);
  calls = [];
});
const { lamp, signedIn } = scenes(() => cloud);

test('the desk forwards to a device for its owner after the sign-in, and stops when the device is deleted', async () => {
  const device = await signedIn(newUser());
  // Nothing before the sign-in is checked.
  expect(calls).toEqual([
    ['identify', device.uid, OVER],
    ['identify', device.uid, 0]
  ]);
  calls = [];
  expect((await device.request('DELETE', '/oic/sec/account', { query: [`di=${device.di}`] })).code).toBe(
    '2.02'
  );
  expect(calls).toEqual([['identify', device.uid, OVER]]);
});

test('the desk learns the users of a shared device at its sign-in, and each change of them', async () => {
  const device = await signedIn(newUser());
  const guest = await signedIn(newUser());
  const other = await signedIn(newUser());
  calls = [];
  await cloud.cloud.share(device.di, guest.uid, 'r');
  await cloud.cloud.share(device.di, other.uid, 'rw');
  await cloud.cloud.share(device.di, guest.uid, 'rw');
  expect(calls).toEqual([
    ['grant', guest.uid, 'r'],
    ['grant', other.uid, 'rw'],
    ['grant', guest.uid, 'rw']
  ]);
  calls = [];
  await cloud.cloud.share(device.di, other.uid, '');
  await cloud.cloud.share(device.di, guest.uid, 'rw');
  expect(calls).toEqual([['revoke', other.uid]]);
  await device.request('POST', '/oic/sec/session', { body: { login: false } });
  calls = [];
  expect((await device.signIn()).code).toBe('2.04');
  expect(calls).toEqual([
    ['identify', device.uid, OVER],
    ['grant', guest.uid, 'rw'],
    ['identify', device.uid, 0]
  ]);
  calls = [];
  await cloud.cloud.deleteDevice(device.di);
  expect(calls).toEqual([
    ['identify', device.uid, OVER],
    ['revoke', guest.uid]
  ]);
});

test('the desk learns shares that another process changes', async () => {
  const device = await signedIn(newUser());
  const guest = await signedIn(newUser());
  calls = [];
  await cloud.store.write('share', { di: device.di, uid: guest.uid, rights: 'r' });
  const { Upkeep } = require('../../../nodes/lib/ocf/cloud/upkeep');
  await new Upkeep(cloud.cloud).reconcile();
  await eventually(() => calls.length > 0, 'the grant');
  expect(calls).toEqual([['grant', guest.uid, 'r']]);
});

test('the desk does not forward for a connection that uses /oic/ping', async () => {
  const device = await signedIn(newUser());
  calls = [];
  expect((await device.request('PUT', '/oic/ping', { body: { in: 1 } })).code).toBe('2.03');
  expect(calls).toEqual([['identify', device.uid, OVER]]);
  calls = [];
  expect((await device.signIn()).code).toBe('2.04');
  expect(calls.map(([, , until]) => until)).toEqual([OVER, OVER]);
});

test('the desk forwards until the earlier end of a session whose tokens are revoked', async () => {
  const device = await signedIn(newUser());
  const old = device.refreshToken;
  await device.refresh();
  await device.signIn();
  calls = [];
  expect((await device.refresh(old)).code).toBe('4.01');
  expect(calls).toEqual([['identify', device.uid, cloud.cloud.sessions.of(device.di).until]]);
});

test('JavaScript settles a request that it passes on, and not one that it refuses', async () => {
  const user = newUser();
  const device = await lamp(user);
  const controller = await signedIn(user);
  calls = [];
  expect((await controller.request('GET', device.href)).code).toBe('2.05');
  expect((await controller.request('GET', device.href, { accept: 0 })).code).toBe('4.06');
  expect(calls).toEqual([['settled']]);
});

test('the rules for the engine are those of JavaScript', () => {
  expect(forwardOptions(700)).toMatchObject({
    prefix: 'oic/route',
    timeoutMs: 700,
    mostQueries: 32,
    format: { value: 10000, alias: 60, acceptOption: 2049, contentOption: 2053, version: 2048 }
  });
  expect(forwardOptions(700).options.slice(0, 3)).toEqual([
    [1, 0, 8, 8],
    [4, 1, 8, 8],
    [5, 0, 0, 1]
  ]);
});
