'use strict';
// The front with real TLS and WebSocket clients, and with those that do not play by the rules.

const crypto = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { once } = require('node:events');
const { WebSocket } = require('ws');
const { Authority } = require('../fixtures/authority');
const { startFront, until } = require('../fixtures/front');
const { needs } = require('../tools');

const { describe } = needs('openssl');

let authority, server, device;
const fronts = [];
const sockets = [];

beforeAll(() => {
  authority = new Authority();
  server = authority.issue();
  device = authority.issue({ name: 'pump-1', san: 'DNS:pump-one,URI:urn:dev:pump-1' });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) (socket.terminate ?? socket.destroy).call(socket);
  for (const front of fronts.splice(0)) front.stop();
});
afterAll(() => authority.remove());

const own = () => ({ cert: server.cert, key: server.key });
const withAuthority = () => ({ ...own(), ca: authority.ca });

async function start(options, serve) {
  const front = await startFront({ tls: own(), ...options }, serve);
  fronts.push(front);
  return front;
}

/** A TLS client; the promise is of its 'secureConnect'. */
function connectTls({ port }, options = {}) {
  const socket = tls.connect({ port, host: '127.0.0.1', ca: authority.ca, ...options });
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

function connectPlain({ port }, bytes = '') {
  const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

function connectWs({ port }, { scheme = 'ws', path = '/mqtt', protocols = 'mqtt', ...options } = {}) {
  const ws = new WebSocket(`${scheme}://127.0.0.1:${port}${path}`, protocols, {
    ca: authority.ca,
    ...options
  });
  ws.on('error', () => {});
  sockets.push(ws);
  return ws;
}

/** Not once(): a client that is kept out may see an error first. */
const closed = (socket) => new Promise((resolve) => socket.once('close', (...args) => resolve(args)));

async function text(stream) {
  let all = '';
  stream.on('data', (chunk) => (all += chunk.toString('latin1')));
  await closed(stream);
  return all;
}

const received = (ws) => once(ws, 'message').then(([data, isBinary]) => [String(data), isBinary]);
/** Sends an HTTP request and returns the status of the answer. */
async function statusOf(front, lines) {
  const answer = await text(connectPlain(front, `${lines.join('\r\n')}\r\n\r\n`));
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

describe('TLS', () => {
  test('bytes cross in both directions, an end too, and nothing is left', async () => {
    const front = await start({});
    const socket = connectTls(front, { allowHalfOpen: true });
    await once(socket, 'secureConnect');
    socket.end('hello');
    expect(await text(socket)).toBe('hello');
    expect(front.peers).toEqual([{ address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) }]);
    socket.destroy();
    await front.empty();
  });

  test('what the engine sent before it closed arrives', async () => {
    const front = await start({}, (socket) => socket.end(Buffer.alloc(1 << 20, 7)));
    const all = await text(connectTls(front));
    expect(all).toHaveLength(1 << 20);
    await front.empty();
  });

  test('an engine that does not read slows the device down', async () => {
    const front = await start({}, (socket) => socket.pause());
    const socket = connectTls(front);
    await once(socket, 'secureConnect');
    let sent = 0;
    const chunk = Buffer.alloc(65536);
    // Until nothing is taken for a while: what the kernel and the streams hold is a few MiB at most.
    for (let quiet = 0; quiet < 20 && sent < 1 << 26; quiet++) {
      while (socket.writableLength < 1 << 20 && sent < 1 << 26) {
        socket.write(chunk);
        sent += chunk.length;
        quiet = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(sent).toBeLessThan(1 << 25);
  });

  test('a device that vanishes takes its stream with it, and the other way round', async () => {
    const streams = [];
    const front = await start({}, (socket) => void streams.push(socket.resume()));
    const [one, other] = [connectTls(front), connectTls(front)];
    await Promise.all([once(one, 'secureConnect'), once(other, 'secureConnect')]);
    await until(
      () => streams.length === 2,
      () => 'streams'
    );
    const ended = once(streams[0], 'end');
    one.destroy();
    await ended;
    streams[0].end();
    streams[1].destroy();
    await closed(other.resume());
    await front.empty();
  });

  test('TLS 1.1 and, where it is asked for, 1.2 are refused', async () => {
    const front = await start({ minTls: 'TLSv1.3' });
    const options = { minVersion: 'TLSv1', maxVersion: 'TLSv1.2', ciphers: 'ALL@SECLEVEL=0' };
    await closed(connectTls(front, options));
    await front.refused('ERR_SSL_UNSUPPORTED_PROTOCOL');
  });

  test('a protocol that is not ours is refused, none at all is not', async () => {
    const front = await start({ alpn: ['mqtt'] });
    await closed(connectTls(front, { ALPNProtocols: ['h2'] }));
    const good = connectTls(front, { ALPNProtocols: ['x', 'mqtt'] });
    await once(good, 'secureConnect');
    expect(good.alpnProtocol).toBe('mqtt');
    await once(connectTls(front), 'secureConnect');
  });
});

describe('bad clients of TLS', () => {
  test('plain MQTT on the TLS port', async () => {
    const front = await start({});
    await closed(connectPlain(front, '\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00').resume());
    expect(Object.keys(front.front.state.refused)[0]).toMatch(/^ERR_SSL/);
    await front.empty();
  });

  test('a handshake that stalls, after nothing and in the middle', async () => {
    const front = await start({ handshakeTimeoutMs: 80 });
    const hello = Buffer.from('160301020001', 'hex');
    await Promise.all(['', hello].map((bytes) => closed(connectPlain(front, bytes).resume())));
    expect(await front.refused('time-out')).toBe(2);
    await front.empty();
  });

  test('more handshakes than there is room for end the oldest, and honest devices still come in', async () => {
    const front = await start({ maxHalfOpen: 3 });
    const stalled = [];
    for (let i = 0; i < 10; i++) {
      stalled.push(connectPlain(front));
      await once(stalled[i], 'connect');
    }
    await until(
      () => front.front.state.accepted === 10,
      () => 'accepted'
    );
    expect(front.front.state.refused.evicted).toBe(7);
    await once(connectTls(front), 'secureConnect');
    await until(
      () => front.front.state.open === 1,
      () => 'open'
    );
  });

  test('more connections than there is room for', async () => {
    const front = await start({ maxConnections: 1 });
    await once(connectTls(front), 'secureConnect');
    await closed(connectTls(front));
    await front.refused('full');
  });

  test('no certificate where one is required', async () => {
    const front = await start({ tls: withAuthority(), clientCert: 'required' });
    await closed(connectTls(front).resume());
    await front.refused('no certificate');
    expect(front.peers).toEqual([]);
  });

  test.each(['wanted', 'required'])(
    'a certificate of another authority where one is %s',
    async (clientCert) => {
      const stranger = authority.selfSigned();
      const front = await start({ tls: withAuthority(), clientCert });
      await closed(connectTls(front, stranger).resume());
      await front.refused('DEPTH_ZERO_SELF_SIGNED_CERT');
      expect(front.peers).toEqual([]);
    }
  );

  test('a certificate that has expired, and one that is not valid yet', async () => {
    const front = await start({ tls: withAuthority(), clientCert: 'required' });
    const old = authority.issue({ name: 'old', from: -3, to: -1 });
    const early = authority.issue({ name: 'early', from: 1, to: 2 });
    await closed(connectTls(front, old).resume());
    await front.refused('CERT_HAS_EXPIRED');
    await closed(connectTls(front, early).resume());
    await front.refused('CERT_NOT_YET_VALID');
  });

  test('a certificate without the name that is asked for', async () => {
    const front = await start({ tls: withAuthority(), clientCert: 'required', certIdentity: 'san' });
    const nameless = authority.issue({ name: 'x', san: 'IP:127.0.0.1' });
    await closed(connectTls(front, nameless).resume());
    await front.refused('no name in the certificate');
  });
});

describe('certificates of devices', () => {
  test.each([
    ['cn', 'pump-1'],
    ['san', 'pump-one']
  ])('by %s the device is %s', async (certIdentity, name) => {
    const front = await start({ tls: withAuthority(), clientCert: 'wanted', certIdentity });
    await once(connectTls(front, device), 'secureConnect');
    await until(
      () => front.peers.length === 1,
      () => 'peer'
    );
    expect(front.peers[0].device).toBe(name);
    await once(connectTls(front), 'secureConnect');
    await until(
      () => front.peers.length === 2,
      () => 'peer'
    );
    expect(front.peers[1]).not.toHaveProperty('device');
  });

  test('a session that is resumed has the same device', async () => {
    const front = await start({ tls: withAuthority(), clientCert: 'required' });
    const first = connectTls(front, device);
    const [session] = await once(first, 'session');
    const second = connectTls(front, { session });
    await once(second, 'secureConnect');
    expect(second.isSessionReused()).toBe(true);
    await until(
      () => front.peers.length === 2,
      () => JSON.stringify(front.front.state)
    );
    expect(front.peers.map((peer) => peer.device)).toEqual(['pump-1', 'pump-1']);
  });

  test('beside a login a certificate is needed, and names nobody', async () => {
    const front = await start({ tls: withAuthority(), clientCert: 'required', certIsLogin: false });
    await once(connectTls(front, device), 'secureConnect');
    await until(
      () => front.peers.length === 1,
      () => 'peer'
    );
    expect(front.peers[0]).not.toHaveProperty('device');
  });
});

describe('pre-shared keys', () => {
  const key = crypto.createHash('sha256').update('k').digest().subarray(0, 16);
  const psk = (identity, secret = key, more = {}) => ({
    ciphers: 'TLS_AES_128_GCM_SHA256:PSK-AES128-GCM-SHA256',
    checkServerIdentity: () => undefined,
    pskCallback: () => ({ psk: secret, identity }),
    ...more
  });
  const keyFile = (text) => {
    const file = authority.file(`keys-${crypto.randomUUID()}`);
    fs.writeFileSync(file, text);
    return file;
  };

  test.each(['TLSv1.2', 'TLSv1.3'])(
    'the identity is the device (%s), without any certificate',
    async (version) => {
      const front = await start({ tls: {}, pskFile: keyFile(`meter-1:${key.toString('hex')}\n`) });
      const range = { minVersion: version, maxVersion: version };
      await once(connectTls(front, psk('meter-1', key, range)), 'secureConnect');
      await until(
        () => front.peers.length === 1,
        () => JSON.stringify(front.front.state)
      );
      expect(front.peers[0].device).toBe('meter-1');
    }
  );

  test('a wrong key and an unknown identity do not come in', async () => {
    const front = await start({ tls: {}, pskFile: keyFile(`meter-1:${key.toString('hex')}\n`) });
    await closed(connectTls(front, psk('meter-1', Buffer.alloc(16))).resume());
    await closed(connectTls(front, psk('meter-2')).resume());
    expect(front.peers).toEqual([]);
    await front.empty();
  });

  test('where there are keys, nobody comes in with neither key nor certificate', async () => {
    const front = await start({ pskFile: keyFile(`meter-1:${key.toString('hex')}\n`) });
    await closed(connectTls(front).resume());
    await front.refused('no certificate');
  });

  test('a key that is added is known without a restart, and a bad file changes nothing', async () => {
    const file = keyFile('');
    const front = await start({ tls: {}, pskFile: file });
    fs.writeFileSync(file, `meter-1:${key.toString('hex')}\n`);
    await front.front.checkFiles();
    await once(connectTls(front, psk('meter-1')), 'secureConnect');
    fs.writeFileSync(file, 'meter-1:xyz\n');
    await front.front.checkFiles();
    expect(front.problems).toEqual([expect.stringMatching(/^Line 1 .* hexadecimal .* stays in use\.$/)]);
    await once(connectTls(front, psk('meter-1')), 'secureConnect');
  });
});

describe('files', () => {
  const copy = (issued, name) => {
    const files = { cert: authority.file(`${name}.pem`), key: authority.file(`${name}.key`) };
    fs.copyFileSync(issued.certFile, files.cert);
    fs.copyFileSync(issued.keyFile, files.key);
    return files;
  };
  const subjectOf = async (front) => {
    const socket = connectTls(front, { checkServerIdentity: () => undefined });
    await once(socket, 'secureConnect');
    return [socket, socket.getPeerCertificate().subject.CN];
  };

  test('a renewed certificate is used by new connections, and those that are open stay', async () => {
    const tlsFiles = copy(server, 'renewed');
    const front = await start({ tls: {}, tlsFiles });
    const [open, before] = await subjectOf(front);
    copy(authority.issue({ name: 'server-2' }), 'renewed');
    await front.front.checkFiles();
    expect([before, (await subjectOf(front))[1]]).toEqual(['server', 'server-2']);
    open.write('still here');
    expect(String((await once(open, 'data'))[0])).toBe('still here');
  });

  test('half a renewal, a key that is gone or a certificate that has ended change nothing, and are told', async () => {
    const tlsFiles = copy(server, 'half');
    const front = await start({ tls: {}, tlsFiles });
    fs.copyFileSync(authority.issue({ name: 'server-2' }).certFile, tlsFiles.cert);
    await front.front.checkFiles();
    copy(authority.issue({ name: 'server-3', from: -3, to: -1 }), 'half');
    await front.front.checkFiles();
    fs.writeFileSync(tlsFiles.key, '');
    await front.front.checkFiles();
    expect(front.problems).toEqual([
      expect.stringMatching(/KEY_VALUES_MISMATCH.* give a pair\. What was read before stays in use\.$/),
      expect.stringMatching(/ended on/),
      expect.stringMatching(/no private key|cannot be used/)
    ]);
    expect((await subjectOf(front))[1]).toBe('server');
  });

  test.each([
    [{ tls: {} }, /no certificate or no private key/],
    [
      { tlsFiles: { cert: '/none.pem', key: '/none.key' } },
      /\/none\.pem cannot be read \(ENOENT\)\. There is no such file/
    ],
    [{ tls: { cert: 'x', key: 'y' } }, /Give PEM files/],
    [{ clientCert: 'wanted' }, /no CA certificate/]
  ])('a listener that cannot work says why: %j', async (options, reason) => {
    await expect(start(options)).rejects.toThrow(reason);
  });
});

describe('WebSocket', () => {
  test.each(['ws', 'wss'])('%s: bytes cross, however they are framed', async (scheme) => {
    const front = await start({ transport: scheme });
    const ws = connectWs(front, { scheme });
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

  test('the engine closes: the device gets what was sent, and a close frame', async () => {
    const front = await start({ transport: 'ws' }, (socket) => socket.end('bye'));
    const ws = connectWs(front);
    expect(await received(ws)).toEqual(['bye', true]);
    expect((await closed(ws))[0]).toBe(1000);
    await front.empty();
  });

  test('a ping is answered', async () => {
    const front = await start({ transport: 'ws' });
    const ws = connectWs(front);
    await once(ws, 'open');
    ws.ping('x');
    expect(String((await once(ws, 'pong'))[0])).toBe('x');
  });

  test('an engine that does not read slows the device down', async () => {
    const front = await start({ transport: 'ws' }, (socket) => socket.pause());
    const ws = connectWs(front);
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

  test('a client certificate names the device', async () => {
    const front = await start({ transport: 'wss', tls: withAuthority(), clientCert: 'required' });
    await once(connectWs(front, { scheme: 'wss', ...device }), 'open');
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
    ['an old version', upgrade(['Sec-WebSocket-Protocol: mqtt']).map((line) => line.replace('13', '7')), 400, 'handshake'], // prettier-ignore
    ['no key', upgrade(['Sec-WebSocket-Protocol: mqtt']).filter((line) => !line.includes('Key')), 400, 'handshake'], // prettier-ignore
    ['no HTTP', ['\x10\x0c\x00\x04MQTT'], 400, 'HPE_INVALID_METHOD'],
    ['a head that is too large', upgrade([`X: ${'x'.repeat(20000)}`]), 431, 'HPE_HEADER_OVERFLOW']
  ])('%s', async (_what, request, status, reason) => {
    const front = await start({ transport: 'ws' });
    expect(await statusOf(front, request)).toBe(status);
    await front.refused(reason);
    expect(front.peers).toEqual([]);
    await front.empty();
  });

  test('a page of somewhere else, where pages are listed; no page at all', async () => {
    const origins = ['https://panel.example'];
    const front = await start({
      transport: 'ws',
      webSocket: { ...require('../fixtures/front').DEFAULTS.webSocket, origins }
    });
    const mqtt = 'Sec-WebSocket-Protocol: mqtt';
    expect(await statusOf(front, upgrade([mqtt, 'Origin: https://evil.example']))).toBe(403);
    expect(await statusOf(front, upgrade([mqtt]))).toBe(403);
    await once(connectWs(front, { origin: 'https://panel.example' }), 'open');
  });

  test('a handshake that stalls in its head', async () => {
    const front = await start({ transport: 'ws', handshakeTimeoutMs: 80 });
    await closed(connectPlain(front, 'GET /mqtt HTTP/1.1\r\nHost: x\r\n').resume());
    await front.refused('time-out');
  });

  test('a text frame', async () => {
    const front = await start({ transport: 'ws' });
    const ws = connectWs(front);
    await once(ws, 'open');
    ws.send('text');
    expect((await closed(ws))[0]).toBe(1003);
    await front.refused('text frame');
    await front.empty();
  });

  test('a message larger than allowed, in one frame or in many', async () => {
    const front = await start({ transport: 'ws' });
    for (const fin of [true, false]) {
      const ws = connectWs(front);
      await once(ws, 'open');
      for (let i = 0; i < 5; i++) ws.send(Buffer.alloc(fin ? 70000 : 16000), { fin });
      expect((await closed(ws))[0]).toBe(1009);
    }
    expect(await front.refused('WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')).toBe(2);
    await front.empty();
  });

  test('a frame that is not masked', async () => {
    const front = await start({ transport: 'ws' });
    const socket = connectPlain(front, `${upgrade(['Sec-WebSocket-Protocol: mqtt']).join('\r\n')}\r\n\r\n`);
    await once(socket, 'data');
    socket.write(Buffer.from('820178', 'hex'));
    await closed(socket.resume());
    await front.refused('WS_ERR_EXPECTED_MASK');
    await front.empty();
  });

  test('pings without end from one who reads no answer', async () => {
    const front = await start({ transport: 'ws' });
    const ws = connectWs(front);
    await once(ws, 'open');
    ws.pause();
    const isClosed = closed(ws);
    const flood = setInterval(() => {
      for (let i = 0; i < 2000 && ws.bufferedAmount < 1 << 22; i++)
        ws.ping(Buffer.alloc(125), undefined, () => {});
    }, 1);
    await front.empty();
    clearInterval(flood);
    ws.terminate();
    await isClosed;
  });
});
