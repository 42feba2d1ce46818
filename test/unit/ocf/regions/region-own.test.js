'use strict';
// Requests, observations and records of a gateway itself, and what it shows, when devices are at another region.

const { needs } = require('../../../../bench/harness/tools');
const { listOf } = require('../../../../nodes/lib/ocf/node/cloud-lists');
const { RegionRig } = require('../../../fixtures/ocf/region-rig');
const { LIGHT, asLamp, eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');
const { decode, encode } = require('../../../../nodes/lib/ocf/cloud/bodies');

const { describe } = needs('openssl');

jest.setTimeout(60000);

describe('a gateway and devices at another region', () => {
  /** @type {RegionRig} */
  let rig;
  let a;
  let b;
  const here = scenes(() => a);
  const there = scenes(() => b);

  beforeEach(async () => {
    rig = new RegionRig();
    a = await rig.start({ unknownMs: 300 });
    b = await rig.start({ unknownMs: 300, options: { recordTypes: ['core.light'] } });
  });
  afterEach(async () => {
    await rig?.stop();
    expect([...a.problems(), ...b.problems()]).toEqual([]);
  });

  const linked = () => a.region.figures().peers.some(({ isUp }) => isUp);
  /** A lamp at region b that region a knows. */
  async function lampThere() {
    const device = await there.lamp(newUser());
    await eventually(
      () => a.cloud.elsewhere.stateOf(device.di) === 'on' && linked(),
      'region a knows the lamp'
    );
    return device;
  }
  const notify = (/** @type {any} */ lamp) => {
    for (const each of lamp.observers)
      lamp.respond(each.token, { observe: ++each.next, body: { ...lamp.state } });
  };
  const path = LIGHT.href.slice(1).split('/');
  const question = (/** @type {string} */ di, more = {}) => ({
    di,
    method: 'GET',
    path,
    query: [],
    payload: Buffer.alloc(0),
    timeoutMs: 2000,
    ...more
  });
  const failing = async (/** @type {Promise<any>} */ promise) => {
    const { reason, message } = await promise.then(
      () => ({ reason: 'none', message: '' }),
      (error) => error
    );
    return [reason, message];
  };

  test('a request of the gateway reads and changes a device there, or reports why it cannot', async () => {
    const device = await lampThere();
    const { ownRequests } = a.cloud;
    const read = await ownRequests.send(question(device.di));
    expect([read.code, decode(read.payload)]).toEqual([0x45, { on: false, query: '' }]);
    expect(read.options.map(([number]) => number)).not.toContain(65006);
    await ownRequests.send(question(device.di, { method: 'POST', payload: encode({ on: true }) }));
    expect(device.state.on).toBe(true);
    // An error of the device is its answer.
    expect((await ownRequests.send(question(device.di, { path: ['none'] }))).code).toBe(0x84);
    b.cloud.options.requestTimeoutMs = 100;
    device.serve = () => undefined;
    expect(await failing(ownRequests.send(question(device.di)))).toEqual(['timeout', expect.any(String)]);
    // The device goes while region a does not know it yet.
    a.log.away(true);
    device.destroy();
    await eventually(() => b.cloud.stateOf(device.di) === 'off', 'the lamp is off');
    expect(await failing(ownRequests.send(question(device.di)))).toEqual([
      'offline',
      'The device is offline.'
    ]);
    a.log.away(false);
    await eventually(() => a.cloud.stateOf(device.di) === 'off', 'region a knows');
    expect(await failing(ownRequests.send(question(device.di)))).toEqual([
      'offline',
      'The device is offline.'
    ]);
    expect(a.cloud.route.unanswered + b.cloud.route.unanswered).toBe(0);
  });

  test('an observation of the gateway follows a device from region to region', async () => {
    const device = await lampThere();
    const seen = [];
    const own = a.cloud.ownObservations.start(
      { di: device.di, path, query: [], timeoutMs: 2000 },
      {
        answered: ({ payload }) => seen.push(decode(payload).on),
        failed: ({ message }) => {
          throw new Error(message);
        }
      }
    );
    await eventually(() => seen.length === 1, 'the first value');
    device.state.on = true;
    notify(device);
    await eventually(() => seen.at(-1) === true, 'a notification from region b');
    // The device signs in at region a.
    const moved = asLamp(await here.connected()).as(device);
    expect((await moved.signIn()).code).toBe('2.04');
    await eventually(
      () => moved.requests.some(({ observe }) => observe === 0),
      'the observation at region a'
    );
    moved.state.on = false;
    notify(moved);
    await eventually(() => seen.at(-1) === false, 'a notification from region a');
    await eventually(() => b.cloud.route.observations === 0, 'the end of the observation at region b');
    // And back.
    const back = asLamp(await there.connected()).as(device);
    back.state.on = true;
    expect((await back.signIn()).code).toBe('2.04');
    await eventually(() => seen.at(-1) === true, 'the value from region b');
    // Region b is killed and starts again.
    await b.kill();
    b = await rig.start({ port: b.linkPort });
    const again = asLamp(await there.connected()).as(back);
    expect((await again.signIn()).code).toBe('2.04');
    await eventually(() => again.observers.length === 1, 'the observation over a new link', 20000);
    own.end();
    await eventually(() => b.cloud.route.observations === 0, 'the end at the device');
  });

  test('only the gateway where the device is signed in records its resources', async () => {
    const device = await lampThere();
    const records = () => [a, b].map(({ desk }) => desk.records.length);
    await eventually(() => records()[1] === 1, 'the first record');
    device.state.on = true;
    notify(device);
    await eventually(() => records()[1] === 2, 'the second record');
    expect(records()).toEqual([0, 2]);
  });

  test('shows the regions with their links, the devices there, and the last reason', async () => {
    const device = await lampThere();
    const rowsOf = async () => (await listOf(a.cloud, { show: 'devices', q: '', page: 1, size: 25 })).rows;
    expect(await rowsOf()).toMatchObject([{ di: device.di, on: false, state: 'on', region: b.own }]);
    const [peer] = a.region.figures().peers;
    expect(peer).toMatchObject({ ci: b.own, isUp: true, devices: 1, isUnknown: false });
    expect(a.cloud.now() - peer.since).toBeLessThan(60000);
    await b.kill();
    await eventually(() => a.region.figures().peers[0].isUnknown, 'the region counts as unknown');
    expect(a.region.figures().peers).toMatchObject([
      { ci: b.own, isUp: false, devices: 1, reason: expect.stringMatching(/\w/) }
    ]);
    await eventually(
      () => a.region.figures().peers[0].reason === 'ECONNREFUSED',
      'the reason of the last attempt'
    );
    expect(await rowsOf()).toMatchObject([{ state: 'unknown', region: b.own }]);
    expect(await failing(a.cloud.ownRequests.send(question(device.di)))).toEqual([
      'busy',
      'The region of the device cannot be reached.'
    ]);
  });
});
