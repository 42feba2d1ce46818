'use strict';

// The sockets of a thread that is terminated: those it had not handed over are closed, and nothing else.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { Worker } = require('node:worker_threads');
const { openSocket, closeSocket, socketInfo } = require('../../native');
const { until } = require('./support/addon');

const leaver = require.resolve('./children/socket-leaver');
const COUNT = 5;

/** @type {net.Server} */
let server;
/** @type {number} */
let port;
/** @type {Set<net.Socket>} */
const peers = new Set();
let accepted = 0;
beforeAll(async () => {
  server = net.createServer((peer) => {
    accepted++;
    peers.add(peer.on('error', () => {}).on('close', () => peers.delete(peer)));
    peer.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = /** @type {net.AddressInfo} */ (server.address()));
});
afterAll(() => {
  for (const peer of peers) peer.destroy();
  server.close();
});

const isOpen = (/** @type {number} */ fd) => fs.existsSync(`/proc/self/fd/${fd}`);
const countDescriptors = () => fs.readdirSync('/proc/self/fd').length;

/** @type {Worker[]} */
const workers = [];
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.terminate())));

/** @param {string} how */
async function start(how) {
  const worker = new Worker(leaver, { workerData: { port, count: COUNT, how } });
  workers.push(worker);
  /** @type {[number[]]} */
  const [fds] = /** @type {any} */ (await once(worker, 'message'));
  return { worker, fds };
}

test.each(['opened', 'connected', 'wire', 'net.Socket', 'closed', 'closed net.Socket'])(
  'leaves no sockets that are %s when it is terminated',
  async (how) => {
    const before = countDescriptors();
    for (let round = 0; round < 3; round++) {
      const { worker, fds } = await start(how);
      // The number of a closed one may belong to the far end of the next.
      if (!how.startsWith('closed')) expect(fds.every(isOpen)).toBe(true);
      await worker.terminate();
    }
    await until(() => countDescriptors() <= before, 'the descriptors');
  }
);

test.each(['closed', 'closed net.Socket'])(
  'leaves a number of a %s open that belongs to another thread by now',
  async (how) => {
    const ends = accepted + COUNT;
    const { worker, fds } = await start(how);
    // The far ends are in this process, and have numbers too.
    await until(() => accepted === ends && peers.size === 0, 'the far ends');
    /** @type {number[]} */
    const mine = [];
    for (let i = 0; i < 50 && !mine.includes(fds[0]); i++) mine.push(openSocket('127.0.0.1', port, {}).fd);
    expect(mine).toContain(fds[0]);
    await worker.terminate();
    for (const fd of mine) {
      expect(socketInfo(fd).localAddress).toBe('127.0.0.1');
      closeSocket(fd);
    }
  }
);
