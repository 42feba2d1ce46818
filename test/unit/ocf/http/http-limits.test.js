'use strict';
// What a client of the HTTP port of the OCF cloud can hold or send: sizes, times, connections, open requests.

const net = require('node:net');
const { startControlPlane } = require('../../../fixtures/ocf/control-plane');
const { ask, startProxy, tokenFor } = require('../../../fixtures/ocf/http-client');
const { newUserToken } = require('../../../../nodes/lib/ocf/cloud/user-tokens');
const { LIGHT, eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');

jest.setTimeout(60000);
const CONNECTIONS = 4;
const OPEN = 3;

let cloud, proxy, client, token, path;
beforeAll(async () => {
  cloud = await startControlPlane({ requestTimeoutMs: 60000 });
  const times = { headerTimeoutS: 1, bodyTimeoutS: 2, keepAliveS: 1 };
  proxy = await startProxy(
    cloud,
    { ...times, maxConnections: CONNECTIONS },
    { openOfUser: OPEN, bodyBytes: 1000 }
  );
});
afterAll(async () => {
  await proxy.close();
  expect(cloud.problems()).toEqual([]);
  await cloud.stop();
});
const { lamp } = scenes(() => cloud);
beforeEach(async () => {
  const user = newUser();
  client = await lamp(user);
  token = await tokenFor(cloud, user);
  path = `/hc/${client.di}${LIGHT.href}`;
});
/** @type {net.Socket[]} */
let sockets = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await eventually(() => proxy.connections === 0, 'connections end');
});

/** Sends text, and returns what comes until the other side closes. @param {string} text */
function raw(text) {
  const socket = net.connect(proxy.port, '127.0.0.1');
  sockets.push(socket);
  const state = { socket, text: '', isClosed: false };
  socket.on('data', (chunk) => (state.text += chunk));
  socket.on('error', () => {});
  socket.on('close', () => (state.isClosed = true));
  socket.write(text);
  return state;
}

test('refuses a body above the limit, announced or not', async () => {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ on: true, x: 'x'.repeat(1000) });
  expect((await ask(proxy, path, { token, method: 'POST', headers, body })).status).toBe(413);
  const chunked = { ...headers, 'Transfer-Encoding': 'chunked' };
  expect((await ask(proxy, path, { token, method: 'POST', headers: chunked, body })).status).toBe(413);
  const fine = JSON.stringify({ on: true, x: 'x'.repeat(900) });
  expect((await ask(proxy, path, { token, method: 'POST', headers, body: fine })).status).toBe(200);
});

test('refuses a header above 16 KiB', async () => {
  const long = await ask(proxy, path, { token, headers: { 'X-Long': 'x'.repeat(17000) } });
  expect(long.status).toBe(431);
});

test('asks for a body only after the token was checked', async () => {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n`;
  const wrong = raw(`${head}Authorization: Bearer x\r\n\r\n`);
  await eventually(() => wrong.text.startsWith('HTTP/1.1 401 '), 'it is refused');
  const right = raw(`${head}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n\r\n`);
  await eventually(() => right.text.startsWith('HTTP/1.1 100 '), 'it may go on');
});

test('closes slow and idle connections', async () => {
  const header = raw(`GET ${path} HTTP/1.1\r\nHost: x\r\n`);
  const body = raw(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`
  );
  const idle = raw('GET /.well-known/core HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => header.isClosed && body.isClosed && idle.isClosed, 'all are closed');
  expect(header.text).toMatch(/^HTTP\/1\.1 408 /);
  expect(body.text).toMatch(/^HTTP\/1\.1 408 /);
  expect(idle.text).toMatch(/^HTTP\/1\.1 200 /);
});

test('answers malformed requests with 400', async () => {
  for (const text of [
    'x\r\n\r\n',
    'GET / HTTP/9\r\n\r\n',
    `GET ${path} HTTP/1.1\r\nA b: c\r\n\r\n`,
    '\0\0\r\n\r\n'
  ]) {
    const broken = raw(text);
    await eventually(() => broken.isClosed, 'it is closed');
    expect(broken.text).toMatch(/^HTTP\/1\.1 400 /);
  }
});

test(`refuses more than ${OPEN} open requests of a user here, also of one connection`, async () => {
  client.serve = () => undefined;
  const one = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  raw(one.repeat(OPEN));
  await eventually(() => client.requests.length === OPEN, 'the device has them');
  const more = await ask(proxy, path, { token });
  expect(more).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
});

test(`keeps at most ${CONNECTIONS} connections, and ends idle ones first`, async () => {
  const idle = Array.from({ length: CONNECTIONS }, () => raw(''));
  await eventually(() => proxy.connections === CONNECTIONS, 'they are open');
  expect((await ask(proxy, path, { token })).status).toBe(200);
  expect(idle.filter(({ isClosed }) => isClosed).length).toBeGreaterThan(0);
});

/** Holds the calls of a method until goOn(). @param {any} object @param {string} method */
function hold(object, method) {
  const real = object[method].bind(object);
  let goOn = () => {};
  const held = new Promise((resolve) => (goOn = () => resolve(undefined)));
  const spy = jest.spyOn(object, method).mockImplementation((...all) => held.then(() => real(...all)));
  return { spy, goOn };
}

test('starts no observation for a client that has left', async () => {
  const { spy, goOn } = hold(cloud.cloud.route, 'check');
  const authorized = `Host: x\r\nAuthorization: Bearer ${token}\r\n`;
  const { socket } = raw(`GET ${path} HTTP/1.1\r\n${authorized}Accept: text/event-stream\r\n\r\n`);
  await eventually(() => spy.mock.calls.length === 1, 'the right is checked');
  socket.destroy();
  await eventually(() => proxy.connections === 0 && proxy.streams === 0, 'the client has left');
  goOn();
  await spy.mock.results[0].value;
  expect((await ask(proxy, path, { token })).status).toBe(200);
  // The device got this request only.
  expect(client.requests.map(({ observe }) => observe)).toEqual([undefined]);
  expect(cloud.cloud.route.observations).toBe(0);
});

test('forgets a request whose client leaves before its body is read', async () => {
  const { spy, goOn } = hold(cloud.cloud.userTokens, 'find');
  const head = `Host: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  const { socket } = raw(`POST ${path} HTTP/1.1\r\n${head}Content-Length: 9\r\n\r\n{`);
  await eventually(() => spy.mock.calls.length === 1, 'the token is checked');
  socket.destroy();
  await eventually(() => proxy.connections === 0, 'the client has left');
  goOn();
  await spy.mock.results[0].value;
  expect((await ask(proxy, path, { token })).status).toBe(200);
  expect(proxy.figures().open).toBe(0);
  expect(client.requests).toHaveLength(1);
});

test('opens no stream with a token that was revoked while the body was awaited', async () => {
  const user = newUser();
  const { di } = await lamp(user);
  const { token: revoked, id } = /** @type {any} */ (await newUserToken(cloud.store, user));
  // The body may take longer than at the other port.
  const patient = await startProxy(cloud);
  try {
    const socket = net.connect(patient.port, '127.0.0.1');
    sockets.push(socket);
    let text = '';
    socket.on('data', (chunk) => (text += chunk));
    socket.write(
      `GET /hc/${di}${LIGHT.href} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${revoked}\r\n` +
        'Accept: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'
    );
    await eventually(() => patient.figures().open === 1, 'the body is awaited');
    expect(await cloud.store.write('removeUserToken', { id })).toBe(true);
    await cloud.cloud.userTokens.recheck();
    socket.write('0\r\n\r\n');
    await eventually(() => text.includes('\r\n'), 'an answer');
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(patient.streams).toBe(0);
  } finally {
    await patient.close();
  }
});
