'use strict';

// A worker_threads Worker that waits for a socket with workerData {port, timeoutMs, again}: it posts the descriptor,
// then how the wait ended.

const { parentPort, workerData } = require('node:worker_threads');
const { openSocket, waitConnect, closeSocket } = require('../../../native');

const { port, timeoutMs, again } = workerData;
const say = (/** @type {any} */ what) => parentPort?.postMessage(what);

async function main() {
  do {
    const { fd } = openSocket('127.0.0.1', port, {});
    const wait = waitConnect(fd, timeoutMs);
    say(fd);
    const how = await wait.then(
      () => 'connected',
      ({ code }) => code
    );
    closeSocket(fd);
    if (!again) say(how);
  } while (again);
}

main();
