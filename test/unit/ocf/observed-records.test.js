'use strict';
// Published resources that become records, against the control plane over a test transport.

const { decode } = require('../../../nodes/lib/ocf/cloud/bodies');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { ABOUT, LIGHT, eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(60000);

let cloud;
/** Reads of links that still fail. */
let failures = 0;
/** Reads of links, failed ones included. */
let reads = 0;
const failing = (store) =>
  new Proxy(store, {
    get(target, name) {
      if (name !== 'read')
        return typeof target[name] === 'function' ? target[name].bind(target) : target[name];
      return async (operation, ...input) => {
        if (operation !== 'linksOf') return target.read(operation, ...input);
        reads++;
        if (failures-- > 0) throw new Error('The database is too busy.');
        return target.read(operation, ...input);
      };
    }
  });
beforeAll(async () => {
  cloud = await startControlPlane({ recordTypes: ['core.light'], requestTimeoutMs: 1000 }, { wrap: failing });
});
beforeEach(() => {
  failures = reads = 0;
});
afterAll(() => cloud?.stop());
const { lamp, signedIn } = scenes(() => cloud);

const valuesOf = ({ di }) =>
  cloud.desk.records.filter(({ device }) => device === di).map(({ payload }) => decode(payload).on);
const observes = ({ requests }) => requests.filter(({ observe }) => observe === 0);
const recorded = (device, values) =>
  eventually(() => JSON.stringify(valuesOf(device)) === JSON.stringify(values), `records ${values}`);

test('each notification of a published resource of the type becomes a record of the device', async () => {
  const user = newUser();
  const device = await lamp(user);
  await recorded(device, [false]);
  const controller = await signedIn(user);
  await controller.request('POST', device.href, { body: { on: true } });
  await recorded(device, [false, true]);
  const { topic } = cloud.desk.records.find((each) => each.device === device.di);
  expect(topic).toBe(`${device.di}${LIGHT.href}`);
  expect(observes(device).map(({ path }) => path)).toEqual([LIGHT.href]);
});

test('a resource that is not observable is not observed', async () => {
  const device = await signedIn(newUser());
  await device.publish([{ ...LIGHT, p: { bm: 1 } }, { ...LIGHT, href: '/light/2', p: undefined }, ABOUT]);
  await device.ping();
  await eventually(() => cloud.cloud.observedRecords.size === 0, 'nothing is observed');
  expect(device.requests).toEqual([]);
});

test('all observable resources are records while somebody asks for the device, also after a new sign-in', async () => {
  const device = await lamp(newUser());
  const other = { ...LIGHT, href: '/dimmer', rt: ['core.dimmer'] };
  await recorded(device, [false]);
  device.serve = ({ observe }) => ({ observe: observe === 0 ? 2 : undefined, body: { on: true } });
  await device.publish([LIGHT, other]);
  const { observedRecords } = cloud.cloud;
  const ends = [observedRecords.ask(device.di), observedRecords.ask(device.di)];
  const isObserved = (/** @type {number} */ times) => () =>
    observes(device).filter(({ path }) => path === '/dimmer').length === times;
  await eventually(isObserved(1), 'the other resource');
  ends[0]();
  await device.request('POST', '/oic/sec/session', { body: { login: false } });
  expect((await device.signIn()).code).toBe('2.04');
  await eventually(isObserved(2), 'the other resource again');
  expect(observedRecords.size).toBe(2);
  ends[1]();
  await eventually(() => observedRecords.size === 1, 'only the chosen type');
});

test('it ends with the link and the session, and begins again with the next sign-in', async () => {
  const device = await lamp(newUser());
  await recorded(device, [false]);
  await device.request('POST', '/oic/sec/session', { body: { login: false } });
  await eventually(() => device.requests.some(({ observe }) => observe === 1), 'the end of the observation');
  expect((await device.signIn()).code).toBe('2.04');
  await recorded(device, [false, false]);
  await device.request('DELETE', '/oic/rd', { query: [`di=${device.di}`] });
  await eventually(() => device.requests.filter(({ observe }) => observe === 1).length === 2, 'its end');
  expect(cloud.cloud.observedRecords.size).toBe(0);
});

test('it ends with the time to live of the link', async () => {
  const device = await signedIn(newUser());
  device.serve = ({ observe }) => ({ observe: observe === 0 ? 2 : undefined, body: { on: true } });
  await device.publish([LIGHT], 5);
  await recorded(device, [true]);
  await cloud.pass(6000);
  await eventually(() => device.requests.some(({ observe }) => observe === 1), 'its end');
});

test('observes at most 32 resources of a device, 4 at a time, and names the limit', async () => {
  const device = await signedIn(newUser());
  const held = [];
  device.serve = (request) => void held.push(request);
  await device.publish(Array.from({ length: 40 }, (_none, i) => ({ ...LIGHT, href: `/light/${i}` })));
  await eventually(() => held.length === 4, 'the first four');
  await device.ping();
  expect(held).toHaveLength(4);
  device.serve = () => ({ observe: 2, body: { on: true } });
  for (const { token } of held) device.respond(token, { observe: 2, body: { on: true } });
  await eventually(() => valuesOf(device).length === 32, '32 records');
  await device.ping();
  expect(observes(device)).toHaveLength(32);
});

test('a device that refuses gets another request when it publishes', async () => {
  const device = await signedIn(newUser());
  device.serve = () => ({ code: '4.05' });
  await device.publish([LIGHT]);
  await eventually(() => observes(device).length === 1, 'the request');
  device.serve = () => ({ observe: 2, body: { on: true } });
  await device.publish([LIGHT]);
  await recorded(device, [true]);
});

test('a value that the engine has no room for becomes a record later', async () => {
  const { save } = cloud.desk;
  let refused = 0;
  cloud.desk.save = async () => (refused++ > 0 ? save() : 'full');
  const device = await lamp(newUser());
  await recorded(device, [false]);
  expect(refused).toBe(2);
  cloud.desk.save = save;
});

describe('when the store fails', () => {
  const problems = () =>
    cloud
      .problems()
      .splice(0)
      .map(({ message }) => message);

  test('a device whose links could not be read is observed when the store works again', async () => {
    const device = await signedIn(newUser());
    device.serve = ({ observe }) => ({ observe: observe === 0 ? 2 : undefined, body: { on: true } });
    failures = 1;
    await device.publish([LIGHT]);
    await recorded(device, [true]);
    expect(problems()).toEqual(['The database is too busy.']);
  });

  test('it reports one problem for all devices, and reads less often the longer it lasts', async () => {
    const { observedRecords } = cloud.cloud;
    for (const device of [await lamp(newUser()), await lamp(newUser())]) {
      await device.publish([{ ...LIGHT, href: '/light/2' }], 60);
    }
    await eventually(() => observedRecords.size === 4, 'two resources of each device are observed');
    failures = Infinity;
    reads = 0;
    await cloud.pass(61000);
    for (let tick = 0; tick < 200; tick++) {
      observedRecords.expire();
      await new Promise((resolve) => setImmediate(resolve));
    }
    // Each device at once, after 1, 3, 7, 15, 31 and 63 ticks, and then after each 32.
    expect(reads).toBeGreaterThanOrEqual(2 * 10);
    expect(reads).toBeLessThanOrEqual(2 * 12);
    expect(problems()).toEqual(['The database is too busy.']);
    failures = 0;
    for (let tick = 0; tick < 33; tick++) observedRecords.expire();
    await eventually(() => observedRecords.size === 2, 'links that have expired are no longer observed');
    expect(problems()).toEqual([]);
  });
});
