'use strict';
// Posts to /oic/ps that the engine makes records of without JavaScript, with the ocf cloud node in a gateway.

const { problemOf } = require('../../../nodes/lib/ocf/cloud/cbor-bounds');
const { CBOR, OCF, encode, uint } = require('../../../flows/demo/ocf/client');
const { seeded } = require('../../fixtures/random');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(60000);

const [MAX_AGE, NO_RESPONSE, BLOCK1] = [14, 258, 27];
const BODIES = 400;

describe('a post to a topic', () => {
  let cloud;
  const { connected, signedIn } = scenes(() => cloud);
  const recorded = async () => (await cloud.gateway.stats('engine')).counters.requestsRecorded;

  beforeAll(async () => {
    cloud = await startGatewayCloud();
  });
  afterAll(() => cloud?.stop());

  /** @param {string} [user] */
  async function withTopic(user = newUser()) {
    const device = await signedIn(user);
    expect((await device.request('PUT', '/oic/ps/a/b')).code).toBe('2.01');
    return device;
  }

  test('gets 2.04 without a payload, and is the latest value for every connection of the user', async () => {
    const user = newUser();
    const device = await withTopic(user);
    const other = await signedIn(user);
    const before = await recorded();
    expect((await device.request('GET', '/oic/ps/a/b')).value).toEqual({});
    for (let mark = 0; mark < 20; mark++) {
      const poster = mark % 3 === 0 ? other : device;
      const answer = await poster.request('POST', '/oic/ps/a/b', { body: { mark } });
      expect(answer).toMatchObject({ code: '2.04', options: [] });
      expect(answer.payload).toHaveLength(0);
      const reader = mark % 2 === 0 ? other : device;
      expect((await reader.request('GET', '/oic/ps/a/b')).value).toEqual({ mark });
    }
    expect(await recorded()).toBe(before + 20);
  });

  test('that JavaScript takes has the same effect, and keeps its place among the others', async () => {
    const user = newUser();
    const device = await withTopic(user);
    const reader = await signedIn(user);
    const heard = [];
    const onNext = ({ value }) => heard.push(value.mark);
    const first = await reader.request('GET', '/oic/ps/a/b', { observe: 0, onNext });
    expect(first).toMatchObject({ code: '2.05', value: {} });
    const before = await recorded();
    const answers = [];
    for (let mark = 0; mark < 60; mark++) {
      const query = mark % 5 === 0 ? ['q=1'] : [];
      answers.push(device.request('POST', '/oic/ps/a/b', { body: { mark }, query }));
    }
    for (const { code } of await Promise.all(answers)) expect(code).toBe('2.04');
    expect(await recorded()).toBe(before + 48);
    await eventually(() => heard.length === 60, '60 notifications');
    expect(heard).toEqual(answers.map((_none, mark) => mark));
    expect((await reader.request('GET', '/oic/ps/a/b')).value).toEqual({ mark: 59 });
  });

  test('of several devices reaches each subscriber in the same order, from its first answer on', async () => {
    const user = newUser();
    const devices = [await withTopic(user), await signedIn(user), await signedIn(user)];
    let mark = 0;
    let stops = false;
    const post = async (device) => {
      while (!stops) {
        const own = ++mark;
        expect((await device.request('POST', '/oic/ps/a/b', { body: { own } })).code).toBe('2.04');
      }
    };
    const posting = Promise.all(devices.map(post));
    const subscribers = [];
    for (let i = 0; i < 4; i++) {
      const reader = await signedIn(user);
      const heard = [];
      const onNext = ({ value }) => heard.push(value.own);
      const { value } = await reader.request('GET', '/oic/ps/a/b', { observe: 0, onNext });
      heard.unshift(value.own);
      subscribers.push(heard);
    }
    const enough = mark + 30;
    await eventually(() => mark > enough, 'more posts');
    stops = true;
    await posting;
    const [reader] = devices;
    const last = (await reader.request('GET', '/oic/ps/a/b')).value.own;
    await eventually(() => subscribers.every((heard) => heard.at(-1) === last), 'the last post everywhere');
    const [all, ...rest] = subscribers;
    expect(new Set(all).size).toBe(all.length);
    for (const heard of rest) expect(heard).toEqual(all.slice(-heard.length));
  });

  test('keeps every code of the table', async () => {
    const device = await withTopic();
    const post = (options, path = '/oic/ps/a/b') => device.request('POST', path, options);
    const body = { t: 1 };
    const before = await recorded();
    expect((await post({ body }, '/oic/ps/none')).code).toBe('4.04');
    expect((await post({})).code).toBe('4.12');
    expect((await post({ payload: Buffer.from([1]) })).code).toBe('4.00');
    expect((await post({ body, format: 50 })).code).toBe('4.15');
    expect((await post({ body, accept: 50 })).code).toBe('4.06');
    expect((await post({ body, options: [[35, Buffer.from('coap://a')]] })).code).toBe('5.05');
    expect((await post({ body, options: [[2051, Buffer.from('a')]] })).code).toBe('4.02');
    expect((await post({ payload: Buffer.alloc(70000, 0xa0) })).code).toBe('4.00');
    expect(await recorded()).toBe(before);
    expect((await post({ body, format: CBOR, accept: null })).code).toBe('2.04');
    expect((await post({ body, format: OCF, accept: CBOR })).code).toBe('2.04');
    expect((await post({ body, format: null })).code).toBe('2.04');
    expect(await recorded()).toBe(before + 3);
    // What only JavaScript understands.
    expect((await post({ body, options: [[MAX_AGE, uint(9)]] })).code).toBe('2.04');
    expect((await post({ body, options: [[NO_RESPONSE, uint(16)]] })).code).toBe('2.04');
    expect((await post({ body, options: [[BLOCK1, uint(6)]] })).code).toBe('2.04');
    expect(await recorded()).toBe(before + 3);
    const stranger = await connected();
    expect((await stranger.request('POST', '/oic/ps/a/b', { body })).code).toBe('4.01');
    const guest = await signedIn(newUser());
    expect((await guest.request('POST', '/oic/ps/a/b', { body })).code).toBe('4.04');
    expect((await device.request('POST', '/oic/sec/session', { body: { login: false } })).code).toBe('2.04');
    expect((await post({ body })).code).toBe('4.01');
    expect((await device.signIn()).code).toBe('2.04');
    expect((await post({ body })).code).toBe('2.04');
    // In one write with its creation and its end, in their order.
    const codes = await Promise.all([
      device.request('DELETE', '/oic/ps/a/b'),
      post({ body }),
      device.request('PUT', '/oic/ps/a/b'),
      post({ body }),
      device.request('GET', '/oic/ps/a/b')
    ]);
    expect(codes.map(({ code }) => code)).toEqual(['2.02', '4.04', '2.01', '2.04', '2.05']);
    expect(cloud.problems()).toEqual([]);
  });

  test('has the same bodies, whether the engine or JavaScript checks them', async () => {
    const seed = Number(process.env.SEGANET_SEED ?? Date.now() % 1e9);
    const { next } = seeded(seed);
    const pick = (count) => Math.floor(next() * count);
    const value = (depth) => {
      const kinds = [
        () => pick(1e6) - 5e5,
        () => next(),
        () => 'ä€x'.repeat(pick(20)),
        () => Buffer.alloc(pick(40)),
        () => [true, false, null, undefined][pick(4)],
        () => Array.from({ length: pick(4) }, () => value(depth + 1)),
        () => Object.fromEntries(Array.from({ length: pick(4) }, (_none, i) => [`k${i}`, value(depth + 1)]))
      ];
      return kinds[pick(depth > 4 ? 5 : kinds.length)]();
    };
    const bytes = () => {
      const all = [...encode({ a: value(0), b: value(0) })];
      for (let changes = pick(4); changes > 0; changes--) {
        const at = pick(all.length);
        const heads = [0xff, 0xbf, 0x9f, 0x7f, 0x5f, 0xc1, 0xf8, 0x1f, 0xa1, 0x61, 0x41];
        const by = next() < 0.5 ? heads[pick(heads.length)] : pick(256);
        all.splice(at, pick(2), ...(next() < 0.7 ? [by] : []));
      }
      return Buffer.from(all);
    };
    const device = await withTopic();
    const before = await recorded();
    let good = 0;
    for (let i = 0; i < BODIES; i++) {
      const payload = bytes();
      if (payload.length === 0) continue;
      const isMap = problemOf(payload) === '' && payload[0] >> 5 === 5;
      good += isMap ? 1 : 0;
      const { code } = await device.request('POST', '/oic/ps/a/b', { payload });
      const about = `seed ${seed}, body ${i}: ${payload.toString('hex')}`;
      expect([about, code]).toEqual([about, isMap ? '2.04' : '4.00']);
    }
    expect(good).toBeGreaterThan(BODIES / 10);
    expect(await recorded()).toBe(before + good);
  });
});
