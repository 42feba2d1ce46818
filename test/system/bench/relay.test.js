'use strict';
// The relay between gateway and cloud counts TLS records however the stream is split, and passes every byte on.

const { once } = require('node:events');
const net = require('node:net');
const tls = require('node:tls');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Relay, between } = require('../../../bench/harness/relay');
const { makeCertificates } = require('../../../bench/harness/certs');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('c++');
const { test: withOpenssl } = needs('openssl');

/** @param {number} type @param {number} length */
const record = (type, length) =>
  Buffer.from([type, 3, 3, length >> 8, length & 255, ...Array(length).fill(7)]);

describe('the relay', () => {
  /** @type {net.Server} */
  let server;
  /** Of the server. @type {net.Socket[]} */
  let accepted = [];
  /** @type {Relay} */
  let relay;

  /** @param {net.Server} made */
  async function start(made) {
    server = made;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    relay = await Relay.start({ host: '127.0.0.1', tlsPort: port }, { progressMs: 10 });
  }
  const join = async () => {
    const client = net.connect(relay.port, '127.0.0.1').setNoDelay(true);
    client.on('error', () => {});
    await once(client, 'connect');
    return client;
  };
  afterEach(async () => {
    for (const socket of accepted) socket.destroy();
    accepted = [];
    if (relay) await relay.stop();
    if (server) await new Promise((resolve) => server.close(resolve));
  });

  /** A server that keeps its input. */
  const listener = () => {
    const received = { bytes: Buffer.alloc(0), ends: 0 };
    const made = net.createServer((socket) => {
      accepted.push(socket);
      socket.on('data', (bytes) => (received.bytes = Buffer.concat([received.bytes, bytes])));
      socket.on('error', () => {});
      socket.on('close', () => (received.ends += 1));
    });
    return { made, received };
  };

  test('counts records split at every byte', async () => {
    const { made, received } = listener();
    await start(made);
    const stream = Buffer.concat([
      record(22, 3),
      record(23, 0),
      record(23, 20),
      record(21, 2),
      record(23, 1)
    ]);
    for (let cut = 1; cut < stream.length; cut += 1) {
      const before = await relay.read();
      const size = received.bytes.length;
      const client = await join();
      client.write(stream.subarray(0, cut));
      await eventually(() => received.bytes.length === size + cut, { everyMs: 1 });
      client.write(stream.subarray(cut));
      await eventually(() => received.bytes.length === size + stream.length, { everyMs: 1 });
      const after = await relay.read();
      expect(after.up.records - before.up.records).toBe(5);
      expect(between(before, after).up).toMatchObject({ bytes: stream.length, records: 3 });
      expect(received.bytes.subarray(size).equals(stream)).toBe(true);
      client.destroy();
    }
  });

  test('counts an incomplete record only when it is complete', async () => {
    const { made } = listener();
    await start(made);
    const client = await join();
    const whole = record(23, 300);
    client.write(whole.subarray(0, -1));
    await eventually(async () => (await relay.read()).up.bytes === whole.length - 1);
    expect((await relay.read()).up.records).toBe(0);
    client.write(whole.subarray(-1));
    await eventually(async () => (await relay.read()).up.records === 1);
  });

  test.each([
    ['a type that does not exist', Buffer.from([25, 3, 3, 0, 1, 0])],
    ['another protocol', Buffer.from('\x10\x0c\0\x04MQTT')],
    ['a length beyond the limit', Buffer.from([23, 3, 3, 255, 255])]
  ])('passes on and marks %s', async (_, bytes) => {
    const { made, received } = listener();
    await start(made);
    const client = await join();
    client.write(bytes);
    await eventually(() => received.bytes.equals(bytes));
    expect((await relay.read()).up).toMatchObject({ bytes: bytes.length, records: 0, broken: true });
  });

  test('holds back a client that sends to a broker that does not read, and loses nothing', async () => {
    const { made, received } = listener();
    await start(made);
    made.on('connection', (socket) => socket.pause());
    const client = await join();
    const size = 64 << 20;
    client.write(Buffer.alloc(size, 1));
    await eventually(() => accepted.length === 1);
    // Until nothing moves.
    let last = -1;
    await eventually(async () => {
      const { bytes } = (await relay.read()).up;
      const still = bytes === last && bytes > 0;
      last = bytes;
      return still;
    });
    expect(last).toBeLessThan(size);
    let got = received.bytes.length;
    accepted[0].removeAllListeners('data').on('data', (bytes) => (got += bytes.length));
    accepted[0].resume();
    await eventually(() => got === size);
  });

  test('passes an end on, both ways, after everything before it', async () => {
    const { made, received } = listener();
    await start(made);
    const first = await join();
    first.end(record(23, 5000));
    await eventually(() => received.ends === 1);
    expect(received.bytes.length).toBe(5005);
    const second = await join();
    second.resume();
    await eventually(() => accepted.length === 2);
    accepted[1].end('x');
    await once(second, 'close');
    expect((await relay.read()).open).toBe(0);
  });

  test('ends the connection without a broker', async () => {
    const { made } = listener();
    await start(made);
    await new Promise((resolve) => server.close(resolve));
    const client = await join();
    await once(client, 'close');
  });

  withOpenssl('counts real TLS 1.3, its records and its segments', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-relay-'));
    try {
      const files = await makeCertificates(folder);
      const read = (/** @type {string} */ file) => fs.readFileSync(file);
      let got = 0;
      await start(
        tls.createServer(
          { cert: read(files.cert), key: read(files.key), minVersion: 'TLSv1.3' },
          (socket) => {
            accepted.push(socket);
            socket.on('data', (bytes) => (got += bytes.length));
          }
        )
      );
      const client = tls.connect({ port: relay.port, host: '127.0.0.1', ca: read(files.ca) });
      await once(client, 'secureConnect');
      client.setNoDelay(true);
      client.write('0'); // the end of the handshake has passed when this arrives
      await eventually(() => got === 1);
      const before = await relay.read();
      for (let i = 0; i < 10; i += 1) {
        client.write(Buffer.alloc(100));
        await eventually(() => got === 1 + (i + 1) * 100);
      }
      client.write(Buffer.alloc(8000));
      await eventually(() => got === 9001);
      const { up } = between(before, await relay.read());
      // [RFC 8446 5.2] Header 5, content type 1, tag 16.
      expect(up).toMatchObject({ bytes: 9000 + 11 * 22, records: 11 });
      // 8,022 bytes do not fit into five segments of an Ethernet.
      expect(up.segments).toBeGreaterThanOrEqual(10 + 6);
      expect(up.ipBytes - up.bytes).toBeGreaterThanOrEqual(up.segments * 40);
      client.destroy();
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
});
