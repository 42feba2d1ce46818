'use strict';

// The engine's connections (UplinkConnection) as streams: real TCP and TLS servers of Node on loopback, every kind of
// end.

const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { once } = require('node:events');
const { pipeline } = require('node:stream/promises');
const { Readable } = require('node:stream');
const { Worker } = require('node:worker_threads');
const native = require('../../../native');
const { Authority } = require('../../fixtures/devices/authority');
const { until } = require('../../../bench/harness/broker');
const { Dial } = require('../../../nodes/lib/uplink/session/dial');
const { ConnectionStream } = require('../../../nodes/lib/uplink/session/connection-stream');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

const { describe: withOpenssl } = needs('openssl');

jest.setTimeout(60000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const countDescriptors = () => fs.readdirSync('/proc/self/fd').length;
const settles = (count) =>
  until(() => countDescriptors() <= count, 5000, `${countDescriptors()} descriptors to become ${count}`);
const tick = () => new Promise(setImmediate);

/** Under TLS, where there is TLS. @type {net.Socket[]} */
const raws = [];

/** @param {(socket: net.Socket) => void} serve @param {tls.TlsOptions | null} options */
async function listen(serve, options = null) {
  const sockets = new Set();
  const both = (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    serve(socket);
  };
  const server = options ? tls.createServer(options, both) : net.createServer(both);
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.on('connection', (socket) => raws.push(socket));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return /** @type {net.AddressInfo} */ (server.address()).port;
}

/** @param {number} port @param {import('../../../native').UplinkTls | null} [security] */
async function connect(port, security = null, name = 'localhost') {
  const dial = { host: '127.0.0.1', port, timeoutMs: 5000, socket: {}, native, wantsDescriptor: true };
  const { fd } = await new Dial(dial).connect();
  const stream = new ConnectionStream({ native, fd: Number(fd), tls: security, name });
  cleanups.push(() => stream.destroy());
  return stream;
}

/** Returns how it ends: the error's code, or 'in order'. @param {ConnectionStream} stream */
function endOf(stream) {
  let code = 'in order';
  stream.on('error', (error) => (code = /** @type {any} */ (error).code ?? error.message));
  stream.resume();
  return new Promise((resolve) => stream.on('close', () => resolve(code)));
}

/** @param {() => tls.TlsOptions | null} server @param {() => import('../../../native').UplinkTls | null} client */
function everyKind(server, client) {
  test('carries megabytes both ways whole, however slowly each end reads', async () => {
    const port = await listen((socket) => {
      socket.pipe(socket);
      socket.pause();
      setTimeout(() => socket.resume(), 50);
    }, server());
    const stream = await connect(port, client());
    const size = 65000;
    const count = 120;
    const chunks = Readable.from(
      (function* () {
        for (let i = 0; i < count; i++) yield Buffer.alloc(size, i);
      })()
    );
    void pipeline(chunks, stream, { end: false });
    const got = [];
    let length = 0;
    while (length < count * size) {
      const chunk = stream.read();
      if (chunk) {
        got.push(chunk);
        length += chunk.length;
      } else await once(stream, 'readable');
      if (got.length % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const all = Buffer.concat(got);
    for (let i = 0; i < count; i++)
      expect(all.subarray(i * size, (i + 1) * size).every((b) => b === i)).toBe(true);
  });

  test('delivers early writes when it is open, and corked writes together', async () => {
    const got = [];
    const port = await listen((socket) => socket.on('data', (bytes) => got.push(bytes.toString())), server());
    const stream = await connect(port, client());
    stream.write('early ');
    stream.write('and ');
    stream.end('last');
    await until(() => got.join('') === 'early and last');
    const other = await connect(port, client());
    await until(() => other.isOpen);
    const { wire } = other;
    const write = jest.fn((bytes) => wire.write(bytes));
    other.wire = /** @type {any} */ ({ write, close: () => wire.close() });
    other.cork();
    for (const part of 'packet') other.write(part);
    other.uncork();
    await until(() => got.at(-1) === 'packet');
    expect(write).toHaveBeenCalledTimes(1);
  });

  test('closes when the far end ends in order, also with a pending write, and completes the write', async () => {
    const port = await listen((socket) => {
      socket.pause();
      setTimeout(() => socket.end('bye'), 30);
    }, server());
    const stream = await connect(port, client());
    const received = [];
    const got = [];
    stream.on('data', (bytes) => got.push(bytes));
    stream.write(Buffer.alloc(30e6), (error) => received.push(Boolean(error)));
    stream.write('behind', (error) => received.push(Boolean(error)));
    await Promise.race([
      endOf(stream),
      new Promise((_, reject) => setTimeout(() => reject(new Error('no end')), 5000 * PATIENCE))
    ]);
    await until(() => received.length === 2);
    expect([Buffer.concat(got).toString(), received]).toEqual(['bye', [true, true]]);
  });

  test('ends when the far end resets it', async () => {
    const port = await listen(() => setTimeout(() => raws.at(-1).resetAndDestroy(), 20), server());
    expect(await endOf(await connect(port, client()))).toBe('ECONNRESET');
  });

  test('leaves no descriptor and emits no event when it is closed at any moment', async () => {
    const port = await listen((socket) => socket.pipe(socket), server());
    await tick();
    const before = countDescriptors();
    for (let i = 0; i < 60; i++) {
      const stream = await connect(port, client());
      stream.on('error', () => {});
      stream.on('data', () => expect(stream.destroyed).toBe(false));
      for (let j = i % 12; j > 0; j--) {
        if (!stream.destroyed) stream.write(Buffer.alloc(1000 * j));
        await (j % 2 ? tick() : new Promise((resolve) => setTimeout(resolve, 1)));
      }
      stream.destroy();
      stream.destroy();
      expect([stream.fd, stream.wire.write(Buffer.from('x')), stream.wire.leave()]).toEqual([null, true, []]);
    }
    await settles(before + 2);
  });

  test('leaves no descriptor when its thread is ended in the middle, a hundred times', async () => {
    const port = await listen((socket) => socket.pipe(socket), server());
    const workerData = { port, security: client() };
    const before = countDescriptors();
    for (let i = 0; i < 100; i++) {
      const worker = new Worker(require.resolve('../../fixtures/uplink/connection-worker'), { workerData });
      await once(worker, 'message');
      await new Promise((resolve) => setTimeout(resolve, i % 7));
      await worker.terminate();
    }
    await settles(before + 2);
  });
}

describe('TCP', () => everyKind(() => null, () => null)); // prettier-ignore

withOpenssl('TLS', () => {
  /** @type {Authority} */
  let authority;
  /** @type {{cert: string, key: string}} */
  let good;
  beforeAll(() => {
    authority = new Authority();
    good = authority.issue();
  });
  afterAll(() => authority.remove());
  /** @returns {import('../../../native').UplinkTls} */
  const security = () => ({ ca: authority.ca, minVersion: 'TLSv1.3', servername: 'localhost' });

  everyKind(() => good, security);

  test('sends nothing with a certificate for another name', async () => {
    const got = [];
    const port = await listen((socket) => socket.on('data', (bytes) => got.push(bytes)), good);
    const stream = await connect(port, security(), 'elsewhere.example.com');
    stream.write('secret');
    expect(await endOf(stream)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(got).toEqual([]);
  });

  test('handles an unknown authority, and a server that ends silently', async () => {
    const other = new Authority();
    cleanups.push(() => other.remove());
    const port = await listen(() => {}, good);
    const code = await endOf(await connect(port, { ...security(), ca: other.ca }));
    expect(code).toMatch(/UNABLE_TO|SELF_SIGNED|CERT_SIGNATURE/);
    const silent = await listen((socket) => socket.destroy());
    expect(await endOf(await connect(silent, security()))).toBe('ECONNRESET');
  });

  test('leaves the descriptor to the caller for keys that OpenSSL cannot use', async () => {
    const port = await listen(() => {}, good);
    const before = countDescriptors();
    const dial = new Dial({
      host: '127.0.0.1',
      port,
      timeoutMs: 5000,
      socket: {},
      native,
      wantsDescriptor: true
    });
    const { fd } = await dial.connect();
    const bad = { ...security(), cert: 'no PEM', key: 'no PEM' };
    expect(() => new ConnectionStream({ native, fd: Number(fd), tls: bad, name: 'x' })).toThrow();
    expect(native.socketInfo(Number(fd)).localAddress).toBe('127.0.0.1');
    dial.cancel();
    await settles(before + 1);
  });
});
