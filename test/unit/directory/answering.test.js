'use strict';

const { Answering } = require('../../../nodes/lib/directory/answering');
const { rank } = require('../../../nodes/lib/directory/ranking');
const { readQuestion } = require('../../../nodes/lib/directory/question');
const { Values } = require('../../../nodes/lib/directory/values');

const usual = { maxAgeS: 60, askMs: 5000 };
const facts = (id, seenMs, rssi, cls, more = {}) => ({
  id,
  name: 't',
  seenMs,
  rssi,
  cls,
  isMade: true,
  ...more
});
const order = (...list) => rank(list).map(({ id }) => id);

describe('the ranking', () => {
  test('prefers what was seen lately, in steps, then the signal, the class, posted things and the id', () => {
    expect(order(facts('a', 11000, -40, 1), facts('b', 9000, -90, 4))).toEqual(['b', 'a']);
    expect(order(facts('a', 9000, -80, 1), facts('b', 1000, -60, 4))).toEqual(['b', 'a']);
    expect(order(facts('a', 1, -61, 3), facts('b', 9000, -69, 2))).toEqual(['b', 'a']);
    expect(order(facts('b', 1, null, 2), facts('a', 1, null, 2))).toEqual(['a', 'b']);
    expect(order(facts('a', 1, null, 2), facts('b', 1, null, 2, { isMade: false }))).toEqual(['b', 'a']);
    expect(order(facts('a', Infinity, -40, 1), facts('b', 1e9, null, 0))).toEqual(['b', 'a']);
    expect(order(facts('a', 1, null, 0), facts('b', 1, -75, 1), facts('c', 1, -65, 1))).toEqual([
      'c',
      'a',
      'b'
    ]);
  });

  test('does not depend on the order of the candidates', () => {
    let seed = 11;
    const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
    const list = Array.from({ length: 200 }, (_, i) =>
      facts(`d${i}`, random(5) * 30000, random(3) ? -40 - random(60) : null, random(5))
    );
    const once = order(...list);
    for (let i = 0; i < 20; i++) expect(order(...list.sort(() => random(3) - 1))).toEqual(once);
  });
});

describe('values', () => {
  test('have the name of the payload or of the topic, and the age of the record', () => {
    let now = 1000;
    const values = new Values(2, { now: () => now, wall: () => now + 1e6 });
    const note = (payload, topic = '', ts = 0) =>
      values.note({ device: 'd', payload: Buffer.from(payload), topic, ts, cls: 2, rssi: undefined });
    expect(note('{"temperature":21,"rssi":-61}')).toBe(true);
    expect(note('{"temperature":22,"rssi":-62}')).toBe(false);
    expect(note('55', 'd/d/humidity')).toBe(true);
    now += 500;
    expect(values.valueOf('d', 'temperature')).toEqual({ value: 22, ageMs: 500 });
    expect(values.valueOf('d', 'humidity')).toEqual({ value: 55, ageMs: 500 });
    expect(values.of('d')).toMatchObject({ rssi: -62, cls: 2 });
    // A record of an outage.
    note('{"temperature":5}', '', 1000000);
    expect(values.valueOf('d', 'temperature').value).toBe(22);
  });

  test('are of the devices noted last, at most as many as the limit, with 32 values each', () => {
    const values = new Values(2);
    const note = (device, payload) => values.note({ device, payload, topic: '', ts: 0, cls: 0 });
    for (const device of ['a', 'b', 'a', 'c']) note(device, 1);
    expect([values.size, values.forgotten, values.of('b')]).toEqual([2, 1, undefined]);
    for (let i = 0; i < 100; i++) note('a', { [`n${i}`]: i });
    expect(values.of('a').values.size).toBe(32);
  });

  test('survive any payload', () => {
    const values = new Values(10);
    const loop = { a: 1 };
    loop.self = loop;
    for (const payload of [null, undefined, '', '{', Buffer.alloc(9), loop, [1, [2]], 'NaN', '1e999', true])
      expect(() =>
        values.note({ device: 'd', payload, topic: '/', ts: 0, cls: 0, protocol: 'ble' })
      ).not.toThrow();
  });
});

describe('a question', () => {
  test('is read from parameters, an object or text', () => {
    const asked = readQuestion('property=Temperature&room=Room 105&maxAge=5m&ask=0', usual);
    expect(asked).toMatchObject({
      wanted: { property: 'temperature', room: '105' },
      maxAgeMs: 300000,
      askMs: 0
    });
    expect(readQuestion({ property: 'saref:Temperature', room: 105, ask: true }, usual)).toMatchObject({
      wanted: { property: 'temperature', room: '105' },
      maxAgeMs: 60000,
      askMs: 5000
    });
  });

  test.each([
    [{}, /property is missing/],
    [{ property: '!' }, /property is missing/],
    [{ property: 'a', rom: '1' }, /no parameter "rom"/],
    [{ property: ['a', 'b'] }, /property must be given once/],
    [{ property: 'a', maxAge: '-1' }, /maxAge must be/],
    [{ property: 'a', ask: '61' }, /ask must be/],
    [{ property: 'a', format: 'xml' }, /format must be/],
    [{ property: 'a', room: '-' }, /letters or digits/],
    ['property=a&property=b', /given once/],
    [[], /A question is an object/],
    [5, /A question is an object/]
  ])('is refused: %p', (input, reason) => expect(() => readQuestion(input, usual)).toThrow(reason));
});

describe('an answer', () => {
  const candidate = (device, more = {}) => ({
    thing: `urn:${device}`,
    title: device,
    device,
    room: '105',
    isMade: true,
    name: 't',
    unit: '°C',
    kind: 'saref:Temperature',
    command: '',
    payload: '',
    url: '',
    ...more
  });
  const rig = (candidates, routes = []) => {
    const clock = { now: 1e6 };
    const values = new Values(10, { now: () => clock.now });
    const answering = new Answering({ find: async () => candidates, values, routes, now: () => clock.now });
    const note = (device, value) => values.note({ device, payload: { t: value }, topic: '', ts: 0, cls: 0 });
    const ask = (query = '', rights = undefined) =>
      answering.answer(readQuestion(`property=t${query}`, usual), rights);
    return { clock, values, answering, note, ask };
  };
  const route = (ask, name = 'command') => ({ name, fits: ({ command }) => command !== '', ask });

  describe('for a login that may only read', () => {
    /** @type {string[]} */
    let asked;
    beforeEach(() => (asked = []));
    const command = {
      ...route(async ({ device }) => {
        asked.push(device);
        return { value: 1 };
      }),
      isCommand: true
    };
    const coap = {
      name: 'coap',
      fits: ({ url }) => url !== '',
      ask: async ({ device }) => {
        asked.push(device);
        return { value: 2 };
      }
    };
    const reader = { mayCommand: false };

    test('sends no command: it is refused if only that would bring a value', async () => {
      const { ask, answering } = rig(
        [candidate('a', { command: 'get' }), candidate('b', { command: 'get' })],
        [command]
      );
      await expect(ask('', reader)).rejects.toMatchObject({
        status: 403,
        message: expect.stringMatching(/^There is no value\. a: .*permission seganet\.write/)
      });
      await expect(ask('', { mayCommand: false, why: 'a GET' })).rejects.toMatchObject({
        status: 403,
        message: expect.stringMatching(/needs a GET\.$/)
      });
      expect(asked).toEqual([]);
      expect(await ask('', { mayCommand: true })).toMatchObject({ value: 1, from: 'command' });
      expect(await ask('')).toMatchObject({ value: 1 });
      expect(answering.counters.unanswered).toBe(2);
    });

    test('has an older value, or that of the next device, with the reason', async () => {
      const { ask, note, clock } = rig(
        [candidate('a', { command: 'get' }), candidate('b', { url: 'coap://b/t' })],
        [command, coap]
      );
      note('a', 20);
      clock.now += 3600000;
      const reason = expect.stringMatching(/^a: it was not asked/);
      expect(await ask('&device=a', reader)).toMatchObject({ value: 2, device: 'b', problems: [reason] });
      expect(asked).toEqual(['b']);
      const alone = rig([candidate('a', { command: 'get' })], [command]);
      alone.note('a', 20);
      alone.clock.now += 3600000;
      expect(await alone.ask('', reader)).toMatchObject({ value: 20, fresh: false, problems: [reason] });
      expect(await alone.ask('&maxAge=2h', reader)).toMatchObject({ value: 20, fresh: true });
    });
  });

  test('is the value of the best device if it is fresh', async () => {
    const { ask, note, clock } = rig([candidate('a'), candidate('b')]);
    note('a', 20);
    clock.now += 30000;
    note('b', 21);
    expect(await ask()).toMatchObject({ value: 21, device: 'b', fresh: true, from: 'record', found: 2 });
    expect((await ask()).others).toEqual([
      { device: 'a', thing: 'urn:a', property: 't', why: 'seen 30 s ago, signal unknown, class unknown' }
    ]);
  });

  test('is the value that the device sends in response', async () => {
    const { ask, note } = rig([candidate('a', { command: 'cmd/a' })], [route(async () => null)]);
    const answer = ask();
    setImmediate(() => note('a', 23));
    expect(await answer).toMatchObject({ value: 23, fresh: true, from: 'command' });
  });

  test("is the value of the device's resource", async () => {
    const { ask, values } = rig(
      [candidate('a', { command: 'x' })],
      [route(async () => ({ value: 24 }), 'ocf')]
    );
    expect(await ask()).toMatchObject({ value: 24, from: 'ocf' });
    expect(values.valueOf('a', 't').value).toBe(24);
  });

  test("is the next device's value, with a problem, if the best one does not answer", async () => {
    const fails = route(async () => {
      throw new Error('The device is not connected.');
    });
    const { ask, note, clock } = rig([candidate('a', { command: 'x' }), candidate('b')], [fails]);
    note('b', 19);
    clock.now += 1000;
    note('a', 18);
    clock.now += 100;
    const answer = await ask('&maxAge=1.5');
    // Both are seen in the same step, so the id decides; a's value is fresh.
    expect(answer).toMatchObject({ value: 18, device: 'a' });
    expect(await ask('&maxAge=0.05')).toMatchObject({
      value: 18,
      fresh: false,
      problems: ['a: The device is not connected.']
    });
  });

  test('names what is missing', async () => {
    await expect(rig([]).ask('&room=7')).rejects.toMatchObject({
      status: 404,
      message: expect.stringMatching(/measures t in room 7/)
    });
    await expect(rig([candidate('a')]).ask()).rejects.toMatchObject({
      status: 504,
      message: expect.stringMatching(/no command/)
    });
    await expect(rig([candidate('a')]).ask('&ask=0')).rejects.toMatchObject({
      status: 504,
      message: expect.stringMatching(/not asked/)
    });
  });

  test('comes at the time limit, and when the node closes', async () => {
    const silent = route(async () => null);
    const { ask, answering } = rig([candidate('a', { command: 'x' })], [silent]);
    await expect(ask('&ask=0.05')).rejects.toMatchObject({
      status: 504,
      message: expect.stringMatching(/within 50 ms/)
    });
    const open = ask();
    setImmediate(() => answering.close());
    await expect(open).rejects.toMatchObject({ status: 504 });
  });

  test('comes at the time limit while a route is under way, which is ended', async () => {
    let isEnded = false;
    const stuck = route(
      (_candidate, _ms, signal) => new Promise(() => signal.addEventListener('abort', () => (isEnded = true)))
    );
    const { ask, answering } = rig([candidate('a', { command: 'x' })], [stuck]);
    await expect(ask('&ask=0.05')).rejects.toMatchObject({
      status: 504,
      message: expect.stringMatching(/within 50 ms/)
    });
    expect(isEnded).toBe(true);
    const open = ask();
    setImmediate(() => answering.close());
    await expect(open).rejects.toMatchObject({ status: 504 });
  });

  test('is refused with 503 while 256 questions wait, unless there is an older value', async () => {
    const stuck = route(() => new Promise(() => {}));
    const { ask, answering, note, clock } = rig([candidate('a', { command: 'x' })], [stuck]);
    const open = Array.from({ length: 256 }, () => ask());
    const over = expect(Promise.allSettled(open)).resolves.toHaveLength(256);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(ask()).rejects.toMatchObject({
      status: 503,
      message: expect.stringMatching(/256 questions wait/)
    });
    note('a', 20);
    clock.now += 3600000;
    expect(await ask()).toMatchObject({
      value: 20,
      fresh: false,
      problems: [expect.stringMatching(/256 questions/)]
    });
    answering.close();
    await over;
  });

  test('is an observation as JSON-LD', async () => {
    const { ask, note } = rig([candidate('a')]);
    note('a', 20);
    expect(await ask('&format=jsonld')).toMatchObject({
      '@type': 'sosa:Observation',
      'sosa:hasSimpleResult': 20,
      'sosa:madeBySensor': { '@id': 'urn:a' },
      'sosa:observedProperty': { '@id': 'saref:Temperature' }
    });
  });
});
