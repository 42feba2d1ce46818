'use strict';
// The port of the status page against clients that want more than the page, or want nothing but to occupy it.

const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const os = require('node:os');
const { join } = require('node:path');
const net = require('node:net');
const { once } = require('node:events');
const { makeCertificates } = require('../../../bench/harness/certificates');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const {
  StatusServer,
  MAX_CONNECTIONS,
  MAX_LOGINS,
  MAX_BODY_BYTES
} = require('../../../nodes/lib/live/status-server');

const { test: withOpenssl } = needs('openssl');

/** @type {StatusServer[]} */
const servers = [];
/** @type {net.Socket[]} */
const sockets = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** @type {string[]} what reached Node-RED */
let passed = [];

/** @param {object} [options] */
async function start(options = {}) {
  passed = [];
  const server = new StatusServer({
    host: '127.0.0.1',
    port: 0,
    root: '/',
    hasLogin: false,
    tls: null,
    pass(request, response) {
      passed.push(`${request.method} ${request.url}`);
      response.end('page');
    },
    ...options
  });
  servers.push(server);
  return server.open();
}

/**
 * @param {number} port
 * @param {string} path
 * @param {import('http').RequestOptions & { body?: string }} [options]
 * @returns {Promise<{ status: number, text: string, headers: any }>}
 */
function ask(port, path, { body, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, path, agent: false, ...options }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** @param {number} port @param {string} [text] sent at once @returns {Promise<net.Socket>} */
async function connect(port, text = '') {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

describe('the port of the status page', () => {
  test('passes the requests of the page', async () => {
    const port = await start();
    const paths = [
      ...['/seganet', '/seganet/', '/seganet/live?devices=on', '/seganet/main.mjs', '/seganet/status.css'],
      ...['/seganet/texts.json', '/seganet/engines/gw/dead-letters?after=0', '/auth/login'],
      ...['/seganet/directory.html', '/seganet/directory', '/seganet/directory/find/q?property=t'],
      ...[
        '/seganet/directory/find/things?limit=25',
        '/seganet/overlay-services?q=hall',
        '/seganet/demand?limit=1',
        '/seganet/shadow?device=a'
      ],
      ...['/seganet/overlay-services/policy', '/seganet/overlay-services/audit'],
      ...['/seganet/healthz?draining=404', '/seganet/readyz?exclude=uplink', '/seganet/metrics']
    ];
    for (const path of paths) expect([path, (await ask(port, path)).status]).toEqual([path, 200]);
    const post = { method: 'POST', body: '{}' };
    const actions = ['wake', 'sleep', 'backup', 'logs'].map((action) => `/seganet/tenants/node/${action}`);
    for (const action of ['invite', 'withdraw', 'revoke', 'resume', 'policy', 'policy/review'])
      actions.push(`/seganet/overlay-services/${action}`);
    const posted = [
      '/auth/token',
      '/seganet/engines/gw/dead-letters',
      '/seganet/demand',
      '/seganet/shadow',
      ...actions
    ];
    for (const path of posted) expect([path, (await ask(port, path, post)).status]).toEqual([path, 200]);
    const deleted = ['/seganet/demand/pump%2F1', '/seganet/shadow/pump%2F1'];
    for (const path of deleted) expect((await ask(port, path, { method: 'DELETE' })).status).toBe(200);
    const changes = [...posted.map((path) => `POST ${path}`), ...deleted.map((path) => `DELETE ${path}`)];
    expect(passed).toEqual([...paths.map((path) => `GET ${path}`), ...changes]);
    expect(await ask(port, '/')).toMatchObject({ status: 302, headers: { location: '/seganet/' } });
  });

  test.each([
    ...['/flows', '/nodes', '/settings', '/red/red.min.js', '/seganet/engines/gw/stats', '/seganet/metrics/'],
    ...['/seganet/../flows', '/seganet/%2e%2e/flows', '/seganet//live', '/auth/revoke', '/auth/tokens'],
    ...[
      '/seganet/directory/find/search/sparql',
      '/seganet/directory/find',
      '/seganet/directory/find/things/urn:a'
    ],
    ...['http://127.0.0.1/flows', '*', '/seganet/live/../../flows', '/seganet/main.mjs/flows'],
    ...['/seganet/overlay-services/rotate', '/seganet/overlay/net']
  ])('passes nothing else: %s', async (path) => {
    const port = await start();
    expect((await ask(port, path)).status).toBe(404);
    expect((await ask(port, path, { method: 'POST', body: '{}' })).status).toBe(404);
    for (const method of ['PUT', 'DELETE', 'OPTIONS'])
      expect((await ask(port, '/seganet/live', { method })).status).toBe(404);
    expect(passed).toEqual([]);
  });

  test('works below the root of the admin API', async () => {
    const port = await start({ root: '/admin/' });
    expect((await ask(port, '/admin/seganet/')).status).toBe(200);
    expect((await ask(port, '/seganet/')).status).toBe(404);
    expect((await ask(port, '/')).headers.location).toBe('/admin/seganet/');
  });

  test.each(['0.0.0.0', '::', '192.0.2.1', 'gateway.example.org'])(
    'is not opened to the network without a login: %s',
    async (host) => {
      await expect(start({ host })).rejects.toThrow(/without a login/);
    }
  );

  test('answers pages of other sites only with a login', async () => {
    const open = await start();
    const status = async (/** @type {number} */ port, /** @type {any} */ headers) =>
      (await ask(port, '/seganet/live', { headers })).status;
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80', '['])
      expect([host, await status(open, { host })]).toEqual([host, 403]);
    expect(await status(open, { host: `localhost:${open}` })).toBe(200);
    expect(await status(open, { host: `127.0.0.1:${open}`, origin: `http://127.0.0.1:${open}` })).toBe(200);
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:1'])
      expect([origin, await status(open, { host: `127.0.0.1:${open}`, origin })]).toEqual([origin, 403]);
    const login = await start({ hasLogin: true });
    expect(await status(login, { host: 'gateway.example.org' })).toBe(200);
  });

  test('answers a page of another site that sends no Origin only when it links to a page', async () => {
    const port = await start();
    const get = async (/** @type {string} */ path, /** @type {any} */ site, mode = 'no-cors') =>
      (
        await ask(port, path, {
          headers: { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': 'document' }
        })
      ).status;
    const question = '/seganet/directory/find/q?property=t';
    for (const site of ['cross-site', 'same-site']) {
      for (const path of [question, '/seganet/live', '/seganet/'])
        expect([path, await get(path, site)]).toEqual([path, 403]);
      expect(await get(question, site, 'navigate')).toBe(403);
      for (const path of ['/seganet', '/seganet/', '/seganet/directory.html'])
        expect([path, await get(path, site, 'navigate')]).toEqual([path, 200]);
      expect(await get('/', site, 'navigate')).toBe(302);
    }
    for (const site of ['same-origin', 'none']) expect(await get(question, site)).toBe(200);
    const login = await start({ hasLogin: true });
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
    expect((await ask(login, question, { headers })).status).toBe(200);
  });

  test('takes no body that is long or of unknown length', async () => {
    const port = await start();
    const post = (/** @type {any} */ headers, body = '') =>
      ask(port, '/seganet/engines/gw/dead-letters', { method: 'POST', headers, body });
    expect((await post({ 'content-length': MAX_BODY_BYTES + 1 })).status).toBe(413);
    expect((await post({ 'transfer-encoding': 'chunked' }, '{}')).status).toBe(413);
    const headers = { 'transfer-encoding': 'chunked' };
    expect((await ask(port, '/seganet/demand/a', { method: 'DELETE', headers, body: '{}' })).status).toBe(
      413
    );
    expect(passed).toEqual([]);
  });

  test('checks few logins at the same time', async () => {
    /** @type {import('http').ServerResponse[]} */
    const waiting = [];
    const port = await start({ pass: (_request, response) => waiting.push(response) });
    const login = () => ask(port, '/auth/token', { method: 'POST', body: 'x' });
    const pending = Array.from({ length: MAX_LOGINS }, login);
    while (waiting.length < MAX_LOGINS) await new Promise(setImmediate);
    expect((await login()).status).toBe(429);
    for (const response of waiting.splice(0)) response.end('no');
    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual(Array(MAX_LOGINS).fill(200));
    const next = login();
    while (waiting.length === 0) await new Promise(setImmediate);
    waiting[0].end('yes');
    expect((await next).status).toBe(200);
  });

  test('has a limit of connections, and serves again after a flood', async () => {
    const port = await start();
    const flood = await Promise.all(Array.from({ length: MAX_CONNECTIONS + 40 }, () => connect(port)));
    await Promise.race(flood.map((socket) => once(socket, 'close')));
    const open = () => flood.filter((socket) => !socket.closed).length;
    await eventually(() => open() <= MAX_CONNECTIONS, { what: 'the limit' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(open()).toBe(MAX_CONNECTIONS);
    for (const socket of flood) socket.destroy();
    for (;;) {
      const answer = await ask(port, '/seganet/').catch(() => null);
      if (answer?.status === 200) break;
    }
  });

  test('disconnects clients that send slowly', async () => {
    const port = await start();
    const head = await connect(port, 'GET /seganet/ HTTP/1.1\r\n');
    const drip = setInterval(() => head.write('x: y\r\n'), 500);
    try {
      let text = '';
      head.on('data', (bytes) => (text += bytes));
      await once(head, 'close');
      expect(text).toMatch(/^HTTP\/1.1 408/);
    } finally {
      clearInterval(drip);
    }
  }, 30000);

  withOpenssl('has the certificate that it is given, and ends handshakes that are no TLS', async () => {
    const folder = fs.mkdtempSync(join(os.tmpdir(), 'seganet-status-'));
    try {
      const files = makeCertificates(folder);
      const [key, cert, ca] = [files.key, files.cert, files.ca].map((file) => fs.readFileSync(file));
      const port = await start({ tls: { key, cert } });
      const request = https.get({
        host: '127.0.0.1',
        port,
        path: '/seganet/',
        ca,
        checkServerIdentity: () => undefined,
        agent: false
      });
      const [response] = await once(request, 'response');
      expect(response.statusCode).toBe(200);
      response.resume();
      const plain = await connect(port, 'GET /seganet/ HTTP/1.1\r\nHost: localhost\r\n\r\n');
      plain.resume();
      await once(plain, 'close');
      expect(passed).toEqual(['GET /seganet/']);
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });

  test('refuses heads and lines that are too long, and garbage', async () => {
    const port = await start();
    for (const [text, status] of [
      [`GET /seganet/ HTTP/1.1\r\nHost: localhost\r\nx: ${'y'.repeat(20000)}\r\n\r\n`, 431],
      ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
      ['GET /seganet/ HTTP/1.1\r\nHost: localhost\r\nHost : x\r\n\r\n', 400]
    ]) {
      const socket = await connect(port, String(text));
      let answer = '';
      socket.on('data', (bytes) => (answer += bytes));
      await once(socket, 'close');
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
    }
    expect(passed).toEqual([]);
  });
});
