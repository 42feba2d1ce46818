'use strict';
// Which claims a region writes and keeps while devices sign in, connections end, and the topic is read again.

const { Links } = require('../../../../nodes/lib/ocf/regions/links/links');
const { claimRecord } = require('../../../../nodes/lib/ocf/regions/presence-record');
const { Regions } = require('../../../../nodes/lib/ocf/regions/regions');
const { startControlPlane } = require('../../../fixtures/ocf/control-plane');
const { eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');

jest.setTimeout(60000);
const OWN = 'coaps+tcp://a.example:5684';
const OTHER = 'coaps+tcp://b.example:5684';
const DI = '0f1b9a52-75dc-4a27-9b4b-0d0e8c1f7a11';
const HOUR_MS = 3600000;
const UID = '5b7ff4b1-3a4f-4d8e-bc55-a6c5d1b87f0a';

let cloud;
let regions;
let published;
beforeEach(async () => {
  cloud = await startControlPlane({ accessSeconds: -1 });
  published = [];
  regions = new Regions({ own: OWN, cloud: cloud.cloud, publish: (all) => published.push(...all) });
  cloud.cloud.elsewhere = regions;
  regions.ready();
});
afterEach(async () => {
  jest.restoreAllMocks();
  regions.close();
  await cloud.stop();
});
const { connected, signedIn } = scenes(() => cloud);

const claim = (epoch, ci = OTHER, isOn = true, uid = UID) => ({ uid, ci, epoch, isOn });
const DELETED = { key: DI, value: null };
const written = () => published.splice(0).map(({ key, value }) => ({ key, ...JSON.parse(value ?? 'null') }));
const presence = (di) =>
  cloud.events.presence.filter((event) => event.di === di).map(({ state, reason }) => `${state} ${reason}`);

test('a connection that ends during its sign-in leaves the device off', async () => {
  const device = await connected();
  await device.signUp(await cloud.codeFor(newUser()));
  const { grants, sessions } = cloud.cloud;
  const find = grants.of.bind(grants);
  let isAsked = false;
  let goOn = () => {};
  const held = new Promise((resolve) => (goOn = () => resolve(undefined)));
  jest.spyOn(grants, 'of').mockImplementation(async (di) => {
    isAsked = true;
    await held;
    return find(di);
  });
  const handled = jest.spyOn(cloud.cloud.signIns, 'signIn');
  void device.signIn().catch(() => {});
  await eventually(() => isAsked, 'the sign-in reads the rights');
  device.destroy();
  await eventually(() => sessions.size === 0, 'the connection has ended');
  goOn();
  await handled.mock.results[0].value;
  expect(sessions.of(device.di)).toBeUndefined();
  expect(presence(device.di)).toEqual([]);
  expect(written()).toEqual([]);
  expect(regions.table.get(device.di)).toBeUndefined();
});

test('a repeated sign-in that the store fails turns the device off everywhere', async () => {
  const device = await signedIn(newUser());
  expect(written()).toMatchObject([{ key: device.di, ci: OWN, state: 'on' }]);
  jest.spyOn(cloud.cloud.grants, 'of').mockRejectedValueOnce(new Error('The store fails.'));
  expect((await device.signIn()).code).toBe('5.03');
  expect(presence(device.di)).toEqual(['on signedIn', 'off refused']);
  expect(written()).toMatchObject([{ key: device.di, ci: OWN, state: 'off' }]);
  expect((await device.signIn()).code).toBe('2.04');
  expect(presence(device.di).at(-1)).toBe('on signedIn');
});

test('a device that another region gives up with a newer claim, and that is here, is claimed again', async () => {
  const device = await signedIn(newUser());
  const { epoch } = regions.table.get(device.di);
  published.length = 0;
  regions.take([claimRecord(device.di, claim(epoch + HOUR_MS, OTHER, false, device.uid))]);
  expect(written()).toMatchObject([{ key: device.di, ci: OWN, epoch: epoch + HOUR_MS + 1, state: 'on' }]);
  expect(cloud.cloud.sessions.of(device.di)).toBeDefined();
});

test('a deleted device whose earlier claim is read again is not published again', () => {
  regions.take([claimRecord(DI, claim(1, OWN)), DELETED], false);
  regions.ready();
  regions.take([]);
  expect(written()).toEqual([]);
  expect(regions.table.get(DI)).toBeUndefined();
});

test('a deletion before the last claim that is read again ends nothing', () => {
  const links = { of: () => undefined, want: jest.fn(), unwant: jest.fn() };
  regions.use(/** @type {any} */ (links));
  regions.take([claimRecord(DI, claim(2))]);
  const changed = jest.spyOn(cloud.cloud.presence, 'changed');
  regions.take([claimRecord(DI, claim(1)), DELETED], false);
  expect(regions.stateOf(DI)).toBe('on');
  regions.take([claimRecord(DI, claim(2))], false);
  regions.ready();
  expect(regions.stateOf(DI)).toBe('on');
  expect(changed).not.toHaveBeenCalled();
  expect(links.unwant).not.toHaveBeenCalled();
  // At the end of the topic, a deletion counts.
  regions.take([DELETED]);
  expect(regions.stateOf(DI)).toBe('off');
  expect(changed).toHaveBeenCalledTimes(1);
});

test('a topic that was read again gets the claims of this region, because it may be new', async () => {
  const device = await signedIn(newUser());
  regions.take([claimRecord(DI, claim(1))]);
  const before = written();
  regions.ready();
  expect(written()).toEqual(before);
  expect(before).toMatchObject([{ key: device.di, ci: OWN, state: 'on' }]);
});

test('a port that is closed while it opens leaves no timer and no server', async () => {
  const filesMs = 12345;
  const nothing = () => {};
  const links = new Links({
    own: OWN,
    sid: () => UID,
    listen: { host: '127.0.0.1', port: 0 },
    secrets: /** @type {any} */ ({ read: () => ({}) }),
    names: [],
    asked: nothing,
    up: nothing,
    down: nothing,
    report: nothing,
    limits: { filesMs }
  });
  const timers = jest.spyOn(global, 'setInterval');
  const opening = links.listen();
  await links.close();
  expect(await opening).toBe(0);
  expect(timers.mock.calls.filter(([, ms]) => ms === filesMs)).toEqual([]);
});
