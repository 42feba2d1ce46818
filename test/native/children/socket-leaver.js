'use strict';

// A worker_threads Worker that opens `count` sockets, does with each what workerData requests, posts their descriptors,
// and continues until it is terminated.

const net = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const { UplinkConnection, openSocket, waitConnect, closeSocket } = require('../../../native');

const { port, count, how } = workerData;
const noHandlers = { onOpen() {}, onBytes() {}, onDrain() {}, onEnd() {}, onLeave() {} };
const kept = [];

async function main() {
  const fds = [];
  for (let i = 0; i < count; i++) {
    const { fd } = openSocket('127.0.0.1', port, {});
    fds.push(fd);
    if (how === 'opened') continue;
    await waitConnect(fd, 5000);
    if (how === 'closed') closeSocket(fd);
    else if (how === 'wire') kept.push(new UplinkConnection(fd, null, noHandlers));
    else if (how === 'net.Socket') kept.push(new net.Socket({ fd, readable: true, writable: true }));
    else if (how === 'closed net.Socket') {
      const socket = new net.Socket({ fd, readable: true, writable: true });
      await new Promise((resolve) => socket.on('close', resolve).destroy());
    }
  }
  parentPort?.postMessage(fds);
  setInterval(() => kept.length, 1000);
}

void main();
