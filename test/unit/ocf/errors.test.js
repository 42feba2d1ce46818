'use strict';
// The error table of docs/use/ocf.md, line by line, and what reaches a device while something else is broken.

const { randomUUID } = require('node:crypto');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { Client } = require('../../../flows/demo/ocf/client');
const { LIGHT, eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(120000);

describe('the error table', () => {
  let cloud;
  beforeAll(async () => {
    cloud = await startControlPlane({ requestTimeoutMs: 1000, mostOpen: 4, mostDevices: 60 });
  });
  afterAll(() => cloud?.stop());
  // Wrong attempts are counted by address, which all clients share.
  beforeEach(() => cloud.pass(61000));
  const { connected, lamp, signedIn } = scenes(() => cloud);

  test('4.00: a body that is no map, or lacks a key, or has one of a wrong type', async () => {
    const client = await connected();
    const [di, uid] = [randomUUID(), randomUUID()];
    const cases = [
      ['/oic/sec/account', {}],
      ['/oic/sec/account', { di }],
      ['/oic/sec/account', { di, accesstoken: '' }],
      ['/oic/sec/account', { di: 'lamp', accesstoken: 'x' }],
      ['/oic/sec/account', { di: 1, accesstoken: 'x' }],
      ['/oic/sec/account', { di, accesstoken: 'x', authprovider: 7 }],
      ['/oic/sec/account', { di, accesstoken: 'x'.repeat(4097) }],
      ['/oic/sec/account', [di]],
      ['/oic/sec/session', { di, uid, accesstoken: 'x' }],
      ['/oic/sec/session', { di, uid, accesstoken: 'x', login: 'yes' }],
      ['/oic/sec/session', { di, uid, login: true }],
      ['/oic/sec/session', { di, accesstoken: 'x', login: true }],
      ['/oic/sec/tokenrefresh', { di, uid }],
      ['/oic/sec/tokenrefresh', { di, refreshtoken: 'x' }],
      ['/oic/sec/tokenrefresh', { di, uid, refreshtoken: 'x', granttype: 'password' }]
    ];
    for (const [path, body] of cases) {
      const answer = await client.request('POST', path, { body });
      expect([path, body, answer.code, answer.value.length > 0]).toEqual([path, body, '4.00', true]);
    }
    expect((await client.request('POST', '/oic/sec/account')).code).toBe('4.00');
    expect((await client.request('DELETE', '/oic/sec/account')).code).toBe('4.00');
    await client.ping();
  });

  test('4.00: a text with the character NUL, which PostgreSQL cannot store', async () => {
    const device = await lamp(newUser());
    const { di, uid } = device;
    const link = { ...LIGHT, ins: 0 };
    const cases = [
      ['/oic/sec/account', { di, accesstoken: 'x\0' }],
      ['/oic/sec/account', { di, accesstoken: 'x', devicetype: 'a\0b' }],
      ['/oic/sec/session', { di, uid, accesstoken: '\0', login: true }],
      ['/oic/sec/tokenrefresh', { di, uid, refreshtoken: '\0' }],
      ['/oic/rd', { di, ttl: 600, n: 'lamp\0', links: [link] }],
      ['/oic/rd', { di, ttl: 600, links: [{ ...link, href: '/a\0' }] }],
      ['/oic/rd', { di, ttl: 600, links: [{ ...link, rt: ['a\0'] }] }],
      ['/oic/acl/group', { gname: '\0' }]
    ];
    for (const [path, body] of cases) {
      const { code } = await device.request('POST', path, { body });
      expect([path, body, code]).toEqual([path, body, '4.00']);
    }
    expect((await device.request('GET', '/oic/res', { query: ['rt=a\0'] })).code).toBe('4.00');
    expect(cloud.problems()).toEqual([]);
  });

  test('4.00: a publish without links, with a wrong link, or with a wrong time to live', async () => {
    const device = await signedIn(newUser());
    const { di } = device;
    const links = [LIGHT];
    const bodies = [
      { di, ttl: 1, links: [] },
      { di, ttl: 1, links: 'x' },
      { di, ttl: 1, links: [null] },
      { di, ttl: 1, links: [[]] },
      { di, ttl: -1, links },
      { di, ttl: 1.5, links },
      { di, ttl: 2 ** 31, links },
      { di, links },
      { di, ttl: 1, links: [{ ...LIGHT, rt: 'core.light' }] },
      { di, ttl: 1, links: [{ ...LIGHT, rt: [''] }] },
      { di, ttl: 1, links: [{ ...LIGHT, if: [1] }] },
      ...['3', null, 3, [3], true].map((p) => ({ di, ttl: 1, links: [{ ...LIGHT, p }] })),
      ...['3', null, true, [3], {}, -1, 1.5, 2 ** 16, 2 ** 60].map((bm) => ({
        di,
        ttl: 1,
        links: [{ ...LIGHT, p: { bm } }]
      })),
      {
        di,
        ttl: 1,
        links: [Object.fromEntries([['href', '/a'], ...Array.from({ length: 16 }, (_, i) => [`k${i}`, 1])])]
      }
    ];
    for (const body of bodies) {
      expect([body, (await device.request('POST', '/oic/rd', { body })).code]).toEqual([body, '4.00']);
    }
    for (const p of [{}, { bm: 0 }, { bm: 2 ** 16 - 1, sec: true, port: 5684 }]) {
      const body = { di, ttl: 1, links: [{ ...LIGHT, p }] };
      expect([p, (await device.request('POST', '/oic/rd', { body })).code]).toEqual([p, '2.04']);
    }
    expect((await device.request('DELETE', '/oic/rd', { query: [`di=${di}`, 'ins=x'] })).code).toBe('4.00');
    expect((await device.request('DELETE', '/oic/rd')).code).toBe('4.00');
  });

  test('4.01: wrong code, wrong or foreign token, deletion without a proof; the connection stays', async () => {
    const device = await signedIn(newUser());
    const other = await connected();
    expect((await other.signUp('wrong')).code).toBe('4.01');
    other.as(device);
    expect((await other.signIn(device.refreshToken)).code).toBe('4.01');
    expect((await other.refresh(device.access)).code).toBe('4.01');
    const remove = (query) => other.request('DELETE', '/oic/sec/account', { query });
    expect((await remove([`di=${device.di}`])).code).toBe('4.01');
    expect((await remove([`di=${device.di}`, 'accesstoken=x'])).code).toBe('4.01');
    expect(
      (await remove([`di=${device.di}`, `accesstoken=${device.access}`, `uid=${randomUUID()}`])).code
    ).toBe('4.01');
    expect((await remove([`di=${randomUUID()}`, 'accesstoken=x'])).code).toBe('4.01');
    await other.ping();
    expect((await device.request('GET', '/oic/res')).code).toBe('2.05');
  });

  test('4.03: another device in publish, unpublish and sign-out; 4.04: no such resource, link or device', async () => {
    const device = await signedIn(newUser());
    const di = randomUUID();
    expect((await device.request('POST', '/oic/rd', { body: { di, ttl: 1, links: [LIGHT] } })).code).toBe(
      '4.03'
    );
    expect((await device.request('DELETE', '/oic/rd', { query: [`di=${di}`] })).code).toBe('4.03');
    const body = { di, uid: device.uid, accesstoken: device.access, login: false };
    expect((await device.request('POST', '/oic/sec/session', { body })).code).toBe('4.03');
    expect((await device.request('DELETE', '/oic/rd', { query: [`di=${device.di}`, 'ins=77'] })).code).toBe(
      '4.04'
    );
    for (const path of ['/none', '/oic', '/oic/route', `/oic/route/${device.di}`, '/oic/ps/none']) {
      expect([path, (await device.request('GET', path)).code]).toEqual([path, '4.04']);
    }
  });

  test('4.05, 4.06, 4.15: a method or format that a resource does not have', async () => {
    const device = await signedIn(newUser());
    const methods = {
      '/oic/sec/account': 'GET',
      '/oic/sec/session': 'GET',
      '/oic/sec/tokenrefresh': 'PUT',
      '/oic/rd': 'PUT',
      '/oic/res': 'POST',
      '/oic/prs': 'POST',
      '/oic/ps': 'POST',
      '/oic/ping': 'DELETE',
      '/.well-known/core': 'POST'
    };
    for (const [path, method] of Object.entries(methods)) {
      expect([path, (await device.request(method, path)).code]).toEqual([path, '4.05']);
    }
    expect((await device.request('GET', '/oic/res', { accept: 50 })).code).toBe('4.06');
    expect((await device.request('GET', '/.well-known/core', { accept: 50 })).code).toBe('4.06');
    expect((await device.request('POST', '/oic/rd', { body: {}, format: 50 })).code).toBe('4.15');
    const core = await device.request('GET', '/.well-known/core', { accept: null });
    expect(core).toMatchObject({
      code: '2.05',
      format: 40,
      value: expect.stringContaining('</oic/rd>;rt="oic.wk.rd"')
    });
  });

  test('5.03 with Max-Age: too many open requests to a device; others are answered', async () => {
    const user = newUser();
    const device = await lamp(user);
    const controller = await signedIn(user);
    const held = [];
    const { serve } = device;
    device.serve = (request) => void held.push(request);
    const open = Array.from({ length: 4 }, () => controller.request('GET', device.href));
    await eventually(() => held.length === 4, 'the requests at the device');
    const beyond = await controller.request('GET', device.href);
    expect(beyond.code).toBe('5.03');
    expect(beyond.options).toContainEqual([14, Buffer.from([1])]);
    for (const request of held) device.respond(request.token, serve(request));
    for (const answer of await Promise.all(open)) expect(answer.code).toBe('2.05');
    device.serve = serve;
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
  });

  test('requests of a connection take effect in their order', async () => {
    const user = newUser();
    const device = await lamp(user);
    const controller = await signedIn(user);
    cloud.cloud.grants.forget();
    const sent = Array.from({ length: 3 }, (_, i) =>
      controller.request(i === 1 ? 'GET' : 'POST', device.href, i === 1 ? {} : { body: { on: i === 0 } })
    );
    await Promise.all(sent);
    expect(device.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST']);
  });

  test('a 2.01 of a device names the new resource through the cloud', async () => {
    const device = await lamp(newUser());
    device.serve = () => ({
      code: '2.01',
      options: [
        [8, Buffer.from('scenes')],
        [8, Buffer.from('1')],
        [65001, Buffer.from('x')]
      ]
    });
    const answer = await device.request('POST', device.href, { body: { name: 'x' } });
    expect(answer.options.map(([number, value]) => [number, value.toString()])).toEqual(
      ['oic', 'route', device.di, 'scenes', '1'].map((segment) => [8, segment])
    );
  });

  test('a post whose record cannot be saved is 5.03 and reaches no subscriber; later ones do', async () => {
    const device = await signedIn(newUser());
    await device.request('PUT', '/oic/ps/a');
    const seen = [];
    await device.request('GET', '/oic/ps/a', { observe: 0, onNext: ({ value }) => seen.push(value) });
    const save = cloud.desk.save;
    cloud.desk.save = async () => {
      throw new Error('The disk is full.');
    };
    expect((await device.request('POST', '/oic/ps/a', { body: { t: 1 } })).code).toBe('5.03');
    for (const [outcome, code] of Object.entries({
      full: '5.03',
      notTaken: '5.03',
      lost: '5.03',
      notAllowed: '4.03',
      tooLong: '4.13',
      oddTopic: '4.00'
    })) {
      cloud.desk.save = async () => outcome;
      expect((await device.request('POST', '/oic/ps/a', { body: { t: 1 } })).code).toBe(code);
    }
    cloud.desk.save = save;
    expect((await device.request('POST', '/oic/ps/a', { body: { t: 2 } })).code).toBe('2.04');
    await eventually(() => seen.length > 0, 'the second post');
    expect(seen).toEqual([{ t: 2 }]);
    expect(cloud.desk.records.at(-1)).toMatchObject({ device: device.di, topic: 'ps/a' });
  });

  test('a topic of one user is none of another', async () => {
    const [alice, bob] = [await signedIn(newUser()), await signedIn(newUser())];
    await alice.request('PUT', '/oic/ps/rooms/1');
    expect((await bob.request('GET', '/oic/ps/rooms/1')).code).toBe('4.04');
    expect((await bob.request('GET', '/oic/ps')).value).toEqual({ topiclist: [] });
    expect((await bob.request('PUT', '/oic/ps/rooms/1')).code).toBe('2.01');
  });

  test('a connection may sign out and in again at once, also as another device', async () => {
    const user = newUser();
    const device = await lamp(user);
    const other = await connected();
    await other.signUp(await cloud.codeFor(user));
    const controller = await signedIn(user);
    await Promise.all([device.request('POST', '/oic/sec/session', { body: {} }), device.signIn()]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
    const asOther = { di: other.di, uid: other.uid, accesstoken: other.access, login: true };
    expect((await device.request('POST', '/oic/sec/session', { body: asOther })).code).toBe('2.04');
    expect((await controller.request('GET', device.href)).code).toBe('5.03');
    expect((await controller.request('GET', `/oic/route/${other.di}/light/1`)).code).toBe('2.05');
  });

  test('the presence events have their reasons', async () => {
    const device = await signedIn(newUser());
    await device.request('POST', '/oic/sec/session', { body: {} });
    await device.signIn();
    await device.request('DELETE', '/oic/sec/account', { query: [`di=${device.di}`] });
    await device.closed;
    const own = cloud.events.presence.filter(({ di }) => di === device.di);
    expect(own.map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      'on signedIn',
      'off signedOut',
      'on signedIn',
      'off deleted'
    ]);
  });
});

describe('what fails outside of the client', () => {
  const broken = () => Promise.reject(new Error('It cannot be reached.'));

  test('an unreachable identity provider is 5.03 with Max-Age at sign-up, and nothing is lost', async () => {
    let isUp = false;
    const users = {
      exchange: async (code) => (isUp ? { issuer: 'https://id.example', sub: code } : broken())
    };
    const cloud = await startControlPlane({}, { users });
    const device = await Client.open(cloud);
    const answer = await device.signUp('alice');
    expect(answer.code).toBe('5.03');
    expect(answer.options.some(([number]) => number === 14)).toBe(true);
    isUp = true;
    expect((await device.signUp('alice')).code).toBe('2.04');
    isUp = false;
    // The answer was lost: the code is known, so the provider is not asked again.
    expect((await device.signUp('alice')).code).toBe('2.04');
    device.destroy();
    await cloud.stop();
  });

  test('a store that fails is 5.03 for every request, never 4.01, and the session continues', async () => {
    let isUp = true;
    const wrap = (store) => ({
      ...store,
      read: (...args) => (isUp ? store.read(...args) : broken()),
      write: (...args) => (isUp ? store.write(...args) : broken()),
      takeChanges: async () => [],
      close: () => store.close()
    });
    const cloud = await startControlPlane({}, { wrap });
    const device = await Client.open(cloud);
    await device.signUp(await cloud.codeFor('alice'));
    await device.signIn();
    cloud.cloud.grants.forget();
    isUp = false;
    const { di } = device;
    const answers = [
      await device.signUp('code'),
      await device.signIn(),
      await device.refresh(),
      await device.publish([LIGHT]),
      await device.request('GET', '/oic/res'),
      await device.request('GET', '/oic/prs'),
      await device.request('DELETE', '/oic/rd', { query: [`di=${di}`] }),
      await device.request('DELETE', '/oic/sec/account', {
        query: [`di=${di}`, `accesstoken=${device.access}`]
      }),
      await device.request('GET', `/oic/route/${di}/light/1`)
    ];
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => '5.03'));
    isUp = true;
    expect((await device.refresh()).code).toBe('2.04');
    expect((await device.publish([LIGHT])).code).toBe('2.04');
    device.destroy();
    await cloud.stop();
  });

  test('a full cloud refuses a new device with 5.03, and takes a known one again', async () => {
    const cloud = await startControlPlane({ mostDevices: 1 });
    const [first, second] = [await Client.open(cloud), await Client.open(cloud)];
    expect((await first.signUp(await cloud.codeFor('alice'))).code).toBe('2.04');
    expect((await second.signUp(await cloud.codeFor('alice'))).code).toBe('5.03');
    expect((await first.signUp(await cloud.codeFor('alice'))).code).toBe('2.04');
    await first.signIn();
    expect((await first.request('DELETE', '/oic/sec/account', { query: [`di=${first.di}`] })).code).toBe(
      '2.02'
    );
    expect((await second.signUp(await cloud.codeFor('alice'))).code).toBe('2.04');
    for (const each of [first, second]) each.destroy();
    await cloud.stop();
  });

  test('a store with devices is not opened under another cloud id', async () => {
    const cloud = await startControlPlane({}, { sid: 'one' });
    const device = await Client.open(cloud);
    await device.signUp(await cloud.codeFor('alice'));
    device.destroy();
    await cloud.stop();
    await expect(startControlPlane({}, { sid: 'two', file: cloud.file })).rejects.toThrow(
      /belongs to the cloud one/
    );
  });

  test('a token without an end is -1', async () => {
    const cloud = await startControlPlane({ accessSeconds: -1 });
    const device = await Client.open(cloud);
    expect((await device.signUp(await cloud.codeFor('alice'))).value.expiresin).toBe(-1);
    expect((await device.signIn()).value.expiresin).toBe(-1);
    await cloud.pass(1e12);
    expect((await device.request('GET', '/oic/res')).code).toBe('2.05');
    device.destroy();
    await cloud.stop();
  });
});
