'use strict';
// Ports that no other process gets during a run. Ephemeral ports are unsuitable: a gateway that is down between a kill
// and its next start would lose its port to another run.

const net = require('node:net');

/** Below the kernel's ephemeral range (32768 on). */
const FIRST = 12000;
const LAST = 32000;

let next = FIRST + ((process.pid * 40) % (LAST - FIRST));

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** @param {number} count @returns {Promise<number[]>} */
async function takePorts(count) {
  const ports = [];
  while (ports.length < count) {
    const port = next;
    next = next >= LAST ? FIRST : next + 1;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

module.exports = { takePorts };
