'use strict';
// TLS and WebSocket behind a proxy that speaks the PROXY protocol.

const tls = require('node:tls');
const { once } = require('node:events');
const { duplexPair } = require('node:stream');
const { FrontClients, closed } = require('../../fixtures/devices/tls-clients');
const { needs } = require('../../../bench/harness/tools');
const { parseProxies } = require('../../../nodes/lib/settings/proxies');
const { amongProxies } = require('../../../nodes/lib/tls/proxy-header');

const { describe, test } = needs('openssl');

const LINE = Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 40312 8883\r\n');
const BINARY = Buffer.from('0d0a0d0a000d0a515549540a2111000cc0000207c63364019d7822b3', 'hex');
const CHECK = Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex');
const proxies = ['127.0.0.1'];

let clients;
beforeAll(() => {
  clients = new FrontClients();
});
afterEach(() => clients.clear());
afterAll(() => clients.remove());

describe('behind a proxy', () => {
  test.each([
    ['1', LINE],
    ['2', BINARY]
  ])(
    'the header of version %s names the address, also with the first bytes of TLS in it',
    async (_, header) => {
      const front = await clients.start({ proxies });
      const raw = clients.plain(front);
      await once(raw, 'connect');
      const [near, far] = duplexPair();
      far.once('data', (hello) => {
        raw.write(Buffer.concat([header, hello]));
        far.pipe(raw).pipe(far);
      });
      const socket = tls.connect({ socket: near, ca: clients.authority.ca, host: '127.0.0.1' });
      socket.write('hello');
      const [answer] = await once(socket, 'data');
      expect(answer.toString()).toBe('hello');
      expect(front.peers).toEqual([{ address: '192.0.2.7:40312' }]);
      raw.destroy();
      await front.empty();
    }
  );

  test('a header in pieces, then TLS', async () => {
    const front = await clients.start({ proxies });
    const raw = clients.plain(front);
    await once(raw, 'connect');
    for (const byte of BINARY) {
      raw.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const socket = tls.connect({ socket: raw, ca: clients.authority.ca, host: '127.0.0.1' });
    socket.write('hello');
    await once(socket, 'data');
    expect(front.peers).toEqual([{ address: '192.0.2.7:40312' }]);
  });

  test('WebSocket without TLS', async () => {
    const front = await clients.start({ proxies, transport: 'ws' });
    const raw = clients.plain(
      front,
      `${LINE}GET /mqtt HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n'
    );
    const [answer] = await once(raw, 'data');
    expect(answer.toString()).toMatch(/^HTTP\/1.1 101 /);
    expect(front.peers).toEqual([{ address: '192.0.2.7:40312' }]);
  });

  test('a health check of the proxy is no fault', async () => {
    const front = await clients.start({ proxies });
    const raw = clients.plain(front);
    await once(raw, 'connect');
    raw.end(CHECK);
    await front.empty();
    expect(front.front.state.refused).toEqual({});
  });

  test('a header without an address leaves that of the proxy', async () => {
    const front = await clients.start({ proxies });
    const raw = clients.plain(front, CHECK);
    await once(raw, 'connect');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const socket = tls.connect({ socket: raw, ca: clients.authority.ca, host: '127.0.0.1' });
    socket.write('hello');
    await once(socket, 'data');
    expect(front.peers).toEqual([{ address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) }]);
  });

  test('a proxy without a header is refused, and one that sends half of it does not stay', async () => {
    const front = await clients.start({ proxies, handshakeTimeoutMs: 1000 });
    await closed(clients.tls(front));
    expect(await front.refused('no PROXY header')).toBe(1);
    const raw = clients.plain(front, LINE.subarray(0, 20));
    await closed(raw.resume());
    expect(await front.refused('time-out')).toBe(1);
    await front.empty();
  });

  test('a header from elsewhere is not believed', async () => {
    const front = await clients.start({ proxies: ['192.0.2.0/24'] });
    const raw = clients.plain(front, LINE);
    await closed(raw.resume());
    expect(front.peers).toEqual([]);
  });
});

test('a list of proxies', () => {
  const isProxy = amongProxies(parseProxies(' 10.0.0.7, 172.16.0.0/12 2001:db8::/33 '));
  const listed = ['10.0.0.7', '::ffff:10.0.0.7', '172.31.255.255', '2001:db8:7fff::1'];
  const others = ['10.0.0.6', '172.32.0.0', '2001:db8:8000::1', '::1', undefined];
  expect([...listed, ...others].map(isProxy)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
    false,
    false,
    false
  ]);
  expect(parseProxies('')).toEqual([]);
  for (const text of [
    'proxy',
    '10.0.0',
    '10.0.0.7/33',
    '10.0.0.7/',
    '::/129',
    '10.0.0.7/8/8',
    'fe80::1%eth0'
  ])
    expect(() => parseProxies(text)).toThrow(/neither an address nor a network such as 10.0.0.7/);
  expect(() => parseProxies('10.0.0.1,'.repeat(65))).toThrow(/65 addresses; there may be 64/);
});
