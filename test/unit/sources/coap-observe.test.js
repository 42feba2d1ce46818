'use strict';

const { isFresher } = require('../../../nodes/lib/sources/observe/freshness');
const { parseDatagram } = require('../../../nodes/lib/sources/observe/datagram-check');
const { schema, toSettings } = require('../../../nodes/lib/sources/observe/observe-settings');
const { Peer } = require('../../../nodes/lib/sources/observe/coap-peer');
const { Reader } = require('../../../nodes/lib/sources/observe/resource-reader');
const { parseCoapUrl } = require('../../../nodes/lib/sources/observe/coap-url');
const { Watch } = require('../../../nodes/lib/sources/observe/resource-watch');
const { CoapSocket } = require('../../../nodes/lib/sources/observe/coap-socket');
const { until } = require('../../../bench/harness/broker');
const { parseOptions } = require('../../../nodes/lib/base/options');

describe('an address', () => {
  test.each([
    ['coap://sensor', 'sensor', 5683, '', ''],
    ['coap://sensor/', 'sensor', 5683, '', ''],
    ['coap://Sensor:61616/a/b/?q=1&r', 'Sensor', 61616, 'a/b', 'q=1&r'],
    ['coap://[::1]:5000/a', '::1', 5000, 'a', ''],
    ['coap://10.0.0.1/%C3%A9%2Fx', '10.0.0.1', 5683, 'é/x', '']
  ])('%s', (text, host, port, path, query) => {
    const url = parseCoapUrl(text);
    expect(url).toMatchObject({ host, port, path });
    expect(url.uriQuery.map(String).join('&')).toBe(query);
  });

  test('has one option for each segment, keeps an encoded / inside one, and sends a name to the server', () => {
    expect(parseCoapUrl('coap://s/a%2Fb/c').uriPath.map(String)).toEqual(['a/b', 'c']);
    expect(String(parseCoapUrl('coap://sensor/').uriHost)).toBe('sensor');
    expect(parseCoapUrl('coap://[::1]/').uriHost).toBe(null);
  });

  test.each([
    [undefined, /is missing/],
    [42, /is missing/],
    ['sensor/temperature', /not "sensor\/temperature"/],
    ['http://sensor/', /http is not supported/],
    ['coaps://sensor/', /coaps is not supported/],
    ['coap+tcp://sensor/', /coap\+tcp is not supported/],
    ['coap:///x', /the host is missing/],
    ['coap:sensor', /the host is missing/],
    ['coap://user:pw@sensor/', /user, a password/],
    ['coap://sensor/x#y', /fragment/],
    ['coap://sensor:0/', /port 0/],
    ['coap://sensor:65536/', /must be like/],
    ['coap://sensor/%zz', /a % is not followed/],
    ['coap://sensor/%ff', /a % is not followed/],
    [`coap://sensor/${'a'.repeat(256)}`, /exceeds 255 bytes/],
    [`coap://sensor/${'a'.repeat(1024)}`, /exceeds 1024 characters/]
  ])('is refused: %j', (text, sentence) => {
    expect(() => parseCoapUrl(text)).toThrow(sentence);
  });
});

describe('a datagram', () => {
  // Token 01, ETag ab, Observe 5, Content-Format 0, Block2 number 300 of 1,024 bytes, payload.
  const whole = Buffer.from('61451234 01 41ab 2105 60 b212ce ff 78'.replaceAll(' ', ''), 'hex');

  test('is identified by the relevant fields', () => {
    expect(parseDatagram(whole)).toEqual({
      type: 'ack',
      code: 0x45,
      messageId: 0x1234,
      token: '01',
      etag: 'ab',
      block: 300
    });
    expect(parseDatagram(Buffer.from('70001234', 'hex'))).toMatchObject({ type: 'rst', code: 0, block: -1 });
  });

  test('cut at any byte is whole with fewer options, or nothing', () => {
    for (let length = 0; length < whole.length; length++) {
      const cut = parseDatagram(whole.subarray(0, length));
      expect([length, cut !== null]).toEqual([length, [5, 7, 9, 10, 13].includes(length)]);
    }
  });

  test('of any bytes never throws', () => {
    let seed = 7;
    for (let round = 0; round < 2000; round++) {
      const bytes = Buffer.from(
        Array.from({ length: round % 40 }, () => (seed = (seed * 16807) % 2147483647) & 255)
      );
      if (bytes.length > 0) bytes[0] = (bytes[0] & 0x3f) | 0x40;
      expect(() => parseDatagram(bytes)).not.toThrow();
    }
  });
});

test.each([
  [1, 0, 2, 10, true],
  [2, 0, 1, 10, false],
  [1, 0, 1, 10, false],
  [0xffffff, 0, 0, 10, true],
  [0, 0, 0xffffff, 10, false],
  [0, 0, (1 << 23) - 1, 10, true],
  [0, 0, 1 << 23, 10, false],
  [9, 0, 3, 128001, true],
  [9, 0, 3, 128000, false]
])('after number %i at %i ms, reads %i at %i ms as newer: %s', (before, beforeAt, number, at, fresher) => {
  expect(isFresher({ number: before, at: beforeAt }, { number, at })).toBe(fresher);
});

describe('settings', () => {
  function settingsOf(config) {
    const { values, problems } = parseOptions(config, schema);
    if (problems.length > 0) throw new Error(problems.join(' '));
    return toSettings(values);
  }

  test('give a row its own device and class, or else those of the node', () => {
    const { resources } = settingsOf({
      class: '2',
      deviceId: '{host}-{port}',
      resources: [
        { url: 'coap://s1/a/b', mode: 'observe' },
        { url: 'coap://s2:1/', mode: 'poll', intervalS: '5', device: 'pump', class: '1' }
      ]
    });
    expect(resources).toMatchObject([
      { mode: 'observe', intervalS: 60, deviceId: 's1-5683', topic: 'coap/s1-5683/a/b', cls: 2 },
      { mode: 'poll', intervalS: 5, deviceId: 'pump', topic: 'coap/pump', cls: 1 }
    ]);
  });

  test('allow only paths that fit a topic', () => {
    const { resourceOf } = settingsOf({});
    expect(resourceOf('coap://s/a+b/%23/%00').topic).toBe('coap/s/a_b/_/_');
  });

  const row = (more) => ({ resources: [{ url: 'coap://s/x', mode: 'observe', ...more }] });
  test.each([
    [{ resources: 'all' }, /must be a list/],
    [{ resources: Array(501).fill({}) }, /There are 501 resources; at most 500/],
    [{ resources: [null] }, /Resource 1 must be like coap:\/\/sensor\/temperature, and is missing/],
    [row({ url: 'coaps://s' }), /Resource 1 .*coaps is not supported/],
    [row({ mode: 'watch' }), /Resource 1 must have the mode observe or poll, not "watch"/],
    [row({ intervalS: '0' }), /Resource 1 must be a whole number from 1/],
    [row({ class: 'urgent' }), /Resource 1 .*is not a class/],
    [row({ device: 'd'.repeat(257) }), /Resource 1 must have a device id of 1 to 256 bytes/],
    [{ timeoutS: '301' }, /"timeoutS" must be a whole number from 1 to 300/],
    [{ maxBodyKiB: '0' }, /"maxBodyKiB" must be/],
    [{ deviceId: '{name}' }, /unknown placeholder \{name\}/],
    [{ topic: 'coap/#' }, /contains \+ or #/],
    [{ class: '9' }, /is not a class/]
  ])('are refused for %j with a sentence', (config, sentence) => {
    expect(() => settingsOf(config)).toThrow(sentence);
  });
});

describe('a watch', () => {
  let links;
  let values;
  let reasons;
  let held;
  let watch;
  beforeEach(() => {
    jest.useFakeTimers();
    links = [];
    values = [];
    reasons = [];
    held = [];
  });
  afterEach(() => {
    watch.stop();
    jest.useRealTimers();
  });

  async function open(more = {}) {
    watch = new Watch({
      mode: 'observe',
      intervalMs: 10000,
      now: () => Date.now(),
      random: () => 0.5,
      open: async () => {
        const link = { ask: jest.fn((_observe, asked) => (link.asked = asked)), close: jest.fn() };
        links.push(link);
        return link;
      },
      value: (payload, done) => {
        values.push(payload);
        held.push(done);
        if (!more.hold) done();
      },
      trouble: (reason) => reasons.push(reason),
      ...more
    });
    await jest.advanceTimersByTimeAsync(0);
  }
  const answer = (more = {}) =>
    links
      .at(-1)
      .asked.answer({ code: '2.05', payload: 'v', observe: 1, blocks: false, maxAgeS: 60, ...more });
  const asks = () => links.reduce((sum, { ask }) => sum + ask.mock.calls.length, 0);
  const pass = (seconds) => jest.advanceTimersByTimeAsync(seconds * 1000);

  test('registers again when Max-Age and ten seconds have passed without a notification', async () => {
    await open();
    answer();
    await pass(60);
    answer({ observe: 2 });
    await pass(69.9);
    expect(asks()).toBe(1);
    await pass(0.2);
    expect(asks()).toBe(2);
    expect(links).toHaveLength(1);
    expect(watch.state).toBe('observing');
  });

  test('reads in the interval, each time from the start of the previous reading', async () => {
    await open({ mode: 'poll' });
    await pass(4);
    answer({ observe: undefined });
    await pass(5.9);
    expect(asks()).toBe(1);
    await pass(0.2);
    expect(asks()).toBe(2);
    expect(links[0].ask.mock.calls.every(([observe]) => observe === false)).toBe(true);
  });

  test('does not read until the engine has taken the last reading', async () => {
    await open({ mode: 'poll', hold: true });
    answer({ observe: undefined });
    await pass(60);
    expect(asks()).toBe(1);
    held[0]();
    await pass(10);
    expect(asks()).toBe(2);
  });

  test('requests observation each time after a refusal', async () => {
    await open();
    answer({ observe: undefined });
    expect(watch.state).toBe('polling');
    await pass(10);
    answer();
    expect(watch.state).toBe('observing');
    expect(links[0].ask.mock.calls.map(([observe]) => observe)).toEqual([true, true]);
  });

  test('retries with longer pauses on new sockets after failures, and reports each reason once', async () => {
    await open();
    const gaps = [];
    for (let round = 0; round < 9; round++) {
      const before = asks();
      const since = Date.now();
      links.at(-1).asked.failed(new Error(round < 5 ? 'no answer' : 'connection refused'));
      while (asks() === before) await pass(0.05);
      gaps.push(Math.round((Date.now() - since) / 100) / 10);
    }
    // Three quarters of each step.
    expect(
      gaps.map((gap, index) => gap / Math.min(60, 2 ** index)).every((part) => part > 0.7 && part < 0.85)
    ).toBe(true);
    expect(links).toHaveLength(10);
    expect(links.slice(0, 9).every(({ close }) => close.mock.calls.length === 1)).toBe(true);
    expect(reasons).toEqual(['no answer', 'connection refused']);
  });

  test.each([
    ['5.03', 30, 30],
    ['4.29', 5, 5],
    ['5.03', 0, 1],
    ['5.03', 4294967295, 3600]
  ])('comes back after %s with Max-Age %i in %i s', async (code, maxAgeS, seconds) => {
    await open();
    answer({ code, maxAgeS });
    await pass(seconds - 0.1);
    expect(asks()).toBe(1);
    await pass(0.2);
    expect(asks()).toBe(2);
    expect(values).toEqual([]);
  });

  test('takes no older notification, and none without a number as the latest', async () => {
    await open();
    answer({ observe: 5, payload: 'a' });
    answer({ observe: 4, payload: 'old' });
    answer({ observe: 6, payload: 'b' });
    answer({ observe: undefined, blocks: true, payload: 'in blocks' });
    answer({ observe: undefined, payload: 'last' });
    expect(values).toEqual(['a', 'b', 'in blocks', 'last']);
    expect(watch.state).toBe('polling');
  });

  test('stops requests when it is stopped, also during the look-up of its address', async () => {
    await open();
    links[0].asked.failed(new Error('no answer'));
    watch.stop();
    await pass(100);
    expect(asks()).toBe(1);

    let opened;
    await open({ open: () => new Promise((resolve) => (opened = resolve)) });
    watch.stop();
    const link = { ask: jest.fn(), close: jest.fn() };
    opened(link);
    await pass(1);
    expect(link.ask).not.toHaveBeenCalled();
    expect(link.close).toHaveBeenCalled();
  });
});

describe('an address that the system cannot send to', () => {
  // A broadcast datagram needs a permission that the socket does not have; without any route it is ENETUNREACH.
  const broadcast = '255.255.255.255';

  test('fails to open, with the code of the system', async () => {
    await expect(CoapSocket.open(broadcast, 5683)).rejects.toMatchObject({
      code: expect.stringMatching(/^(EACCES|ENETUNREACH)$/)
    });
  });

  test('fails a reading with a sentence', async () => {
    const { resourceOf } = toSettings(parseOptions({}, schema).values);
    const reader = new Reader({ confirmable: true, timeoutMs: 1000, maxBodyBytes: 1000 });
    await expect(reader.read(resourceOf(`coap://${broadcast}/x`))).rejects.toThrow(
      /^coap:\/\/255\.255\.255\.255\/x could not be read: .*(EACCES|ENETUNREACH)/
    );
  });

  test('is tried again, and the state names the reason', async () => {
    const target = parseCoapUrl(`coap://${broadcast}/x`);
    const failed = jest.fn();
    const watch = new Watch({
      mode: 'observe',
      intervalS: 60,
      open: () => Peer.open(target, { confirmable: true, timeoutMs: 1000, maxBodyBytes: 1000 }),
      value: () => {},
      trouble: failed
    });
    await until(() => failed.mock.calls.length > 0);
    watch.stop();
    expect(watch.state).toBe('failing');
    expect(watch.reason).toMatch(/^(EACCES|no route to host)$/);
  });
});

test('counts a link that throws as one more failure of its resource', async () => {
  const failed = jest.fn();
  const link = {
    ask() {
      throw new Error('no such option');
    },
    close() {}
  };
  const watch = new Watch({
    mode: 'poll',
    intervalS: 60,
    open: async () => link,
    value: () => {},
    trouble: failed
  });
  await until(() => failed.mock.calls.length > 0);
  watch.stop();
  expect(failed.mock.calls).toEqual([['no such option']]);
});
