'use strict';

const { PassThrough, Duplex } = require('node:stream');
const { bridge } = require('../../../nodes/lib/tls/stream-bridge');
const { PartialMessages } = require('../../../nodes/lib/tls/partial-messages');
const { HandshakeLimit } = require('../../../nodes/lib/tls/handshake-limit');
const { parseKeys } = require('../../../nodes/lib/tls/psk-file');
const { deviceOf } = require('../../../nodes/lib/tls/certificate-name');

describe('the handshakes', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const limits = { maxConnections: 4, maxHalfOpen: 2, handshakeTimeoutMs: 1000 };
  function make() {
    const ended = [];
    const handshakes = new HandshakeLimit(limits);
    return { handshakes, ended, enter: (name) => handshakes.enter((reason) => ended.push([name, reason])) };
  }

  test('end the oldest pending one for a new one, never an open connection', () => {
    const { handshakes, ended, enter } = make();
    handshakes.opened(enter('inside'));
    for (const name of ['a', 'b', 'c']) enter(name);
    expect(ended).toEqual([['a', 'evicted']]);
    expect([handshakes.open, handshakes.halfOpen]).toEqual([1, 2]);
  });

  test('are limited in total', () => {
    const { handshakes, enter } = make();
    for (let i = 0; i < 4; i++) handshakes.opened(enter(i));
    expect(enter('e')).toBeNull();
    expect(handshakes.open).toBe(4);
  });

  test('end after the time limit, and cannot complete afterwards', () => {
    const { handshakes, ended, enter } = make();
    const [slow, quick] = [enter('slow'), enter('quick')];
    expect(handshakes.opened(quick)).toBe(true);
    jest.advanceTimersByTime(1000);
    expect(ended).toEqual([['slow', 'time-out']]);
    expect(handshakes.opened(slow)).toBe(false);
    expect([handshakes.open, handshakes.halfOpen]).toEqual([1, 0]);
  });

  test('are all ended at the end, and leaving twice has no effect', () => {
    const { handshakes, ended, enter } = make();
    const pass = enter('a');
    handshakes.opened(enter('b'));
    handshakes.endAll('closed');
    handshakes.leave(pass);
    expect(ended).toEqual([['a', 'closed'], ['b', 'closed']]); // prettier-ignore
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('the bridge', () => {
  const pair = () => {
    const [a, b] = [new PassThrough(), new PassThrough()];
    return Duplex.from({ readable: a, writable: b });
  };

  test('ends a side that never reads its remaining data after a while', async () => {
    const far = new Duplex({ read() {}, write() {} });
    const near = pair();
    bridge(far, near, 20);
    far.write('stuck');
    const gone = new Promise((resolve) => far.once('close', resolve));
    near.destroy();
    await gone;
    expect(far.destroyed).toBe(true);
  });
});

describe('pre-shared keys', () => {
  const key = '00112233445566778899aabbccddeeff';

  test('allow colons in an identity, and skip comments and blank lines', () => {
    const keys = parseKeys(`# ours\n\nurn:dev:mac:1:${key}\r\nb:${key.toUpperCase()}${key}\n`);
    expect([...keys].map(([identity, { length }]) => [identity, length])).toEqual([
      ['urn:dev:mac:1', 16],
      ['b', 32]
    ]);
  });

  test.each([
    ['a', /Line 1 .* is not identity:key/],
    [`:${key}`, /not identity:key/],
    ['a:', /not identity:key/],
    ['a:xyz', /hexadecimal/],
    [`a:${key}0`, /hexadecimal/],
    [`a:${key.slice(2)}`, /16 to 64 bytes/],
    [`a:${key.repeat(5)}`, /16 to 64 bytes/],
    [`${'a'.repeat(129)}:${key}`, /exceeds 128 bytes/],
    [`a\0b:${key}`, /control characters/],
    [`a:${key}\n\na:${key}`, /Line 3 .* appears twice/]
  ])('are refused: %j', (text, reason) => {
    expect(() => parseKeys(text)).toThrow(reason);
    expect(() => parseKeys(text)).not.toThrow(key);
  });
});

describe('the device in a certificate', () => {
  const certificate = (CN, subjectAltName) => ({
    subjectAltName,
    toLegacyObject: () => ({ subject: { CN } })
  });

  test.each([
    ['cn', 'pump', '', 'pump'],
    ['cn', undefined, '', ''],
    ['cn', ['a', 'b'], '', ''],
    ['cn', 'a\0b', '', ''],
    ['cn', 'x'.repeat(257), '', ''],
    ['san', 'x', undefined, ''],
    ['san', 'x', 'IP Address:127.0.0.1', ''],
    ['san', 'x', 'IP Address:127.0.0.1, DNS:pump, DNS:other', 'pump'],
    ['san', 'x', 'URI:urn:dev:mac:1', 'urn:dev:mac:1'],
    ['san', 'x', 'email:a@b.example', 'a@b.example'],
    ['san', 'x', 'DNS:"evil, DNS:good"', 'evil, DNS:good'],
    ['san', 'x', 'DNS:"a\\u0000b"', ''],
    ['san', 'x', 'othername:<unsupported>, DNS:pump', 'pump']
  ])('by %s of %j, %j is %j', (from, cn, san, device) => {
    expect(deviceOf(/** @type {any} */ (certificate(cn, san)), from)).toBe(device);
  });
});

describe('incomplete messages', () => {
  const holder = (name, ended) => ({ refuse: (reason) => ended.push(`${name} ${reason}`) });

  test('end the connection that began first when they exceed the limit, never one with little data', () => {
    const ended = [];
    const held = new PartialMessages(100000);
    const [a, b, c, small] = ['a', 'b', 'c', 'small'].map((name) => holder(name, ended));
    held.set(small, 4096);
    held.set(a, 5000);
    held.set(b, 60000);
    held.set(a, 40000);
    expect([held.total, ended]).toEqual([100000, []]);
    held.set(c, 4097);
    expect([held.total, ended]).toEqual([64097, ['a unfinished']]);
    held.set(b, 0);
    held.set(c, 0);
    expect(held.total).toBe(0);
  });
});
