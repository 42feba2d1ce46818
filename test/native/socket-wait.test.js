'use strict';

// waitConnect(): how a connection attempt ends, and the state when the wait does not end by itself.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { Worker } = require('node:worker_threads');
const { openSocket, waitConnect, closeSocket } = require('../../native');
const { DeafListener } = require('../fixtures/uplink/deaf-listener');
const { freePort } = require('../../bench/harness/broker');
const { until, runNode } = require('./support/addon');
const { names } = require('./children/socket-exit-at');

const socketWorker = require.resolve('./children/socket-worker');
const child = require.resolve('./children/socket-exit-at');
const withCode = (/** @type {string} */ code) => expect.objectContaining({ code });

/** @type {net.Server} */
let server;
/** @type {number} */
let port;
/** @type {Set<net.Socket>} */
const peers = new Set();
/** @type {DeafListener} */
let deaf;
beforeAll(async () => {
  server = net.createServer((peer) => {
    peers.add(peer.on('error', () => {}).on('close', () => peers.delete(peer)));
    peer.resume().end('hello');
  });
  server.listen(0, '::');
  await once(server, 'listening');
  ({ port } = /** @type {net.AddressInfo} */ (server.address()));
  deaf = await DeafListener.open();
});
afterAll(() => {
  server.close();
  for (const peer of peers) peer.destroy();
  return deaf.close();
});

/** @param {number} fd */
const isOpen = (fd) => fs.existsSync(`/proc/self/fd/${fd}`);
const countDescriptors = () => fs.readdirSync('/proc/self/fd').length;

/** Opens and waits; closes. @param {string} address @param {number} to @param {number} timeoutMs */
async function outcome(address, to, timeoutMs) {
  let fd = -1;
  try {
    ({ fd } = openSocket(address, to, {}));
    await waitConnect(fd, timeoutMs);
    return 'connected';
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code;
  } finally {
    if (fd >= 0) closeSocket(fd);
  }
}

test.each(['127.0.0.1', '::1'])('connects with %s, and Node continues with it', async (address) => {
  const { fd } = openSocket(address, port, {});
  await waitConnect(fd, 5000);
  const socket = new net.Socket({ fd, readable: true, writable: true });
  const [hello] = await once(socket, 'data');
  expect(String(hello)).toBe('hello');
  socket.destroy();
  await once(socket, 'close');
});

test.each(['127.0.0.1', '::1'])('reports a refusal with %s', async (address) => {
  expect(await outcome(address, await freePort(), 5000)).toBe('ECONNREFUSED');
});

test('reports ETIMEDOUT without an answer when the time is over, and not before', async () => {
  const began = performance.now();
  expect(await outcome('127.0.0.1', deaf.port, 200)).toBe('ETIMEDOUT');
  expect(performance.now() - began).toBeGreaterThan(190);
});

test('sees the connection after the loop was blocked for longer than the time-out, and counts from the call', async () => {
  const block = (/** @type {number} */ ms) =>
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const { fd } = openSocket('127.0.0.1', port, {});
  const wait = waitConnect(fd, 20);
  block(60);
  await wait;
  closeSocket(fd);
  await new Promise(setImmediate);
  block(250);
  const began = performance.now();
  expect(await outcome('127.0.0.1', deaf.port, 200)).toBe('ETIMEDOUT');
  expect(performance.now() - began).toBeGreaterThan(190);
});

test('refuses a second wait for one descriptor, and the first continues', async () => {
  const { fd } = openSocket('127.0.0.1', deaf.port, {});
  const first = waitConnect(fd, 100);
  await expect(waitConnect(fd, 100)).rejects.toEqual(withCode('EEXIST'));
  await expect(first).rejects.toEqual(withCode('ETIMEDOUT'));
  // Consecutive waits are allowed.
  await expect(waitConnect(fd, 1)).rejects.toEqual(withCode('ETIMEDOUT'));
  closeSocket(fd);
});

test('ends the wait by closeSocket; the number may be used again at once', async () => {
  const { fd } = openSocket('127.0.0.1', deaf.port, {});
  const wait = waitConnect(fd, 60_000);
  closeSocket(fd);
  const again = openSocket('127.0.0.1', port, {});
  const second = waitConnect(again.fd, 5000);
  await expect(wait).rejects.toEqual(withCode('ECANCELED'));
  await second;
  expect(again.fd).toBe(fd);
  closeSocket(again.fd);
});

test('does not report a connection in a second wait after a refusal', async () => {
  const { fd } = openSocket('127.0.0.1', await freePort(), {});
  await expect(waitConnect(fd, 5000)).rejects.toEqual(withCode('ECONNREFUSED'));
  await expect(waitConnect(fd, 5000)).rejects.toEqual(withCode('ENOTCONN'));
  closeSocket(fd);
});

test('reports an error with a code for a descriptor that is not a connecting socket', async () => {
  const file = fs.openSync(__filename, 'r');
  await expect(waitConnect(file, 1)).rejects.toEqual(withCode('EPERM'));
  fs.closeSync(file);
  await expect(waitConnect(1 << 30, 1)).rejects.toEqual(withCode('EBADF'));
});

test('names wrong arguments, with their limits', async () => {
  const call = (/** @type {any[]} */ ...args) => Reflect.apply(waitConnect, undefined, args);
  for (const wrong of [undefined, null, '3', -1, 0.5, NaN, 2 ** 31]) {
    await expect(call(wrong, 1)).rejects.toThrow('fd must be a whole number from 0 to 2147483647');
  }
  for (const wrong of [undefined, null, '3', 0, 0.5, NaN, 2 ** 31]) {
    await expect(call(0, wrong)).rejects.toThrow('timeoutMs must be a whole number from 1 to 2147483647');
  }
});

test('leaves no descriptor after hundreds of attempts', async () => {
  const closed = await freePort();
  const before = countDescriptors();
  for (let round = 0; round < 100; round++) {
    await Promise.all([outcome('127.0.0.1', closed, 5000), outcome('::1', closed, 5000), outcome('127.0.0.1', deaf.port, 1)]); // prettier-ignore
  }
  expect(countDescriptors()).toBe(before);
});

test('reports connected, refused and timed out in a worker', async () => {
  for (const [to, timeoutMs, end] of [
    [port, 5000, 'connected'],
    [await freePort(), 5000, 'ECONNREFUSED'],
    [deaf.port, 50, 'ETIMEDOUT']
  ]) {
    const worker = new Worker(socketWorker, { workerData: { port: to, timeoutMs } });
    const logged = [];
    worker.on('message', (message) => logged.push(message));
    expect(await once(worker, 'exit')).toEqual([0]);
    expect(logged[1]).toBe(end);
  }
});

test('leaves no descriptor of workers terminated while they wait', async () => {
  const before = countDescriptors();
  for (let i = 0; i < 20; i++) {
    const worker = new Worker(socketWorker, { workerData: { port: deaf.port, timeoutMs: 60_000 } });
    const [fd] = await once(worker, 'message');
    expect(isOpen(fd)).toBe(true);
    await worker.terminate();
    expect(isOpen(fd)).toBe(false);
  }
  await until(() => countDescriptors() <= before, 'the descriptors to be closed');
});

test('ends workers terminated at any moment of many waits', async () => {
  for (let i = 0; i < 20; i++) {
    const worker = new Worker(socketWorker, {
      workerData: { port: i % 2 ? port : await freePort(), timeoutMs: 5000, again: true }
    });
    await once(worker, 'message');
    await new Promise((resolve) => setTimeout(resolve, i));
    await worker.terminate();
  }
});

describe('a process ends cleanly', () => {
  const endings = names.flatMap((name) => {
    if (/exception|in the answer/.test(name)) return [[name, '']];
    return name.includes('worker waits') ? [[name, 'exit']] : [[name, ''], [name, 'exit']]; // prettier-ignore
  });
  test.each(endings)('%s %s', async (name, how) => {
    const { code, signal, output } = await runNode([child, name, String(deaf.port), String(port), how]);
    const planned = name.startsWith('by an exception');
    expect({ code, signal, output }).toEqual({
      code: planned ? 1 : 0,
      signal: null,
      output: planned ? expect.stringContaining('planned') : ''
    });
  });

  test("collects a wait's references after it, but not the wait before", async () => {
    const script = `
const { openSocket, waitConnect, closeSocket } = require(${JSON.stringify(require.resolve('../../native'))});
const turn = () => new Promise(setImmediate);
(async () => {
  const wait = waitConnect(openSocket('127.0.0.1', ${deaf.port}, {}).fd, 50).catch(({ code }) => code);
  for (let i = 0; i < 5; i++) { gc(); await turn(); }
  if ((await wait) !== 'ETIMEDOUT') throw new Error('lost');
  const round = async () => {
    for (let i = 0; i < 2000; i++) {
      const { fd } = openSocket('127.0.0.1', ${deaf.port}, {});
      const wait = waitConnect(fd, 60000).catch(() => {});
      closeSocket(fd);
      await wait;
    }
    for (let i = 0; i < 5; i++) { gc(); await turn(); }
    return process.memoryUsage().rss / (1 << 20);
  };
  await round();
  const before = await round();
  const grown = (await round()) - before;
  if (grown > 8) throw new Error('memory grew by ' + grown.toFixed() + ' MiB in 2000 waits');
})();`;
    const { code, output } = await runNode(['--expose-gc', '-e', script]);
    expect({ code, output }).toEqual({ code: 0, output: '' });
  });
});
