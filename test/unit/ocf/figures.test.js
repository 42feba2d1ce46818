'use strict';
// The figures of an OCF cloud for the metrics and the live view.

const { randomUUID } = require('node:crypto');
const { resourceOf } = require('../../../nodes/lib/ocf/cloud/counts/tallies');
const { MOST_FAILURES } = require('../../../nodes/lib/ocf/cloud/attempts');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { ask, startProxy, tokenFor } = require('../../fixtures/ocf/http-client');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(60000);

test('names the resource of each path', () => {
  const cases = [
    ['oic/sec/account', 'account'],
    ['oic/account/session', 'session'],
    ['oic/route/x/light/1', 'route'],
    ['oic/ps/a/b', 'ps'],
    ['.well-known/core', 'core'],
    ['oic/sec/account/more', 'other'],
    ['oic', 'other'],
    ['', 'other'],
    ['x/rd', 'other'],
    ['rd', 'registration'],
    ['rd/1', 'registration'],
    ['rd-lookup/ep', 'lookup']
  ];
  for (const [path, name] of cases) expect([path, resourceOf(path.split('/'))]).toEqual([path, name]);
});

describe('the figures of a cloud', () => {
  let cloud;
  beforeAll(async () => {
    cloud = await startControlPlane({ requestTimeoutMs: 1000 }, { isThreaded: true });
  });
  afterAll(() => cloud?.stop());
  beforeEach(() => cloud.pass(61000));
  const { connected, lamp, signedIn } = scenes(() => cloud);
  const figures = () => cloud.cloud.figures();
  const count = (resource, code) =>
    figures().requests.find((row) => row.resource === resource && row.code === code)?.count ?? 0;

  test('count each request once, by its resource and the class of its answer', async () => {
    const user = newUser();
    const light = await lamp(user);
    const controller = await signedIn(user);
    const before = { sessions: count('session', '2.xx'), routes: count('route', '2.xx') };
    expect((await controller.request('GET', light.href, { observe: 0 })).code).toBe('2.05');
    expect(figures().observations.route).toBe(1);
    // A notification is not an answer.
    await light.request('POST', '/oic/sec/session', { body: { login: false } });
    expect(count('route', '2.xx')).toBe(before.routes + 1);
    expect(count('session', '2.xx')).toBe(before.sessions + 1);
    expect((await controller.request('GET', '/oic/nothing')).code).toBe('4.04');
    expect(count('other', '4.xx')).toBe(1);
  });

  test('follow devices, connections and observations until these end', async () => {
    await eventually(() => figures().on === 0, 'no device of another test is on');
    const start = figures();
    const device = await signedIn(newUser());
    await device.request('PUT', '/oic/ps/room');
    await device.request('GET', '/oic/ps/room', { observe: 0 });
    await device.request('GET', '/oic/prs', { observe: 0 });
    expect(figures()).toMatchObject({
      devices: start.devices + 1,
      on: start.on + 1,
      topics: start.topics + 1,
      observations: { presence: 1, topic: 1 }
    });
    expect((await device.request('DELETE', '/oic/ps/room')).code).toBe('2.02');
    expect(figures()).toMatchObject({ topics: start.topics, observations: { topic: 0 } });
    device.destroy();
    await eventually(() => figures().on === start.on, 'the device is off');
    expect(figures()).toMatchObject({ devices: start.devices + 1, observations: { presence: 0, topic: 0 } });
  });

  test('count forwarded requests until the device answers or its time is over', async () => {
    const user = newUser();
    const light = await lamp(user);
    const controller = await signedIn(user);
    light.serve = () => undefined;
    const answer = controller.request('GET', light.href);
    await eventually(() => figures().forwarded === 1, 'one open request');
    expect((await answer).code).toMatch(/^5\.0[34]$|^4\.04$/);
    expect(figures().forwarded).toBe(0);
  });

  test('count wrong attempts, those that were limited, and reused tokens', async () => {
    const before = figures();
    const client = await connected();
    const wrong = () =>
      client.request('POST', '/oic/sec/account', { body: { di: randomUUID(), accesstoken: 'wrong' } });
    for (let n = 0; n < MOST_FAILURES; n++) expect((await wrong()).code).toBe('4.01');
    expect((await wrong()).code).toBe('4.29');
    const { attempts } = figures();
    expect(attempts.wrong - before.attempts.wrong).toBe(MOST_FAILURES);
    expect(attempts.limited - before.attempts.limited).toBe(1);
    cloud.pass(61000);
    const device = await signedIn(newUser());
    const used = device.refreshToken;
    await device.refresh();
    await device.signIn();
    expect((await device.refresh(used)).code).toBe('4.01');
    expect(figures().tokensReused - before.tokensReused).toBe(1);
  });

  test('keep the latest refused requests without queries, which may have tokens', async () => {
    const client = await connected();
    const wrong = { body: { di: randomUUID(), accesstoken: 'secret' } };
    expect((await client.request('POST', '/oic/sec/account', wrong)).code).toBe('4.01');
    const query = [`di=${randomUUID()}`, 'accesstoken=secret'];
    expect((await client.request('DELETE', '/oic/sec/account', { query })).code).toBe('4.01');
    const [latest, before] = figures().refused;
    expect([latest.request, before.request]).toEqual(['DELETE /oic/sec/account', 'POST /oic/sec/account']);
    expect(before).toMatchObject({ code: '4.01', di: '', reason: 'The access code is not valid.' });
    expect(before.address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(JSON.stringify(figures())).not.toContain('secret');
    for (let n = 0; n < 30; n++) await client.request('GET', `/oic/${'x'.repeat(200)}`);
    expect(figures().refused.length).toBe(20);
    expect(figures().refused[0].request.length).toBeLessThan(140);
  });

  test('have the endpoints of the directory and the requests over HTTP', async () => {
    const user = newUser();
    const device = await signedIn(user);
    const proxy = await startProxy(cloud);
    try {
      const start = figures().endpoints;
      const links = { query: ['ep=node'], format: 40, accept: null, payload: Buffer.from('</t>;rt=temp') };
      const answer = await device.request('POST', '/rd', links);
      expect(answer.code).toBe('2.01');
      await eventually(() => figures().endpoints === start + 1, 'the endpoint is counted');
      device.serve = () => ({ code: '2.05', body: { on: true } });
      const token = await tokenFor(cloud, user);
      expect((await ask(proxy, `/hc/${device.di}/t`, { token })).status).toBe(200);
      expect((await ask(proxy, `/hc/${device.di}/t?accesstoken=secret`)).status).toBe(401);
      expect((await ask(proxy, `/hc/${device.di}/t`, { token: 'wrong' })).status).toBe(401);
      expect(proxy.figures()).toMatchObject({
        requests: [
          { code: '2xx', count: 1 },
          { code: '4xx', count: 2 }
        ],
        open: 0,
        streams: 0,
        refused: { missing: 1, wrong: 1, limited: 0 }
      });
      const [, before] = figures().refused;
      expect(before).toMatchObject({ request: `HTTP GET /hc/${device.di}/t`, code: '401' });
    } finally {
      await proxy.close();
    }
  });

  test('have the calls to the store and their time', async () => {
    const before = cloud.store.figures();
    await signedIn(newUser());
    const { read, write, waiting } = cloud.store.figures();
    expect(read.done).toBeGreaterThan(before.read.done);
    expect(write.done).toBeGreaterThan(before.write.done);
    expect(write.seconds).toBeGreaterThan(before.write.seconds);
    expect({ failed: read.failed + write.failed, waiting }).toEqual({ failed: 0, waiting: 0 });
  });
});

test('count calls to a store that has crashed as failed', async () => {
  const cloud = await startControlPlane({}, { isThreaded: true });
  try {
    cloud.store.crash();
    await expect(cloud.store.read('users')).rejects.toThrow('not available');
    expect(cloud.store.figures()).toMatchObject({ read: { failed: 1 }, waiting: 0 });
  } finally {
    await cloud.stop();
  }
});
