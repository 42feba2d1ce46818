'use strict';
// The work of the comparison, the same in a container and without one: a web server that does what its address says
// and answers with the figures. It needs Node alone.

const dgram = require('node:dgram');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const MIB = 1 << 20;
/** As sysbench's test of the processor: an event finds all primes up to this number by division. */
const PRIMES_UP_TO = 10_000;
const COPY_MIB = 32;
const BLOCK_BYTES = 4096;
/**
 * Distances between the ends of the one area and the begins of the other. A processor may tell lines of its cache apart
 * by some bits of their address only: at some distances, copies of blocks take twice as long. Where the kernel puts two
 * areas is chance, so a single place would compare the chances of two processes.
 */
const SHIFTS = [0, 64, 256, 1024, 4096, 3 * 4096, 16 * 4096, 16 * 4096 + 64];
const DATAGRAM_BYTES = 1400;

function findPrimes() {
  let count = 0;
  for (let i = 3; i < PRIMES_UP_TO; i++) {
    const most = Math.sqrt(i);
    let j = 2;
    while (j <= most && i % j !== 0) j++;
    if (j > most) count++;
  }
  return count;
}

/** @param {number} ms @param {() => void} work @returns {number} how often a second */
function repeat(ms, work) {
  const from = performance.now();
  let count = 0;
  for (; performance.now() - from < ms; count++) work();
  return (count * 1000) / (performance.now() - from);
}

/** @param {{ threads: number, ms: number }} options @returns {Promise<{ perSecond: number }>} of all threads */
async function primes({ threads, ms }) {
  const each = Array.from({ length: threads }, () => {
    const worker = new Worker(__filename, { workerData: { ms } });
    return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  });
  return { perSecond: (await Promise.all(each)).reduce((sum, value) => sum + value, 0) };
}

/** The three methods of mbw, each at all distances. @param {{ ms: number }} options MiB a second */
function copies({ ms }) {
  const bytes = COPY_MIB * MIB;
  const both = new ArrayBuffer(2 * bytes + Math.max(...SHIFTS));
  new Uint8Array(both).fill(1);
  const from = Buffer.from(both, 0, bytes);
  const a = new Float64Array(both, 0, bytes / 8);
  const mean = (/** @type {(to: Buffer, b: Float64Array) => void} */ work) => {
    const rates = SHIFTS.map((shift) => {
      const to = Buffer.from(both, bytes + shift, bytes);
      const b = new Float64Array(both, bytes + shift, bytes / 8);
      return repeat(ms / SHIFTS.length, () => work(to, b));
    });
    return (COPY_MIB * rates.reduce((sum, rate) => sum + rate, 0)) / rates.length;
  };
  return {
    memcpy: mean((to) => from.copy(to)),
    dumb: mean((_to, b) => {
      for (let i = 0; i < a.length; i++) b[i] = a[i];
    }),
    mcblock: mean((to) => {
      for (let i = 0; i < bytes; i += BLOCK_BYTES) from.copy(to, i, i, i + BLOCK_BYTES);
    })
  };
}

/** Writes one file in blocks of 1 MiB, with fsync. @param {{ mib: number }} options */
function write({ mib }) {
  const file = path.join(process.env.SEGANET_HOME ?? '/data', 'sequential');
  const block = Buffer.alloc(MIB, 7);
  const from = performance.now();
  const fd = fs.openSync(file, 'w');
  for (let i = 0; i < mib; i++) fs.writeSync(fd, block);
  fs.fsyncSync(fd);
  fs.closeSync(fd);
  const seconds = (performance.now() - from) / 1000;
  fs.rmSync(file);
  return { mibPerSecond: mib / seconds };
}

/** @type {dgram.Socket | null} */
let receiver = null;
const received = { bytes: 0, cpu: { user: 0, system: 0 } };

/** @param {{ port: number }} options */
async function udpOpen({ port }) {
  const socket = dgram.createSocket({ type: 'udp4', recvBufferSize: 4 * MIB });
  receiver = socket;
  received.bytes = 0;
  socket.on('message', (message) => (received.bytes += message.length));
  await new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, () => resolve(undefined));
  });
  received.cpu = process.cpuUsage();
  return {};
}

/** @returns {{ bytes: number, cpuSeconds: number }} since udpOpen() */
function udpClose() {
  const { user, system } = process.cpuUsage(received.cpu);
  receiver?.close();
  return { bytes: received.bytes, cpuSeconds: (user + system) / 1e6 };
}

/** @param {{ host: string, port: number, mbit: number, ms: number }} options */
async function udpSend({ host, port, mbit, ms }) {
  const socket = dgram.createSocket('udp4');
  await new Promise((resolve) => socket.connect(port, host, () => resolve(undefined)));
  const datagram = Buffer.alloc(DATAGRAM_BYTES, 3);
  const perMs = (mbit * 1e6) / 8 / DATAGRAM_BYTES / 1000;
  const cpu = process.cpuUsage();
  const from = performance.now();
  let sent = 0;
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const passed = performance.now() - from;
      for (const wanted = Math.min(passed, ms) * perMs; sent < wanted; sent++) socket.send(datagram);
      if (passed < ms) return;
      clearInterval(timer);
      resolve(undefined);
    }, 2);
  });
  const { user, system } = process.cpuUsage(cpu);
  socket.close();
  return { bytes: sent * DATAGRAM_BYTES, cpuSeconds: (user + system) / 1e6 };
}

/** @type {Record<string, (options: any) => any>} */
const works = { primes, copies, write, 'udp-open': udpOpen, 'udp-close': udpClose, 'udp-send': udpSend };

function serve() {
  const server = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const work = works[pathname.slice(1)];
    try {
      if (!work) throw new Error(`There is no ${pathname}.`);
      const options = [...searchParams].map(([name, value]) => [
        name,
        name === 'host' ? value : Number(value)
      ]);
      response.end(JSON.stringify(await work(Object.fromEntries(options))));
    } catch (error) {
      response.writeHead(500);
      response.end(String(error));
    }
  });
  server.listen(Number(process.env.SEGANET_TENANT_HTTP), process.env.SEGANET_TENANT_HOST);
  process.on('SIGTERM', () => process.exit(0));
}

if (isMainThread) serve();
else parentPort?.postMessage(repeat(workerData.ms, findPrimes));
