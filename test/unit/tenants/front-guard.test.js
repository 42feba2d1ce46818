'use strict';
// A tenant's editor that listens beyond loopback answers to its front only: a real server with the gateway's guard.

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const WebSocket = require('ws');
const { readEnvironment } = require('../../../flows/launcher/environment');
const { FrontGuard } = require('../../../flows/launcher/front-guard');
const { guardOf } = require('../../../flows/launcher/guard');
const loopbackGuard = require('../../../flows/launcher/loopback-guard');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { HEADER } = require('../../../nodes/lib/tenants/common/front-header');

const CHEAP = { ln: 10, r: 8, p: 1 };
const PASSWORD = 'only-the-front-knows';

let folder, file, server, port, seen, warnings;

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'front-guard-'));
  file = path.join(folder, 'passwords');
  const lines = await Promise.all(
    [
      ['front', PASSWORD],
      ['keeper', 'another']
    ].map(async ([user, password]) => `${user}:${await hashPassword(Buffer.from(password), CHEAP)}\n`)
  );
  fs.writeFileSync(file, lines.join(''), { mode: 0o600 });
});

afterAll(() => fs.rmSync(folder, { recursive: true }));

beforeEach(async () => {
  seen = [];
  warnings = [];
  const guard = new FrontGuard(file, (sentence) => warnings.push(sentence));
  server = http.createServer((request, response) =>
    // As in Node-RED, a request passes the middlewares of the admin API and of the nodes.
    guard.guardRequests(request, response, () =>
      guard.guardRequests(request, response, () => {
        seen.push({ headers: request.headers, raw: request.rawHeaders });
        response.end('hello');
      })
    )
  );
  const sockets = new WebSocket.Server({ server });
  sockets.on('connection', (socket) => socket.send('welcome'));
  guard.guardUpgrades(server);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = server.address().port;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** @param {string} [password] */
async function ask(password) {
  const headers = password === undefined ? {} : { [HEADER]: password };
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers });
  return { status: response.status, text: await response.text() };
}

/** @param {string} [password] @returns {Promise<string>} 'welcome', or 'refused' */
async function open(password) {
  const headers = password === undefined ? {} : { [HEADER]: password };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/comms`, { headers });
  const answer = await Promise.race([
    once(socket, 'message').then(([data]) => String(data)),
    new Promise((resolve) => socket.on('error', () => resolve('refused')))
  ]);
  socket.terminate();
  return answer;
}

test('answers to the front, and no flow sees its password', async () => {
  expect(await ask(PASSWORD)).toEqual({ status: 200, text: 'hello' });
  expect(JSON.stringify(seen)).not.toContain(PASSWORD);
  expect(JSON.stringify(seen)).not.toContain(HEADER);
  expect(await ask(PASSWORD)).toEqual({ status: 200, text: 'hello' });
});

test.each([
  ['without a password', undefined],
  ['with an empty one', ''],
  ['with a wrong one', 'wrong'],
  ['with that of the keeper', 'another']
])('refuses others: %s', async (_name, password) => {
  expect((await ask(password)).status).toBe(403);
  await ask(PASSWORD);
  expect((await ask(password)).status).toBe(403);
  expect(seen).toHaveLength(1);
});

test('opens WebSockets of the front once it has proven itself', async () => {
  expect(await open(PASSWORD)).toBe('refused');
  await ask(PASSWORD);
  expect(await open(PASSWORD)).toBe('welcome');
  expect(await open('wrong')).toBe('refused');
  expect(await open()).toBe('refused');
});

test('refuses all while the password file cannot be read', async () => {
  const guard = new FrontGuard(path.join(folder, 'absent'), (sentence) => warnings.push(sentence));
  server.removeAllListeners('request');
  server.on('request', (request, response) =>
    guard.guardRequests(request, response, () => response.end('hello'))
  );
  expect((await ask(PASSWORD)).status).toBe(403);
  expect(warnings).toHaveLength(1);
});

test('is chosen for a tenant beyond loopback only', () => {
  const tenant = { SEGANET_TENANT: 'acme', SEGANET_TENANT_PASSWORDS: file };
  expect(guardOf('10.213.0.2', tenant)).toBeInstanceOf(FrontGuard);
  expect(guardOf('10.213.0.2', tenant)).toBe(guardOf('10.213.0.2', tenant));
  expect(guardOf('127.0.0.1', tenant)).toBe(loopbackGuard);
  expect(guardOf('10.213.0.2', {})).toBe(loopbackGuard);
});

test('lets the editor of a tenant listen beyond loopback, and no other one', () => {
  const host = { SEGANET_EDITOR_HOST: '10.213.0.2', SEGANET_HOME: folder };
  expect(() => readEnvironment({ ...host })).toThrow('without a password');
  expect(() => readEnvironment({ ...host, SEGANET_TENANT: 'acme' })).toThrow('without a password');
  const tenant = { SEGANET_TENANT: 'acme', SEGANET_TENANT_PASSWORDS: file };
  expect(readEnvironment({ ...host, ...tenant }).SEGANET_EDITOR_HOST).toBe('10.213.0.2');
});
