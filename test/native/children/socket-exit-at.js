'use strict';

// Ends its process at the stage of a socket's life that argv[2] names. argv[3]: a port that does not answer; argv[4]:
// one that does.

const { once } = require('node:events');
const net = require('node:net');
const { Worker } = require('node:worker_threads');
const { openSocket, waitConnect, closeSocket } = require('../../../native');

const [, , name, deaf, answering, how] = process.argv;
const open = (/** @type {string} */ port) => openSocket('127.0.0.1', Number(port), {}).fd;

/** @type {Record<string, () => unknown>} runs before the end; it must not keep the process alive for long */
const stages = {
  'after openSocket': () => open(deaf),
  'while it is waited for': () => void waitConnect(open(deaf), 50).catch(() => {}),
  'after a wait in vain': () => waitConnect(open(deaf), 1).catch(() => {}),
  'when it is connected, and nothing owns it': () => waitConnect(open(answering), 5000),
  'when Node owns it': async () => {
    const fd = open(answering);
    await waitConnect(fd, 5000);
    new net.Socket({ fd, readable: true, writable: true }).unref();
  },
  'after closeSocket during the wait': () => {
    const fd = open(deaf);
    waitConnect(fd, 50).catch(() => {});
    closeSocket(fd);
  },
  'in the answer': () => waitConnect(open(answering), 5000).then(() => process.exit(0)),
  'by an exception in the answer': () =>
    waitConnect(open(answering), 5000).then(() => {
      throw new Error('planned');
    }),
  'while a worker waits': async () => {
    const worker = new Worker(require.resolve('./socket-worker'), {
      workerData: { port: Number(deaf), timeoutMs: 60_000 }
    });
    await once(worker, 'message');
    worker.unref();
  },
  'while a worker that ends itself waits': async () => {
    const worker = new Worker(
      `const { openSocket, waitConnect } = require(${JSON.stringify(require.resolve('../../../native'))});
      waitConnect(openSocket('127.0.0.1', ${deaf}, {}).fd, 60000);
      process.exit(0);`,
      { eval: true }
    );
    await once(worker, 'exit');
  }
};

module.exports = { names: Object.keys(stages) };

if (require.main === module) {
  Promise.resolve(stages[name]()).then(() => {
    if (how === 'exit') process.exit(0);
  });
}
