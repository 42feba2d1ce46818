'use strict';
// The TCP services of tenants, with real TLS clients, real services, and hostile clients.

const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { once } = require('node:events');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { KeeperError } = require('../../../nodes/lib/tenants/keeper/keeper-error');
const { Streams } = require('../../../nodes/lib/tenants/streams');
const { MAX_OF_TENANT, StreamServer } = require('../../../nodes/lib/tenants/streams/stream-server');
const { Authority } = require('../../fixtures/devices/authority');
const { PageKeeper } = require('../../fixtures/tenants/page-keeper');

const { describe, test } = needs('openssl');
const MOST_BYTES = 3 << 20;

let authority, stranger;
let own, alice, nobody, mallory;
let service, keeper, server, port, heard;
const made = [];

/** @param {object} files */
const read = ({ certFile, keyFile }) => ({ cert: fs.readFileSync(certFile), key: fs.readFileSync(keyFile) });

beforeAll(() => {
  authority = new Authority();
  stranger = new Authority();
  own = authority.issue({ san: 'DNS:localhost,IP:127.0.0.1' });
  alice = read(authority.issue({ name: 'alice', organization: 'acme' }));
  nobody = read(authority.issue({ name: 'nobody' }));
  mallory = read(stranger.issue({ name: 'alice', organization: 'acme' }));
});

afterAll(() => {
  authority?.remove();
  stranger?.remove();
});

/** @param {object} [changes] */
const options = (changes) => ({
  host: '127.0.0.1',
  port: 0,
  tls: {
    options: { minVersion: 'TLSv1.2' },
    files: { ca: authority.caFile, cert: own.certFile, key: own.keyFile }
  },
  keeper,
  portOf: (tenant) => (['acme', 'beta'].includes(tenant) ? service.address().port : 0),
  warn: () => {},
  ...changes
});

beforeEach(async () => {
  heard = [];
  // It answers with what it got, in its own time, and ends when the client has ended.
  service = net.createServer({ allowHalfOpen: true }, (socket) => {
    heard.push(socket);
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve));
  keeper = new PageKeeper();
  server = new StreamServer(options());
  port = await server.open();
});

afterEach(async () => {
  for (const socket of made.splice(0)) socket.destroy();
  await server.close();
  for (const socket of heard) socket.destroy();
  service.close();
});

/** @param {object} [identity] @param {object} [changes] @returns {tls.TLSSocket} */
function connect(identity = {}, changes = {}) {
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    ca: fs.readFileSync(authority.caFile),
    ...identity,
    ...changes
  });
  socket.on('error', () => {});
  made.push(socket);
  return socket;
}

/** @param {net.Socket} socket that reads nothing else */
function closed(socket) {
  socket.resume();
  return new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', resolve)));
}

/** @param {tls.TLSSocket} socket @returns {Promise<Buffer>} all that it gets until the end */
async function rest(socket) {
  const parts = [];
  for await (const part of socket) parts.push(part);
  return Buffer.concat(parts);
}

describe('the service of a tenant', () => {
  test('is reached by a client of its organization, which wakes it', async () => {
    let wake;
    keeper.ready = new Promise((resolve) => (wake = resolve));
    const client = connect(alice);
    client.write('early');
    await eventually(() => keeper.calls.includes('lease acme connection'));
    expect(heard).toHaveLength(0);
    wake();
    const [data] = await once(client, 'data');
    expect(String(data)).toBe('early');
    client.destroy();
    await eventually(() => server.figures.connections === 0);
    expect(server.figures).toMatchObject({ passed: 1, refused: 0, failed: 0 });
  });

  test('gets all bytes, and the end of each direction', async () => {
    const client = connect(alice, { allowHalfOpen: true });
    const sent = Buffer.alloc(MOST_BYTES, 'seganet');
    client.end(sent);
    expect((await rest(client)).equals(sent)).toBe(true);
    await eventually(() => server.figures.connections === 0);
  });

  test('that ends first, delivers all of its bytes', async () => {
    const last = Buffer.alloc(MOST_BYTES, 'last words');
    service.removeAllListeners('connection');
    service.on('connection', (socket) => socket.end(last));
    expect((await rest(connect(alice))).equals(last)).toBe(true);
  });

  test('that resets the connection, ends that of the client', async () => {
    const client = connect(alice);
    await eventually(() => heard.length === 1);
    heard[0].resetAndDestroy();
    await closed(client);
    expect(server.figures.connections).toBe(0);
  });

  test('that does not listen, ends the connection', async () => {
    service.close();
    await closed(connect(alice));
    expect(server.figures.failed).toBe(1);
  });

  test('has its lease until the last client has gone', async () => {
    const [first, second] = [connect(alice), connect(alice)];
    await eventually(() => heard.length === 2);
    expect(keeper.calls.filter((call) => call.startsWith('lease'))).toHaveLength(1);
    first.destroy();
    await eventually(() => server.figures.connections === 1);
    expect(server.figures.awake).toBe(1);
    second.destroy();
    await server.close();
    expect(keeper.calls.at(-1)).toBe('release acme-1');
  });
});

describe('a client wakes nobody', () => {
  afterEach(() => expect(keeper.calls).toEqual([]));

  test.each([
    ['without a certificate', () => ({})],
    ['of another authority', () => mallory],
    ['without an organization', () => nobody],
    [
      'of an organization that is no tenant',
      () => read(authority.issue({ name: 'x', organization: 'gamma' }))
    ],
    ['of an organization that is no name', () => read(authority.issue({ name: 'x', organization: 'Acme' }))]
  ])('%s', async (_name, identity) => {
    const client = connect(identity());
    await closed(client);
    await eventually(() => server.figures.refused === 1);
  });

  test('that is not TLS, or leaves within the handshake', async () => {
    await server.close();
    server = new StreamServer(options({ handshakeMs: 100 }));
    port = await server.open();
    const plain = net.connect(port, '127.0.0.1');
    plain.on('error', () => {});
    plain.write('GET / HTTP/1.1\r\n\r\n');
    await closed(plain);
    const half = net.connect(port, '127.0.0.1');
    await once(half, 'connect');
    half.destroy();
    await eventually(() => server.figures.connections === 0);
  });
});

test('a client that resets the connection while the tenant starts ends the wait', async () => {
  keeper.ready = new Promise(() => {});
  const socket = net.connect(port, '127.0.0.1');
  connect(alice, { socket });
  await eventually(() => keeper.calls.length === 1);
  socket.resetAndDestroy();
  await eventually(() => server.figures.connections === 0);
  await server.close();
  expect(heard).toHaveLength(0);
});

test('a tenant that does not start in time ends the connection', async () => {
  await server.close();
  keeper.ready = new Promise(() => {});
  server = new StreamServer(options({ holdMs: 50 }));
  port = await server.open();
  await closed(connect(alice));
  expect(server.figures.failed).toBe(1);
});

test('a keeper that refuses ends the connection', async () => {
  keeper.lease = () => Promise.reject(new KeeperError('failed', { code: 'failed' }));
  await closed(connect(alice));
  expect(server.figures.failed).toBe(1);
});

test(`a tenant has at most ${MAX_OF_TENANT} connections`, async () => {
  for (let i = 0; i < MAX_OF_TENANT; i++) connect(alice);
  await eventually(() => heard.length === MAX_OF_TENANT);
  const beta = read(authority.issue({ name: 'bob', organization: 'beta' }));
  await closed(connect(alice));
  const other = connect(beta);
  other.write('hello');
  expect(String((await once(other, 'data'))[0])).toBe('hello');
}, 30000);

test('a new authority is used for new connections, and open ones continue', async () => {
  const client = connect(alice);
  client.write('one');
  await once(client, 'data');
  const before = fs.readFileSync(authority.caFile);
  try {
    fs.writeFileSync(authority.caFile, fs.readFileSync(stranger.caFile));
    await server.refresh();
    await closed(connect(alice, { rejectUnauthorized: false }));
    const now = connect(mallory, { rejectUnauthorized: false });
    now.write('hello');
    expect(String((await once(now, 'data'))[0])).toBe('hello');
    client.write('two');
    expect(String((await once(client, 'data'))[0])).toBe('two');
  } finally {
    fs.writeFileSync(authority.caFile, before);
  }
});

test('the port is tried again while it is in use', async () => {
  const errors = [];
  const error = (sentence) => errors.push(sentence);
  const streams = new Streams(options({ port, error }));
  await eventually(() => errors.length === 1);
  expect(errors[0]).toContain('services cannot be opened on 127.0.0.1');
  expect(streams.port).toBe(0);
  await streams.close();
});

test('needs a TLS configuration', () => {
  expect(() => new Streams(options({ tls: null, error: () => {} }))).toThrow('TLS configuration');
});
