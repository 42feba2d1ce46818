'use strict';
// Two and three regions of one cloud, with real links and a presence topic in memory.

const { needs } = require('../../../../bench/harness/tools');
const { RELEASE } = require('../../../../flows/demo/ocf/coap-tcp');
const { RegionRig } = require('../../../fixtures/ocf/region-rig');
const { eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');

const { describe } = needs('openssl');
const USER_OPTION = 65002;

jest.setTimeout(120000);

describe('regions', () => {
  /** @type {RegionRig} */
  let rig;
  let a;
  let b;
  const here = scenes(() => a);
  const there = scenes(() => b);

  beforeAll(async () => {
    rig = new RegionRig();
    a = await rig.start();
    b = await rig.start();
  });
  afterAll(() => rig?.stop());

  /** A lamp at region a that region b knows, and a controller of the same user at b. */
  async function apart(user = newUser()) {
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    await known(b, device);
    return { user, device, controller };
  }

  const known = (region, device, state = 'on') =>
    eventually(
      () =>
        region.cloud.elsewhere.stateOf(device.di) === state &&
        (state !== 'on' || region.region.figures().peers.every(({ isUp }) => isUp)),
      `the region knows the device (${state})`
    );

  const watch = async (controller, device) => {
    const seen = [];
    const first = await controller.request('GET', '/oic/prs', {
      observe: 0,
      query: [`di=${device.di}`],
      onNext: ({ value }) => seen.push(value.prslist[0].state)
    });
    return { seen, first: first.value.prslist[0].state };
  };

  test('a controller finds, reads and changes a device at another region over one connection', async () => {
    const { device, controller } = await apart();
    const { value: links } = await controller.request('GET', '/oic/res', { query: ['rt=core.light'] });
    expect(links.map(({ href }) => href)).toEqual([device.href]);
    const read = await controller.request('GET', device.href, { query: ['if=oic.if.baseline'] });
    expect(read).toMatchObject({
      code: '2.05',
      value: { on: false, query: 'if=oic.if.baseline' },
      format: 10000
    });
    expect((await controller.request('POST', device.href, { body: { on: true } })).code).toBe('2.04');
    expect(device.state.on).toBe(true);
    expect((await controller.request('GET', '/oic/prs')).value.prslist).toContainEqual({
      di: device.di,
      state: 'on'
    });
    // The other direction uses the same link.
    const user = newUser();
    const back = await there.lamp(user);
    await known(a, back);
    expect((await (await here.signedIn(user)).request('GET', back.href)).code).toBe('2.05');
    expect(a.region.figures().peers).toMatchObject([{ isUp: true }]);
    expect(b.region.figures().peers).toMatchObject([{ isUp: true }]);
    const { accepted, connects } = b.region.figures().connections;
    expect(accepted + connects).toBe(1);
    expect(controller.requests).toEqual([]);
    // The device got no option of the link.
    expect(device.requests.flatMap(({ options }) => options.map(([number]) => number))).not.toContain(
      USER_OPTION
    );
  });

  test('the gateway of the controller decides about rights', async () => {
    const { device } = await apart();
    const stranger = await there.signedIn(newUser());
    expect((await stranger.request('GET', device.href)).code).toBe('4.03');
    await b.cloud.share(device.di, stranger.uid, 'r');
    expect((await stranger.request('GET', device.href)).code).toBe('2.05');
    expect((await stranger.request('POST', device.href, { body: { on: true } })).code).toBe('4.03');
  });

  test('an ordinary connection cannot name another user: the option of the link is ignored', async () => {
    const { device, controller } = await apart();
    const options = [[USER_OPTION, Buffer.from(controller.uid)]];
    for (const scene of [here, there]) {
      const stranger = await scene.signedIn(newUser());
      expect((await stranger.request('GET', device.href, { options })).code).toBe('4.03');
    }
    const asked = device.requests.length;
    const nobody = await there.connected();
    expect((await nobody.request('GET', device.href, { options })).code).toBe('4.01');
    expect(device.requests).toHaveLength(asked);
    expect((await controller.request('GET', device.href, { options })).code).toBe('2.05');
    expect(device.requests.at(-1).options.map(([number]) => number)).not.toContain(USER_OPTION);
  });

  test('an observation passes notifications, and ends at the device when the controller ends it', async () => {
    const { device, controller } = await apart();
    const seen = [];
    const token = Buffer.from([1, 2]);
    const first = await controller.request('GET', device.href, {
      token,
      observe: 0,
      onNext: ({ code, value }) => seen.push([code, value.on])
    });
    expect(first.code).toBe('2.05');
    expect(first.observe).toBeDefined();
    await controller.request('POST', device.href, { body: { on: true } });
    await eventually(() => seen.length === 1, 'the notification');
    expect(seen).toEqual([['2.05', true]]);
    controller.destroy();
    await eventually(() => device.requests.some(({ observe }) => observe === 1), 'the end at the device');
    expect(b.cloud.figures().observations.route).toBe(0);
    await eventually(() => a.cloud.figures().observations.route === 0, 'the end at its region');
  });

  test('a device that takes too long is 5.04, and a device without a session 5.03', async () => {
    const { device, controller } = await apart();
    device.serve = () => undefined;
    a.cloud.options.requestTimeoutMs = 300;
    expect((await controller.request('GET', device.href)).code).toBe('5.04');
    a.cloud.options.requestTimeoutMs = 10000;
    const { seen, first } = await watch(controller, device);
    expect(first).toBe('on');
    await device.request('POST', '/oic/sec/session', { body: { login: false } });
    await eventually(() => seen.includes('off'), 'the watcher at the other region sees it');
    expect((await controller.request('GET', device.href)).code).toBe('5.03');
    await device.signIn();
    await eventually(() => seen.at(-1) === 'on', 'it is on again');
    expect(seen).toEqual(['off', 'on']);
  });

  test('a sign-in at another region takes the device over: Release, and no "off" between', async () => {
    const { user, device, controller } = await apart();
    const near = await here.signedIn(user);
    const watchers = [await watch(controller, device), await watch(near, device)];
    const moved = (await there.connected()).as(device);
    moved.serve = () => ({ body: { on: 'moved' } });
    expect((await moved.signIn()).code).toBe('2.04');
    await device.closed;
    expect(device.signals).toContain(RELEASE);
    expect((await controller.request('GET', device.href)).value).toEqual({ on: 'moved' });
    await known(a, device);
    expect((await near.request('GET', device.href)).value).toEqual({ on: 'moved' });
    expect(rig.topic.last(device.di)).toMatchObject({ ci: b.own, state: 'on' });
    expect(watchers.map(({ seen }) => seen)).toEqual([[], []]);
    expect(a.region.figures().counts.takenOver).toBeGreaterThan(0);
  });
});
