'use strict';
// What regions do when links, clocks, Kafka, or other gateways fail.

const tls = require('node:tls');
const { needs } = require('../../../../bench/harness/tools');
const { claimRecord } = require('../../../../nodes/lib/ocf/regions/presence-record');
const { RegionRig } = require('../../../fixtures/ocf/region-rig');
const { eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');

const { describe } = needs('openssl');
const HOUR_MS = 3600000;
const UNKNOWN_MS = 300;

jest.setTimeout(120000);

describe('regions that fail', () => {
  /** @type {RegionRig} */
  let rig;
  let a;
  let b;
  const here = scenes(() => a);
  const there = scenes(() => b);

  beforeEach(async () => {
    rig = new RegionRig();
    a = await rig.start({ unknownMs: UNKNOWN_MS });
    // Its clock is an hour behind.
    b = await rig.start({ unknownMs: UNKNOWN_MS, passed: -HOUR_MS });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await rig?.stop();
  });

  const answers = (client, device, code) =>
    eventually(async () => {
      const answer = await client.request('GET', device.href);
      return answer.code === code && answer;
    }, code);
  const watch = async (controller, device) => {
    const seen = [];
    const query = [`di=${device.di}`];
    const onNext = ({ value }) => seen.push(value.prslist[0].state);
    await controller.request('GET', '/oic/prs', { observe: 0, query, onNext });
    return seen;
  };

  test('a lost region: 5.03 for what is open and at once afterwards, unknown after a time, and back', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    await answers(controller, device, '2.05');
    const seen = await watch(controller, device);
    const ends = [];
    await controller.request('GET', device.href, { observe: 0, onNext: ({ code }) => ends.push(code) });
    device.serve = () => undefined;
    const open = controller.request('GET', device.href);
    await eventually(() => device.requests.length > 2, 'it is open');
    const { port, linkPort, own } = a;
    await a.kill();
    expect((await open).code).toBe('5.03');
    expect(ends).toEqual(['5.03']);
    const late = await controller.request('GET', device.href);
    expect(late.code).toBe('5.03');
    expect(late.options.some(([number]) => number === 14)).toBe(true);
    expect(b.cloud.stateOf(device.di)).toBe('on');
    await eventually(() => seen.includes('unknown'), 'it is unknown');
    expect(b.region.trouble).toBe('1 not reachable');
    expect(port).not.toBe(linkPort);
    // A new start of the same region: the device of the earlier run is off until it signs in.
    a = await rig.start({ port: linkPort, own });
    await eventually(() => seen.at(-1) === 'off', 'it is off');
    const again = (await here.connected()).as(device);
    again.serve = () => ({ body: { on: 'again' } });
    expect((await again.signIn()).code).toBe('2.04');
    expect((await answers(controller, device, '2.05')).value).toEqual({ on: 'again' });
    expect(seen.at(-1)).toBe('on');
  });

  test('a clock that is an hour behind does not lose a takeover', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await here.signedIn(user);
    await eventually(() => b.cloud.stateOf(device.di) === 'on', 'the other region knows it');
    const before = b.cloud.elsewhere.table.get(device.di).epoch;
    const moved = (await there.connected()).as(device);
    moved.serve = () => ({ body: { on: 'moved' } });
    expect((await moved.signIn()).code).toBe('2.04');
    await device.closed;
    expect((await answers(controller, device, '2.05')).value).toEqual({ on: 'moved' });
    expect(a.cloud.elsewhere.table.get(device.di)).toMatchObject({ ci: b.own, epoch: before + 1 });
  });

  test('without Kafka, presence does not change, requests continue, and the changes are written later', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    await answers(controller, device, '2.05');
    for (const region of [a, b]) region.log.away(true);
    expect(a.region.trouble).toBe('presence stands still (Kafka)');
    const other = await here.lamp(user);
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
    expect((await controller.request('GET', other.href)).code).toBe('5.03');
    await device.request('POST', '/oic/sec/session', { body: { login: false } });
    expect(b.cloud.stateOf(device.di)).toBe('on');
    expect((await controller.request('GET', device.href)).code).toBe('5.03');
    for (const region of [a, b]) region.log.away(false);
    await answers(controller, other, '2.05');
    await eventually(() => b.cloud.stateOf(device.di) === 'off', 'it is off');
    expect(b.region.trouble).toBe('');
  });

  test('the last record of a device in the topic is the one that counts', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    await eventually(() => b.cloud.stateOf(device.di) === 'on', 'the other region knows it');
    const own = rig.topic.last(device.di);
    // A record of another region that was written late.
    rig.topic.add([claimRecord(device.di, { uid: own.uid, ci: b.own, epoch: own.epoch - 5, isOn: false })]);
    await eventually(() => rig.topic.last(device.di).epoch === own.epoch, 'it is corrected');
    expect(rig.topic.last(device.di)).toEqual(own);
    expect(a.region.figures().counts.repeated).toBe(1);
    rig.topic.add([{ key: device.di, value: 'nonsense' }]);
    await eventually(() => a.region.figures().counts.invalid === 1, 'it is counted');
    expect(a.cloud.stateOf(device.di)).toBe('on');
  });

  test('a deleted device is off everywhere, and leaves an empty record', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    await answers(controller, device, '2.05');
    const seen = await watch(controller, device);
    await a.cloud.deleteDevice(device.di);
    await eventually(() => seen.includes('off'), 'the watcher sees it');
    expect(rig.topic.last(device.di)).toBeUndefined();
    expect(b.cloud.elsewhere.table.get(device.di)).toBeUndefined();
    // The region where it was last on is not the one that deletes it.
    const other = await here.lamp(user);
    await other.request('POST', '/oic/sec/session', { body: { login: false } });
    await eventually(() => b.cloud.elsewhere.table.get(other.di)?.isOn === false, 'it is off');
    await b.cloud.deleteDevice(other.di);
    expect(rig.topic.last(other.di)).toBeUndefined();
    await eventually(() => !a.cloud.elsewhere.table.get(other.di), 'it is forgotten');
  });

  test('a connection that reaches the other side replaces an attempt that never does', async () => {
    await rig.stop();
    rig = new RegionRig();
    const limits = { helloMs: 600000 };
    const both = [await rig.start({ limits }), await rig.start({ limits })];
    // The region with the smaller address connects first.
    [a, b] = both.sort((x, y) => (x.own < y.own ? -1 : 1));
    const connect = /** @type {any} */ (tls.connect);
    let held = 0;
    jest.spyOn(tls, 'connect').mockImplementation((/** @type {any} */ options) => {
      if (options.port !== b.linkPort) return connect(options);
      held++;
      return connect({ ...options, host: 'b.invalid', lookup: () => {} });
    });
    const user = newUser();
    const back = await there.lamp(user);
    await eventually(() => held === 1, 'the attempt');
    const device = await here.lamp(user);
    await answers(await there.signedIn(user), device, '2.05');
    await answers(await here.signedIn(user), back, '2.05');
    expect(held).toBe(1);
  });

  test('requests that go around in a ring end with 5.08', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const back = await there.lamp(user);
    const controller = await here.signedIn(user);
    const third = await rig.start();
    await eventually(
      () => third.region.figures().peers.filter(({ isUp }) => isUp).length === 2,
      'all regions are linked'
    );
    await answers(controller, back, '2.05');
    await device.request('POST', '/oic/sec/session', { body: { login: false } });
    await eventually(() => third.cloud.elsewhere.table.get(device.di)?.isOn === false, 'off everywhere');
    const ring = [a, b, third];
    // The third region has no devices, so it has links because the others have some.
    for (const [i, region] of ring.entries()) {
      const next = ring[(i + 1) % ring.length];
      region.cloud.elsewhere.table.merge(device.di, {
        uid: device.uid,
        ci: next.own,
        epoch: 2 ** 50,
        isOn: true
      });
    }
    await eventually(
      () => ring.every((each) => each.region.figures().peers.filter(({ isUp }) => isUp).length === 2),
      'links'
    );
    const answer = await controller.request('GET', device.href);
    expect(answer.code).toBe('5.08');
    expect(answer.value).toContain('hop limit');
    const observed = await controller.request('GET', device.href, { observe: 0 });
    expect(observed.code).toBe('5.08');
    for (const each of ring)
      expect(each.cloud.figures()).toMatchObject({ forwarded: 0, observations: { route: 0 } });
  });

  test('nothing is claimed and requests wait until the topic was read', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    await eventually(() => b.cloud.stateOf(device.di) === 'on', 'the other region knows it');
    const { Regions } = require('../../../../nodes/lib/ocf/regions/regions');
    const published = [];
    const early = new Regions({ own: a.own, cloud: a.cloud, publish: (all) => published.push(...all) });
    early.signedIn(device.di, device.uid);
    expect(() => early.check(device.di)).toThrow('does not know yet');
    expect(published).toEqual([]);
    const old = { uid: device.uid, ci: b.own, epoch: Date.now() + HOUR_MS, isOn: true };
    early.take([claimRecord(device.di, old)], false);
    early.ready();
    expect(published.map(({ value }) => JSON.parse(value))).toMatchObject([
      { ci: a.own, epoch: old.epoch + 1 }
    ]);
    early.close();
  });
});
