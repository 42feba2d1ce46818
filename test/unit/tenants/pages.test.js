'use strict';
// The pages of tenants with real HTTP servers behind them, real passwords, and hostile clients.

const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const WebSocket = require('ws');
const { eventually } = require('../../../bench/harness/net');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { PasswordVerifier } = require('../../../nodes/lib/login/password-verifier');
const { KeeperError } = require('../../../nodes/lib/tenants/keeper/keeper-error');
const { PageKeeper } = require('../../fixtures/tenants/page-keeper');
const { Pages } = require('../../../nodes/lib/tenants/pages');
const { PageServer, MAX_WAITING_OF_TENANT } = require('../../../nodes/lib/tenants/pages/page-server');

const CHEAP = { ln: 10, r: 8, p: 1 };
const PASSWORDS = { 'acme/alice': 'one', 'beta/bob': 'two', 'acme/': 'three' };

let folder;
let verifier;
let backend;
let comms;
let seen;
let server;
let port;
/** Wakes tenants when the test says so. */
let keeper;

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pages-'));
  const lines = await Promise.all(
    Object.entries(PASSWORDS)
      .filter(([user]) => user !== 'acme/')
      .map(async ([user, password]) => `${user}:${await hashPassword(Buffer.from(password), CHEAP)}\n`)
  );
  fs.writeFileSync(path.join(folder, 'users'), lines.join(''), { mode: 0o600 });
  verifier = new PasswordVerifier(path.join(folder, 'users'), { warn: () => {} });
});

afterAll(() => {
  verifier.close();
  fs.rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  seen = [];
  backend = http.createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      seen.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.concat(parts).toString()
      });
      response.setHeader('set-cookie', ['a=1; Domain=localhost; Path=/', 'b=2; Path=/']);
      response.setHeader('connection', 'x-hop');
      response.setHeader('x-hop', '1');
      response.end('hello');
    });
  });
  comms = new WebSocket.Server({ server: backend, path: '/comms' });
  comms.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${data}`)));
  await new Promise((resolve) => backend.listen(0, '127.0.0.1', resolve));
  keeper = new PageKeeper();
  await openServer();
});

/** @param {number} [holdMs] how long a request waits for its tenant; no test waits for the default */
async function openServer(holdMs = 60000) {
  server = new PageServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    verifier,
    keeper,
    pagesOf: (name) => (name === 'acme' ? backend.address().port : 0),
    warn: () => {},
    holdMs
  });
  port = await server.open();
}

afterEach(async () => {
  await server.close();
  backend.closeAllConnections();
  backend.close();
});

const basic = (user, password = PASSWORDS[user]) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const alice = { host: 'acme.localhost', authorization: basic('acme/alice') };

/** Waits for a figure that has no event. */
const until = (condition) => eventually(condition, { timeoutMs: 20000, everyMs: 5, what: String(condition) });

/** @returns {Promise<{status: number, headers: object, text: string}>} */
function ask(headers, { method = 'GET', url = '/', body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { port, host: '127.0.0.1', method, path: url, headers, agent: false },
      (response) => {
        let text = '';
        response.on('data', (part) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
      }
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Sends bytes as they are; resolves with everything that came back. */
function raw(bytes) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (part) => (text += part));
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

describe('a request', () => {
  test('proves the front to a tenant beyond loopback, and to no other', async () => {
    await ask({ ...alice, 'x-seganet-front': 'guess' });
    expect(seen[0].headers).not.toHaveProperty('x-seganet-front');
    await server.close();
    // It reaches this machine, and is no loopback address.
    keeper.host = '0.0.0.0';
    server = new PageServer({
      host: '127.0.0.1',
      port: 0,
      tls: null,
      verifier,
      keeper,
      pagesOf: () => backend.address().port,
      warn: () => {}
    });
    port = await server.open();
    await ask({ ...alice, 'x-seganet-front': 'guess' });
    expect(seen[1].headers).toMatchObject({ 'x-seganet-front': 'secret' });
  });

  test('wakes the tenant of its user, and is forwarded without the password', async () => {
    const { status, headers, text } = await ask(
      { ...alice, 'x-forwarded-for': '6.6.6.6', 'x-seganet-user': 'root' },
      { method: 'POST', url: '/a?b=1', body: 'xyz' }
    );
    expect([status, text]).toEqual([200, 'hello']);
    expect(keeper.calls).toEqual(['lease acme connection']);
    expect(seen).toEqual([
      {
        method: 'POST',
        url: '/a?b=1',
        body: 'xyz',
        headers: expect.objectContaining({
          host: `127.0.0.1:${backend.address().port}`,
          'x-forwarded-host': 'acme.localhost',
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-proto': 'http',
          'x-seganet-user': 'alice'
        })
      }
    ]);
    expect(seen[0].headers.authorization).toBeUndefined();
    expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2; Path=/']);
    expect(headers['x-hop']).toBeUndefined();
  });

  test('waits while the tenant starts, and many share one start', async () => {
    let wake;
    keeper.ready = new Promise((resolve) => (wake = resolve));
    const answers = Array.from({ length: 20 }, () => ask(alice, { method: 'PUT', body: 'held' }));
    await until(() => !(server.figures.waiting < 20));
    expect(seen).toEqual([]);
    wake();
    const all = await Promise.all(answers);
    expect(all.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(seen.map(({ body }) => body)).toEqual(Array(20).fill('held'));
    expect(keeper.calls).toEqual(['lease acme connection']);
  });

  test('gets 503 with Retry-After if the tenant needs longer, and the start continues', async () => {
    keeper.ready = new Promise(() => {});
    await server.close();
    await openServer(50);
    const { status, headers } = await ask(alice);
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect(server.figures).toMatchObject({ waiting: 0, awake: 1 });
  });

  test('gets 503 if the tenant cannot start, with the time of the keeper', async () => {
    keeper.lease = () => Promise.reject(new KeeperError('It crashed.', { code: 'failed', retryMs: 8100 }));
    const { status, headers, text } = await ask(alice);
    expect([status, headers['retry-after'], text]).toEqual([503, '9', 'acme is not ready yet.\n']);
  });

  test('gets 502 if the tenant ends the connection, and 404 if it has no pages', async () => {
    backend.removeAllListeners('request');
    backend.on('request', (request) => request.socket.destroy());
    expect((await ask(alice)).status).toBe(502);
    expect((await ask({ host: 'beta.localhost', authorization: basic('beta/bob') })).status).toBe(404);
  });

  test('whose answer cannot be forwarded gets 502, and the others continue', async () => {
    const answers = ['HTTP/1.1 000 x\r\n\r\n', 'HTTP/1.1 200 a\x01b\r\nContent-Length: 2\r\n\r\nok', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', 'nonsense\r\n\r\n']; // prettier-ignore
    const strange = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(answers[number]));
    });
    let number = 0;
    await new Promise((resolve) => strange.listen(0, '127.0.0.1', resolve));
    const { port: own } = backend.address();
    const { address } = backend;
    backend.address = () => strange.address();
    const statuses = [];
    for (number = 0; number < answers.length; number++) statuses.push((await ask(alice)).status);
    backend.address = address;
    expect(backend.address().port).toBe(own);
    expect(statuses.filter((status) => status === 502).length).toBeGreaterThanOrEqual(3);
    expect((await ask(alice)).status).toBe(200);
    strange.close();
  });

  test('of a stranger to upgrade leaves no connection, even if the client does not close', async () => {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.write(
      'GET /comms HTTP/1.1\r\nHost: acme.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nmore'
    );
    socket.resume();
    await once(socket, 'end');
    await until(() => server.connections === 0);
    socket.destroy();
  });

  test('of an unknown user wakes no tenant', async () => {
    const wrong = [
      [421, { authorization: basic('acme/alice') }],
      [421, { ...alice, host: '127.0.0.1' }],
      [421, { ...alice, host: 'Acme_.localhost' }],
      [401, { host: 'acme.localhost' }],
      [401, { ...alice, authorization: basic('acme/alice', 'wrong') }],
      [401, { ...alice, authorization: basic('beta/bob') }],
      [401, { ...alice, authorization: basic('acme/') }],
      [401, { ...alice, authorization: 'Basic !!!' }],
      [401, { ...alice, authorization: `Basic ${'A'.repeat(2000)}` }],
      [401, { ...alice, authorization: 'Bearer abc' }]
    ];
    for (const [status, headers] of wrong)
      expect([status, (await ask(headers)).status]).toEqual([status, status]);
    expect((await ask({ host: 'acme.localhost' })).headers['www-authenticate']).toBe(
      'Basic realm="acme", charset="UTF-8"'
    );
    expect(await raw('GET http://acme.localhost/ HTTP/1.1\r\nHost: acme.localhost\r\n\r\n')).toMatch(
      /^HTTP\/1.1 400/
    );
    expect(await raw('\x16\x03\x01\x02\x00')).toMatch(/^HTTP\/1.1 400/);
    expect(keeper.calls).toEqual([]);
    expect(seen).toEqual([]);
  });

  test('of a page of another site changes nothing', async () => {
    const origin = 'http://beta.localhost';
    expect((await ask({ ...alice, origin }, { method: 'POST' })).status).toBe(403);
    expect((await ask({ ...alice, origin: 'null' }, { method: 'DELETE' })).status).toBe(403);
    expect((await ask({ ...alice, origin })).status).toBe(200);
    expect((await ask({ ...alice, origin: 'http://acme.localhost' }, { method: 'POST' })).status).toBe(200);
    const own = `127.0.0.1:${backend.address().port}`;
    expect(seen.map(({ headers }) => headers.origin)).toEqual([origin, `http://${own}`]);
  });

  test('of a link of another site is for the tenant like an address that the user typed, an image of one is not', async () => {
    for (const mode of ['navigate', 'no-cors'])
      await ask({
        ...alice,
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': mode,
        'sec-fetch-dest': 'document'
      });
    expect(seen.map(({ headers }) => headers['sec-fetch-site'])).toEqual(['none', 'cross-site']);
  });

  test('with a body of a GET reaches the tenant as one request', async () => {
    const inner = 'GET /inner HTTP/1.1\r\nHost: x\r\n\r\n';
    const head = `GET /outer HTTP/1.1\r\nHost: acme.localhost\r\nAuthorization: ${alice.authorization}\r\nConnection: close\r\n`;
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
    const counted = `${head}Content-Length: ${inner.length}\r\n\r\n${inner}`;
    for (const bytes of [chunked, counted]) expect(await raw(bytes)).toMatch(/^HTTP\/1.1 200/);
    expect(seen.map(({ url, body }) => [url, body])).toEqual([
      ['/outer', inner],
      ['/outer', inner]
    ]);
  });

  test('beyond the limit of its tenant gets 503 at once', async () => {
    let wake;
    keeper.ready = new Promise((resolve) => (wake = resolve));
    const waiting = Array.from({ length: MAX_WAITING_OF_TENANT }, () => ask(alice));
    await until(() => !(server.figures.waiting < MAX_WAITING_OF_TENANT));
    expect((await ask(alice)).text).toBe('Too many requests wait for tenants.\n');
    wake();
    await Promise.all(waiting);
    expect(server.figures.waiting).toBe(0);
  });

  test('of a client that goes away does not wait', async () => {
    keeper.ready = new Promise(() => {});
    const socket = net.connect(port, '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\nHost: acme.localhost\r\nAuthorization: ${alice.authorization}\r\n\r\n`);
    await until(() => !(server.figures.waiting < 1));
    socket.destroy();
    await until(() => !(server.figures.waiting > 0));
    expect(server.figures.waiting).toBe(0);
  });
});

describe('a WebSocket', () => {
  const open = (headers) => new WebSocket(`ws://127.0.0.1:${port}/comms`, { headers });

  test('wakes the tenant, and carries messages in both directions', async () => {
    const socket = open(alice);
    await once(socket, 'open');
    socket.send('hi');
    expect(String((await once(socket, 'message'))[0])).toBe('echo hi');
    expect(server.figures).toMatchObject({ passed: 1, awake: 1 });
    socket.close();
    await once(socket, 'close');
  });

  test('of a stranger, of another site, or to another path is refused', async () => {
    const refused = async (socket) => {
      const [, response] = await once(socket, 'unexpected-response');
      response.resume();
      return response.statusCode;
    };
    expect(await refused(open({ host: 'acme.localhost' }))).toBe(401);
    expect(await refused(open({ ...alice, origin: 'http://beta.localhost' }))).toBe(403);
    const elsewhere = new WebSocket(`ws://127.0.0.1:${port}/other`, { headers: alice });
    expect(await refused(elsewhere)).toBe(400);
  });

  test('ends when the login of its user does', async () => {
    const socket = open(alice);
    await once(socket, 'open');
    expect([server.endUser('beta/alice'), server.endUser('acme/alice')]).toEqual([0, 1]);
    await once(socket, 'close');
    expect(server.endUser('acme/alice')).toBe(0);
  });

  test('ends when its tenant ends, and when the gateway does', async () => {
    const [first, second] = [open(alice), open(alice)];
    await Promise.all([once(first, 'open'), once(second, 'open')]);
    const [guest] = comms.clients;
    guest.terminate();
    const closed = [once(first, 'close'), once(second, 'close')];
    await Promise.race(closed);
    await server.close();
    await Promise.all(closed);
    expect(keeper.calls.at(-1)).toBe('release acme-1');
  });
});

describe('a lease', () => {
  test('is returned when the server closes', async () => {
    await ask(alice);
    await server.close();
    expect(keeper.calls.at(-1)).toBe('release acme-1');
  });
});

test('plain HTTP is for loopback addresses', () => {
  const options = { host: '0.0.0.0', port: 0, tls: null, verifier, keeper, pagesOf: () => 0, warn: () => {} };
  expect(() => new PageServer(options)).toThrow('in the clear at 0.0.0.0');
});

test('a port in use, and wrong settings, are reported with a sentence', async () => {
  const other = net.createServer();
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
  let report;
  const reported = new Promise((resolve) => (report = resolve));
  const options = {
    host: '127.0.0.1',
    port: other.address().port,
    tls: null,
    passwordFile: path.join(folder, 'users'),
    keeper,
    pagesOf: () => 0,
    warn: () => {},
    error: report
  };
  const pages = new Pages(options);
  expect(await reported).toMatch(/cannot be opened on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/);
  expect(pages.port).toBe(0);
  await pages.close();
  other.close();
  expect(() => new Pages({ ...options, passwordFile: '' })).toThrow('need a password file');
  expect(() => new Pages({ ...options, passwordFile: '/nonexistent/users' })).toThrow('/nonexistent/users');
  expect(() => new Pages({ ...options, host: '0.0.0.0' })).toThrow('in the clear');
});
