'use strict';
// The endpoints for an overlay's services, in front of a program that answers as the services do, or worse.

const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const express = require('express');
const { askServices } = require('../../../nodes/lib/overlay/services-client');
const { addServicesEndpoints } = require('../../../nodes/lib/overlay/services-endpoints');

/** @type {(() => unknown)[]} */
const endings = [];
let folder = '';
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-s-'))));
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @type {{ method?: string, url?: string, body: any }[]} */
let asked = [];

/** Opens a socket whose program answers so. @param {(request: any) => [number, string] | null} answer null: never */
async function services(answer) {
  asked = [];
  const socket = path.join(folder, 'admin.sock');
  const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const { method, url } = request;
    asked.push({ method, url, body: text && JSON.parse(text) });
    const given = answer(asked.at(-1));
    if (given) response.writeHead(given[0]).end(given[1]);
  });
  await once(server.listen(socket), 'listening');
  endings.push(() => (server.close(), server.closeAllConnections()));
  return socket;
}

/** @type {any[]} */
let audited = [];

/** The admin API. @param {string} socket */
async function gateway(socket) {
  audited = [];
  const httpAdmin = express();
  httpAdmin.use(express.json());
  httpAdmin.use((/** @type {any} */ request, _response, next) => {
    request.user = { username: 'ann\u0001' + 'ü'.repeat(80) };
    request.authInfo = { scope: '*' };
    next();
  });
  const pass = () => (/** @type {any} */ _request, /** @type {any} */ _response, /** @type {any} */ next) =>
    next();
  const log = { audit: (/** @type {object} */ line) => audited.push(line) };
  const RED = /** @type {any} */ ({ httpAdmin, auth: { needsPermission: pass }, log });
  addServicesEndpoints(RED, { SEGANET_OVERLAY_ADMIN: socket });
  const server = httpAdmin.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => (server.close(), server.closeAllConnections()));
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  return async (/** @type {string} */ name, /** @type {object} */ body, type = 'application/json') => {
    const options = body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': type } };
    const response = await fetch(`http://127.0.0.1:${port}/seganet/overlay-services${name}`, options);
    const { headers, status } = response;
    return { status, cache: headers.get('cache-control'), body: await response.json() };
  };
}

const INVITE = {
  token: 'sgov_x',
  root: 'sha256:0',
  expires: '2026-01-01T00:00:00Z',
  auth: ['https://a:443', 'https://$(x)']
};

test('an invitation is a line for the node, whose words no shell expands, and a line of the audit log', async () => {
  const ask = await gateway(await services(() => [200, JSON.stringify(INVITE)]));
  const { status, cache, body } = await ask('/invite', { name: 'hall-3', groups: ['g'], hours: 24 });
  expect([status, cache]).toEqual([200, 'no-store']);
  expect(body.command).toBe(
    "seganet-overlay join --url https://a:443 --url 'https://$(x)' --root sha256:0 --token sgov_x"
  );
  const { by, ...rest } = asked[0].body;
  expect(rest).toEqual({ name: 'hall-3', groups: ['g'], lifetimeSeconds: 86400 });
  expect(Buffer.byteLength(by)).toBeLessThanOrEqual(128);
  expect(by).toMatch(/^ann ü+$/);
  expect(audited).toEqual([{ event: 'seganet.overlay.invite', name: 'hall-3' }]);
});

test('a wrong request reaches no services, and changes nothing', async () => {
  const ask = await gateway(await services(() => [200, '{}']));
  const wrong = /** @type {[string, any, string?][]} */ ([
    ['?q=' + 'x'.repeat(65)],
    ['?q=a&q=b'],
    ['?page=0'],
    ['?page=1e3'],
    ['/invite', {}],
    ['/invite', { name: 'a', groups: 'g' }],
    ['/invite', { name: 'a', groups: [1] }],
    ['/invite', { name: 'a', hours: 169 }],
    ['/invite', { name: 'a' }, 'text/plain'],
    ['/withdraw', { id: 1 }],
    ['/revoke', { name: 'a', reason: {} }],
    ['/revoke', [1]],
    ['/resume', {}],
    ['/resume', { name: 7 }],
    ['/policy', { text: '{}' }],
    ['/policy', { from: 1 }],
    ['/policy/review', {}]
  ]);
  for (const [name, body, type] of wrong)
    expect([name, (await ask(name, body, type)).status]).toEqual([name, 400]);
  expect(asked).toEqual([]);
  expect(audited).toEqual([]);
});

test('a suspension is ended by name, with who asks, and a line of the audit log', async () => {
  const ask = await gateway(await services(() => [200, '{}']));
  expect((await ask('/resume', { name: 'hall-3', reason: 'x' })).status).toBe(200);
  const { name, by, ...rest } = asked[0].body;
  expect([asked[0].url, name, rest]).toEqual(['/v1/resume', 'hall-3', {}]);
  expect(by).toMatch(/^ann /);
  expect(audited).toEqual([{ event: 'seganet.overlay.resume', name: 'hall-3' }]);
});

test("a refusal has the services' status and sentence, and no line of the audit log", async () => {
  const ask = await gateway(
    await services(() => [409, JSON.stringify({ code: 'taken', text: 'It was changed.' })])
  );
  expect(await ask('/policy', { text: '{}', from: 3 })).toMatchObject({
    status: 409,
    body: { error: 'It was changed.' }
  });
  expect(asked[0]).toMatchObject({ method: 'PUT', url: '/v1/policy', body: { text: '{}', from: 3 } });
  expect(audited).toEqual([]);
});

test('requests beyond a number at once are refused, and a change without an answer is in the audit log', async () => {
  const ask = await gateway(await services(() => null));
  const many = Array.from({ length: 16 }, () => ask('/revoke', { name: 'a' }));
  while (asked.length < 16) await new Promise((resolve) => setImmediate(resolve));
  expect((await ask('/revoke', { name: 'a' })).status).toBe(503);
  await endings.shift()?.();
  expect((await Promise.all(many)).map(({ status }) => status)).toEqual(Array(16).fill(504));
  expect(audited).toEqual(Array(16).fill({ event: 'seganet.overlay.revoke', name: 'a', outcome: 'unknown' }));
});

test('a socket without services is explained', async () => {
  const nothing = await gateway('');
  expect(await nothing('')).toMatchObject({
    status: 404,
    body: { error: expect.stringMatching(/Set SEGANET_OVERLAY_ADMIN/) }
  });
  const gone = await gateway(path.join(folder, 'gone.sock'));
  expect(await gone('')).toMatchObject({
    status: 503,
    body: { error: expect.stringMatching(/ENOENT.*seganet-overlay serve/) }
  });
  const other = await gateway(await services(() => [200, 'hello']));
  expect(await other('')).toMatchObject({
    status: 503,
    body: { error: expect.stringMatching(/another program/) }
  });
});

test('an answer that is too long, cut or late ends the request', async () => {
  const long = await services(() => [200, JSON.stringify('x'.repeat(2 << 20))]);
  await expect(askServices(long, 'GET', '/')).rejects.toThrow(/more than 1048576 bytes/);
  const cut = path.join(folder, 'cut.sock');
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{');
  });
  await once(server.listen(cut), 'listening');
  endings.push(() => server.close());
  await expect(askServices(cut, 'GET', '/')).rejects.toThrow(/did not answer/);
  await endings.splice(0, 1)[0]();
  fs.rmSync(long, { force: true });
  const late = await services(() => null);
  await expect(askServices(late, 'GET', '/', null, 50)).rejects.toThrow(/not within 0.05 s/);
});
