'use strict';
// The TLS server with real WebSocket clients, and with those that violate the rules.

const { EventEmitter, once } = require('node:events');
const { PartialMessages } = require('../../../nodes/lib/tls/partial-messages');
const { WebSocketStream } = require('../../../nodes/lib/tls/web-socket-stream');
const { DEFAULTS } = require('../../fixtures/devices/tls-listener');
const { FrontClients, closed, read } = require('../../fixtures/devices/tls-clients');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

const { describe } = needs('openssl');

let clients;
beforeAll(() => {
  clients = new FrontClients();
});
afterEach(() => clients.clear());
afterAll(() => clients.remove());

const received = (ws) => once(ws, 'message').then(([data, isBinary]) => [String(data), isBinary]);
/** Sends an HTTP request and returns the status of the answer. */
async function statusOf(front, lines) {
  const answer = await read(clients.plain(front, `${lines.join('\r\n')}\r\n\r\n`));
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
}
const upgrade = (more = [], path = '/mqtt') => [
  `GET ${path} HTTP/1.1`,
  'Host: x',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ...more
];

describe('WebSocket', () => {
  test.each(['ws', 'wss'])('carries bytes with %s, however they are framed', async (scheme) => {
    const front = await clients.start({ transport: scheme });
    const ws = clients.ws(front, { scheme });
    await once(ws, 'open');
    expect(ws.protocol).toBe('mqtt');
    ws.send(Buffer.from('he'), { fin: false });
    ws.send(Buffer.from('llo'), { fin: true });
    expect(await received(ws)).toEqual(['hello', true]);
    ws.close();
    const [code] = await closed(ws);
    expect(code).toBe(1005);
    await front.empty();
  });

  test('delivers sent data and a close frame when the engine closes', async () => {
    const front = await clients.start({ transport: 'ws' }, (socket) => socket.end('bye'));
    const ws = clients.ws(front);
    expect(await received(ws)).toEqual(['bye', true]);
    expect((await closed(ws))[0]).toBe(1000);
    await front.empty();
  });

  test('accepts a CONNECT of 64 KiB at most before the engine has answered', async () => {
    const front = await clients.start({ transport: 'ws', webSocket: { ...DEFAULTS.webSocket, maxFrameBytes: 1 << 20 } }, (socket) => socket.once('data', () => socket.write('ok'))); // prettier-ignore
    const early = clients.ws(front);
    await once(early, 'open');
    early.send(Buffer.alloc(100000), { fin: false });
    await closed(early);
    const known = clients.ws(front);
    await once(known, 'open');
    known.send(Buffer.alloc(65000));
    expect(await received(known)).toEqual(['ok', true]);
    known.send(Buffer.alloc(500000), { fin: false });
    known.ping('x');
    expect(String((await once(known, 'pong'))[0])).toBe('x');
    expect(front.front.state.refused).toEqual({ 'too much before the CONNECT': 1 });
  });

  test('answers a ping', async () => {
    const front = await clients.start({ transport: 'ws' });
    const ws = clients.ws(front);
    await once(ws, 'open');
    ws.ping('x');
    expect(String((await once(ws, 'pong'))[0])).toBe('x');
  });

  test('slows the device down when an engine does not read', async () => {
    const front = await clients.start({ transport: 'ws' }, (socket) => socket.pause());
    const ws = clients.ws(front);
    await once(ws, 'open');
    const chunk = Buffer.alloc(65536);
    let sent = 0;
    for (let quiet = 0; quiet < 20 && sent < 1 << 26; quiet++) {
      while (ws.bufferedAmount < 1 << 20 && sent < 1 << 26) {
        ws.send(chunk);
        sent += chunk.length;
        quiet = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(sent).toBeLessThan(1 << 25);
  });

  test('names the device by a client certificate', async () => {
    const front = await clients.start({
      transport: 'wss',
      tls: clients.withAuthority,
      clientCert: 'required'
    });
    await once(clients.ws(front, { scheme: 'wss', ...clients.device }), 'open');
    expect(front.peers[0].device).toBe('pump-1');
  });
});

describe('bad clients of WebSocket', () => {
  test.each([
    ['another path', upgrade(['Sec-WebSocket-Protocol: mqtt'], '/other'), 404, 'path'],
    ['another subprotocol', upgrade(['Sec-WebSocket-Protocol: chat']), 400, 'subprotocol'],
    ['no subprotocol', upgrade(), 400, 'subprotocol'],
    ['no upgrade', ['GET /mqtt HTTP/1.1', 'Host: x'], 426, 'no WebSocket'],
    ['a body', ['POST /mqtt HTTP/1.1', 'Host: x', 'Content-Length: 9'], 426, 'no WebSocket'],
    ['HTTP/1.0', upgrade(['Sec-WebSocket-Protocol: mqtt']).map((line) => line.replace('/1.1', '/1.0')), 400, 'HTTP version'], // prettier-ignore
    ['no key', upgrade(['Sec-WebSocket-Protocol: mqtt']).filter((line) => !line.includes('Key')), 400, 'handshake'], // prettier-ignore
    ['no HTTP', ['\x10\x0c\x00\x04MQTT'], 400, 'HPE_INVALID_METHOD'],
    ['a head that is too large', upgrade([`X: ${'x'.repeat(20000)}`]), 431, 'HPE_HEADER_OVERFLOW']
  ])('%s', async (_what, request, status, reason) => {
    const front = await clients.start({ transport: 'ws' });
    expect(await statusOf(front, request)).toBe(status);
    await front.refused(reason);
    expect(front.peers).toEqual([]);
    await front.empty();
  });

  test.each([['8'], ['7'], ['99'], ['13, 8'], ['']])(
    'WebSocket version "%s" gets the one that is served',
    async (version) => {
      const front = await clients.start({ transport: 'ws' });
      const request = upgrade(['Sec-WebSocket-Protocol: mqtt'])
        .filter((line) => version || !line.includes('Version'))
        .map((line) => line.replace('Version: 13', `Version: ${version}`));
      const answer = await read(clients.plain(front, `${request.join('\r\n')}\r\n\r\n`));
      expect(answer).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
      expect(answer).toContain('\r\nSec-WebSocket-Version: 13\r\n');
      expect(answer).toContain('\r\nUpgrade: websocket\r\n');
      await front.refused('WebSocket version');
      await front.empty();
    }
  );

  test('come from a page of another origin where origins are listed, or from no page', async () => {
    const origins = ['https://panel.example'];
    const front = await clients.start({
      transport: 'ws',
      webSocket: { ...DEFAULTS.webSocket, origins }
    });
    const mqtt = 'Sec-WebSocket-Protocol: mqtt';
    expect(await statusOf(front, upgrade([mqtt, 'Origin: https://evil.example']))).toBe(403);
    expect(await statusOf(front, upgrade([mqtt]))).toBe(403);
    await once(clients.ws(front, { origin: 'https://panel.example' }), 'open');
  });

  test('stall in the head of the handshake', async () => {
    const front = await clients.start({ transport: 'ws', handshakeTimeoutMs: 80 });
    await closed(clients.plain(front, 'GET /mqtt HTTP/1.1\r\nHost: x\r\n').resume());
    await front.refused('time-out');
  });

  test('send a text frame', async () => {
    const front = await clients.start({ transport: 'ws' });
    const ws = clients.ws(front);
    await once(ws, 'open');
    ws.send('text');
    expect((await closed(ws))[0]).toBe(1003);
    await front.refused('text frame');
    await front.empty();
  });

  // A masked text frame "x", and nothing after it; the clients of ws would answer the close frame.
  test.each(['ws', 'wss'])('send a text frame with %s, and stay silent after it', async (transport) => {
    const front = await clients.start({ transport });
    const socket = transport === 'ws' ? clients.plain(front) : clients.tls(front);
    await once(socket, transport === 'ws' ? 'connect' : 'secureConnect');
    socket.write(`${upgrade(['Sec-WebSocket-Protocol: mqtt']).join('\r\n')}\r\n\r\n`);
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 101 /);
    socket.write(Buffer.from('81810000000078', 'hex'));
    const [frame] = await once(socket, 'data');
    expect(frame.toString('hex')).toBe('880203eb');
    const from = performance.now();
    await closed(socket.resume());
    expect(performance.now() - from).toBeLessThan(5000 * PATIENCE);
    await front.empty();
  });

  test('send a message larger than allowed, in one frame or in many', async () => {
    const front = await clients.start({ transport: 'ws' });
    for (const fin of [true, false]) {
      const ws = clients.ws(front);
      await once(ws, 'open');
      for (let i = 0; i < 5; i++) ws.send(Buffer.alloc(fin ? 70000 : 16000), { fin });
      expect((await closed(ws))[0]).toBe(1009);
    }
    expect(await front.refused('WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')).toBe(2);
    await front.empty();
  });

  test('send a frame without a mask', async () => {
    const front = await clients.start({ transport: 'ws' });
    const socket = clients.plain(front, `${upgrade(['Sec-WebSocket-Protocol: mqtt']).join('\r\n')}\r\n\r\n`);
    await once(socket, 'data');
    socket.write(Buffer.from('820178', 'hex'));
    await closed(socket.resume());
    await front.refused('WS_ERR_EXPECTED_MASK');
    await front.empty();
  });

  test('send endless pings and read no answer', async () => {
    const ws = Object.assign(new EventEmitter(), { OPEN: 1, readyState: 1, bufferedAmount: 0 });
    Object.assign(ws, { pong: jest.fn(), terminate: jest.fn() });
    const stream = new WebSocketStream(/** @type {any} */ (ws), () => {}, new PartialMessages());
    ws.emit('ping', Buffer.from('x'));
    expect(ws.pong).toHaveBeenCalledTimes(1);
    ws.bufferedAmount = (1 << 20) + 1;
    ws.emit('ping', Buffer.from('x'));
    expect([stream.destroyed, ws.pong.mock.calls.length]).toEqual([true, 1]);
    await closed(stream);
    expect(ws.terminate).toHaveBeenCalledTimes(1);
  });
});
