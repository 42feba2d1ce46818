'use strict';

// The address of a broker that is connected to, the time that this may take, and the state after it is abandoned.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const native = require('../../../native');
const { Dial } = require('../../../nodes/lib/uplink/session/dial');
const { DeafListener } = require('../../fixtures/uplink/deaf-listener');

const { socketInfo } = native;
/** Node's own sockets, as on a platform where the addon has none. */
const WITHOUT = {};
const BOTH = [
  ['the addon', native],
  ['Node', WITHOUT]
];

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(host = '127.0.0.1', port = 0) {
  const peers = new Set();
  const server = net.createServer((peer) => {
    peers.add(peer);
    peer.on('error', () => {}).resume();
  });
  server.listen(port, host);
  await once(server, 'listening');
  cleanups.push(() => {
    server.close();
    for (const peer of peers) peer.destroy();
  });
  return /** @type {net.AddressInfo} */ (server.address()).port;
}

async function deaf(host, port) {
  const listener = await DeafListener.open(host, port);
  cleanups.push(() => listener.close());
  return listener.port;
}

/** @param {object} options @param {string[]} [addresses] of the name */
function dial(options, addresses) {
  const lookup = addresses && (async () => addresses.map((address) => ({ address })));
  return new Dial({ host: 'broker', timeoutMs: 5000, socket: {}, native, lookup, ...options });
}

/** @param {Dial} attempt */
async function reach(attempt) {
  const { socket, unknown } = await attempt.connect();
  cleanups.push(() => socket.destroy());
  return { socket, unknown, address: socket.remoteAddress };
}

const countDescriptors = () => fs.readdirSync('/proc/self/fd').length;
const withCode = (code) => expect.objectContaining({ code });

describe.each(BOTH)('with sockets of %s', (_, made) => {
  test('takes the first address when it answers', async () => {
    const port = await listen();
    await listen('127.0.0.2', port);
    const { address } = await reach(dial({ port, native: made }, ['127.0.0.2', '127.0.0.1']));
    expect(address).toBe('127.0.0.2');
  });

  test('connects to localhost where the broker listens at one of its addresses only', async () => {
    for (const host of ['127.0.0.1', '::1']) {
      const port = await listen(host);
      const attempt = dial({ port, native: made }, ['::1', '127.0.0.1']);
      expect((await reach(attempt)).address).toBe(host);
    }
    const { address } = await reach(dial({ host: 'localhost', port: await listen(), native: made }));
    expect(address).toBe('127.0.0.1');
  });

  test('gives a silent first address its share of the time, not all of it', async () => {
    const port = await deaf('127.0.0.2');
    await listen('127.0.0.1', port);
    const began = performance.now();
    const attempt = dial({ port, timeoutMs: 2000, native: made }, ['127.0.0.2', '127.0.0.1']);
    expect((await reach(attempt)).address).toBe('127.0.0.1');
    const tookMs = performance.now() - began;
    expect(tookMs).toBeGreaterThan(990);
    expect(tookMs).toBeLessThan(1990);
    expect(attempt.leftMs()).toBeLessThan(1010);
  });

  test('reports ETIMEDOUT when the time is over, but prefers a refusal to silence', async () => {
    const silent = await deaf('127.0.0.2');
    await expect(dial({ port: silent, timeoutMs: 100, native: made }, ['127.0.0.2']).connect()).rejects.toEqual(withCode('ETIMEDOUT')); // prettier-ignore
    const both = dial({ port: silent, timeoutMs: 1000, native: made }, ['127.0.0.2', '127.0.0.1']);
    await expect(both.connect()).rejects.toEqual(withCode('ECONNREFUSED'));
    const noWay = dial({ port: silent, timeoutMs: 1000, native: made }, ['255.255.255.255', '127.0.0.1']);
    await expect(noWay.connect()).rejects.toEqual(withCode('ECONNREFUSED'));
  });

  test('ends at once when cancelled during a connection, and leaves nothing', async () => {
    const port = await deaf();
    const before = countDescriptors();
    const attempt = dial({ port, timeoutMs: 60000, native: made }, ['127.0.0.1', '127.0.0.1']);
    const end = attempt.connect();
    const failed = expect(end).rejects.toEqual(withCode('ECANCELED'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(countDescriptors()).toBe(before + 1);
    attempt.cancel();
    await failed;
    await new Promise(setImmediate);
    expect(countDescriptors()).toBe(before);
  });

  test('leaves nothing when cancelled at any turn of the loop, or after it', async () => {
    const port = await listen();
    const before = countDescriptors();
    for (let turns = 0; turns < 40; turns++) {
      const attempt = dial({ port, native: made }, ['127.0.0.1']);
      const end = attempt.connect().catch(() => null);
      for (let i = 0; i < turns; i++) await (turns % 2 ? Promise.resolve() : new Promise(setImmediate));
      attempt.cancel();
      const reached = await end;
      expect(reached?.socket.destroyed ?? true).toBe(true);
    }
    for (const cleanup of cleanups.splice(0)) cleanup();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(countDescriptors()).toBeLessThanOrEqual(before);
  });

  test('tries no address when cancelled before it begins to connect', async () => {
    const port = await listen();
    const openSocket = jest.fn(native.openSocket);
    const attempt = dial({ port, native: { ...native, openSocket } }, ['127.0.0.1']);
    attempt.cancel();
    await expect(attempt.connect()).rejects.toEqual(withCode('ECANCELED'));
    expect(openSocket).not.toHaveBeenCalled();
  });
});

test('does not close a handed-over socket in cancel()', async () => {
  const port = await listen();
  const attempt = dial({ port, wantsDescriptor: true }, ['127.0.0.1']);
  const fd = Number((await attempt.connect()).fd);
  attempt.handOver();
  attempt.cancel();
  expect(socketInfo(fd).localAddress).toBe('127.0.0.1');
  native.closeSocket(fd);
  const other = dial({ port, wantsDescriptor: true }, ['127.0.0.1']);
  const again = Number((await other.connect()).fd);
  other.cancel();
  expect(() => socketInfo(again)).toThrow(withCode('EBADF'));
});

test('sets the options', async () => {
  const port = await listen();
  const { socket, unknown } = await reach(
    dial({ port, socket: { priority: 6, dscp: 46, noDelay: true } }, ['127.0.0.1'])
  );
  expect(unknown).toEqual([]);
  expect(socketInfo(/** @type {any} */ (socket)._handle.fd)).toMatchObject({ priority: 6, dscp: 46 });
});

test('names options that sockets of Node do not set, except defaults', async () => {
  const socket = { noDelay: true, keepIdleS: 10, keepIntervalS: 3, userTimeoutMs: 0, priority: 6, notSentLowat: 0 }; // prettier-ignore
  const options = { port: await listen(), socket, native: WITHOUT };
  expect((await reach(dial(options, ['127.0.0.1']))).unknown).toEqual(['keepIntervalS', 'priority']);
});

test('reports a name that is unknown, has no address, or takes too long to look up', async () => {
  const lost = new Dial({ host: 'no.such.host.invalid', port: 1, timeoutMs: 20000, socket: {} });
  await expect(lost.connect()).rejects.toEqual(withCode(expect.stringMatching(/ENOTFOUND|EAI_AGAIN/)));
  await expect(dial({ port: 1 }, []).connect()).rejects.toEqual(withCode('ENOTFOUND'));
  const slow = dial({ port: 1, timeoutMs: 30, lookup: () => new Promise(() => {}) });
  await expect(slow.connect()).rejects.toEqual(withCode('EAI_AGAIN'));
}, 30000);

test('ends when cancelled during the look-up', async () => {
  const attempt = dial({ port: 1, lookup: () => new Promise(() => {}) });
  const end = expect(attempt.connect()).rejects.toEqual(withCode('ECANCELED'));
  attempt.cancel();
  await end;
});

test('closes a descriptor that Node does not take', async () => {
  const port = await listen();
  const before = countDescriptors();
  const broken = jest.spyOn(net, 'Socket').mockImplementation(() => {
    throw new Error('planned');
  });
  await expect(dial({ port }, ['127.0.0.1']).connect()).rejects.toThrow('planned');
  broken.mockRestore();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(countDescriptors()).toBeLessThanOrEqual(before + 1); // the peer's end, while it closes
});

test('asks for the place that leads to the broker, within the time of the attempt', async () => {
  const port = await listen();
  const place = async () => ({ host: '127.0.0.1', port });
  await expect(reach(dial({ port: 1, place }))).resolves.toMatchObject({ address: '127.0.0.1' });
  const refused = Object.assign(new Error('No node has this name.'), { code: 'OVERLAY_DIAL' });
  await expect(dial({ port: 1, place: () => Promise.reject(refused) }).connect()).rejects.toBe(refused);
  const never = () => new Promise(() => {});
  const late = dial({ port: 1, timeoutMs: 30, place: never });
  await expect(late.connect()).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  const cancelled = dial({ port: 1, place: never });
  const ended = expect(cancelled.connect()).rejects.toMatchObject({ code: 'ECANCELED' });
  cancelled.cancel();
  await ended;
});
