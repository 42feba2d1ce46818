'use strict';

// setSocketOptions(): what the kernel says afterwards, and hostile arguments.

const { execFileSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { setSocketOptions } = require('../../native');
const { needs } = require('../tools');

/** @type {net.Server} */
let server;
/** @type {net.Socket} */
let socket;
/** @type {number} */
let fd;
beforeAll(async () => {
  server = net.createServer((peer) => peer.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
  socket = net.connect(/** @type {net.AddressInfo} */ (server.address()).port, '127.0.0.1');
  await once(socket, 'connect');
  fd = /** @type {any} */ (socket)._handle.fd;
});
afterAll(() => {
  socket.destroy();
  server.close();
});

const { test: withSs } = needs('ss');
const { test: withPython } = needs('python3');

withSs('the keep-alive timer runs, as ss sees it', () => {
  expect(setSocketOptions(fd, { keepIdleS: 77, keepIntervalS: 3, keepCount: 4 })).toEqual([]);
  const seen = execFileSync('ss', ['-tnoH', 'sport', '=', `:${socket.localPort}`], { encoding: 'utf8' });
  expect(seen).toMatch(/timer:\(keepalive,1min1[0-7]/);
});

withPython('each option has its value, as getsockopt() says in a process that inherits the socket', () => {
  const names = { keepIdleS: 11, keepIntervalS: 5, keepCount: 6, userTimeoutMs: 12345 };
  expect(setSocketOptions(fd, names)).toEqual([]);
  const script = `
import socket
s = socket.socket(fileno=3)
print(*[s.getsockopt(socket.IPPROTO_TCP, n) for n in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)], s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))`;
  const ask = () =>
    execFileSync('python3', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit', fd], encoding: 'utf8' });
  expect(ask().trim()).toBe('11 5 6 12345 1');
  expect(setSocketOptions(fd, { userTimeoutMs: 0 })).toEqual([]);
  expect(ask().trim()).toBe('11 5 6 0 1');
});

test('nothing to set is fine', () => expect(setSocketOptions(fd, {})).toEqual([]));

test('what a kind of socket does not know is named, and the rest is set', () => {
  const script = `
const net = require('node:net');
const { setSocketOptions } = require(${JSON.stringify(require.resolve('../../native'))});
const path = process.argv[1];
const server = net.createServer().listen(path, () => {
  const socket = net.connect(path, () => {
    console.log(JSON.stringify(setSocketOptions(socket._handle.fd, { userTimeoutMs: 1, keepIdleS: 1, keepIntervalS: 1, keepCount: 1 })));
    process.exit();
  });
});`;
  const path = `\0seganet-options-${process.pid}`;
  const out = execFileSync(process.execPath, ['-e', script, path.replace('\0', '/tmp/')], {
    encoding: 'utf8'
  });
  fs.rmSync(path.replace('\0', '/tmp/'), { force: true });
  expect(JSON.parse(out)).toEqual(['userTimeoutMs', 'keepIdleS', 'keepIntervalS', 'keepCount']);
});

test('no socket: an Error with a code', () => {
  const file = fs.openSync(__filename, 'r');
  expect(() => setSocketOptions(file, { keepIdleS: 1 })).toThrow(
    expect.objectContaining({ code: 'ENOTSOCK' })
  );
  fs.closeSync(file);
  expect(() => setSocketOptions(1 << 30, { keepIdleS: 1 })).toThrow(
    expect.objectContaining({ code: 'EBADF' })
  );
});

test('wrong arguments are named, with their limits, and nothing is set', () => {
  const call =
    (/** @type {any[]} */ ...args) =>
    () =>
      Reflect.apply(setSocketOptions, undefined, args);
  for (const wrong of [undefined, null, '3', -1, 0.5, NaN, 2 ** 31, {}]) {
    expect(call(wrong, {})).toThrow(/^fd must be a whole number from 0 to 2147483647/);
  }
  for (const wrong of [undefined, null, 1, 'x']) expect(call(fd, wrong)).toThrow('options must be an object');
  for (const [name, low, high] of [
    ['userTimeoutMs', 0, 2 ** 31 - 1],
    ['keepIdleS', 1, 32767],
    ['keepIntervalS', 1, 32767],
    ['keepCount', 1, 127]
  ]) {
    const limits = `${name} must be a whole number from ${low} to ${high}`;
    for (const wrong of [null, '5', NaN, Number(low) - 1, Number(high) + 1]) {
      expect(call(fd, { [name]: wrong })).toThrow(limits);
    }
    expect(call(fd, { [name]: low })()).toEqual([]);
    expect(call(fd, { [name]: high })()).toEqual([]);
  }
  const trap = { get keepCount() { throw new RangeError('trap'); } }; // prettier-ignore
  expect(call(fd, trap)).toThrow(new RangeError('trap'));
});
